// `dump`: the metadata of a volume into a file.
#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/dump_file.h"
#include "cli/progress.h"
#include "cli/volume.h"
#include "meta/dump/dump.h"

namespace aquifer::cli {
namespace {

int run(const Args& args) {
  auto volume = openVolumeOrDie(args.at(0));
  const std::string path = args.count() > 1 ? args.at(1) : "";
  meta::DumpOptions options;
  options.keepSecrets = args.flag("keep-secret-key");
  options.skipTrash = args.flag("skip-trash");
  const bool binary = args.flag("binary");
  const std::string subdir = args.text("subdir");
  if (subdir.find_first_not_of('/') != std::string::npos) {
    if (binary) LOG_FATAL("a binary backup holds the whole volume: --subdir goes with JSON only");
    auto dir = volume.meta->resolve(meta::Context::root(), subdir);
    if (!dir) LOG_FATAL("subdir {}: {}", subdir, dir.status().text());
    if (!dir->attr.isDir()) LOG_FATAL("subdir {}: not a directory", subdir);
    options.root = dir->ino;
  }
  auto out = createDump(path);
  if (!out) LOG_FATAL("dump: {}", out.status().text());
  Progress progress(path.empty());
  auto& bar = progress.counter("Dumped entries");
  const auto sink = [&](std::string_view bytes) { return (*out)->write(bytes); };
  const auto tell = [&](uint64_t records) {
    bar.set(static_cast<int64_t>(records));
    return true;
  };
  auto s = binary ? meta::dumpBinary(*volume.meta, options, sink, tell) : meta::dumpJson(*volume.meta, options, sink, tell);
  if (s) s = (*out)->finish();
  progress.finish();
  if (!s) {
    out->reset();   // takes the unfinished file away
    LOG_FATAL("dump: {}", s.text());
  }
  if (!options.keepSecrets && !volume.format.secretKey.empty()) LOG_WARN("Secret key is removed for the sake of safety");
  LOG_INFO("Dump metadata into \"{}\" succeed", path.empty() ? "STDOUT" : path);
  return 0;
}

}  // namespace

Command dumpCommand() {
  using enum OptionType;
  return {"dump",
          "ADMIN",
          "Write the metadata into a file",
          "META-URL [FILE]",
          "Into FILE, or to standard output. A name that ends in .gz or .zstd is compressed. SQLite volumes are dumped as they are at\n"
          "one moment; on other engines changes that happen meanwhile may be in it or not.\n\n"
          "Examples:\n"
          "$ juicefs dump sqlite3://my.db meta.json.gz\n"
          "$ juicefs dump sqlite3://my.db meta.bin --binary",
          {{"",
            {
                {"subdir", text, "", "only this directory, as the root of the dump (JSON)"},
                {"keep-secret-key", flag, "", "keep secrets, which are otherwise replaced by `removed`"},
                {"threads", integer, "10", "accepted; one reader sees one moment"},
                {"fast", flag, "", "accepted; a dump never loads everything into memory"},
                {"skip-trash", flag, "", "leave the trash out (JSON)"},
                {"binary", flag, "", "the binary format: faster, and with everything"},
            }}},
          1,
          2,
          run};
}

}  // namespace aquifer::cli
