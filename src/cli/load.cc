// `load`: the metadata of a volume from a file into an empty database; with --stat, what a binary backup holds.
#include <fmt/core.h>

#include <cstdio>
#include <fstream>

#include "base/encode.h"
#include "base/environment.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/dump_file.h"
#include "cli/progress.h"
#include "cli/volume.h"
#include "cli/volume_options.h"
#include "meta/dump/dump.h"

namespace aquifer::cli {
namespace {

std::string offsetsText(const std::vector<uint64_t>& offsets) {
  std::string out = "[";
  for (uint64_t o : offsets) out += fmt::format("{}{}", out.size() > 1 ? " " : "", o);
  return out + "]";
}

// The last MiB is enough for any footer.
std::string tailOf(const std::string& path, uint64_t* size) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) LOG_FATAL("open {}: cannot be read", path);
  *size = static_cast<uint64_t>(in.tellg());
  const uint64_t n = std::min<uint64_t>(*size, 1 << 20);
  std::string out(n, '\0');
  in.seekg(static_cast<std::streamoff>(*size - n));
  in.read(out.data(), static_cast<std::streamsize>(n));
  if (!in) LOG_FATAL("read {}: failed", path);
  return out;
}

int showBackup(const Args& args) {
  if (!args.flag("binary")) LOG_FATAL("--stat is only for binary backups: add --binary");
  const std::string path = args.at(0);
  LOG_INFO("load backup from \"{}\"", path);
  uint64_t size = 0;
  const std::string tail = tailOf(path, &size);
  auto summary = meta::parseBackupFooter(tail, size);
  if (!summary) LOG_FATAL("{}: {}", path, summary.status().text());
  const int64_t offset = args.integer("offset");
  if (offset > 0) LOG_FATAL("--offset {}: only 0 (counts) and -1 (offsets as well) are supported", offset);
  const bool offsets = offset < 0;
  const std::string line(offsets ? 34 : 23, '-');
  std::string out = fmt::format("Backup Version: {}\n{}\n", summary->version, line);
  out += offsets ? fmt::format("{:<10}| {:<10}| {:<10}\n", "Name", "Num", "Offset") : fmt::format("{:<10}| {:<10}\n", "Name", "Num");
  out += line + "\n";
  for (auto& [name, kind] : summary->kinds)
    out += offsets ? fmt::format("{:<10}| {:<10}| {:<10}\n", name, kind.records, offsetsText(kind.offsets)) : fmt::format("{:<10}| {:<10}|\n", name, kind.records);
  std::fputs(out.c_str(), stdout);
  return 0;
}

int run(const Args& args) {
  if (args.flag("stat")) return showBackup(args);
  const std::string path = args.count() > 1 ? args.at(1) : "";
  std::unique_ptr<object::Encryptor> encryptor;
  if (const std::string pem = args.text("encrypt-rsa-key"); !pem.empty()) {
    auto text = readTextFile(pem, "RSA key");
    if (!text) LOG_FATAL("{}", text.status().text());
    auto made = object::makeEncryptor(*text, environment("JFS_RSA_PASSPHRASE"), args.text("encrypt-algo"));
    if (!made) LOG_FATAL("{}: {}", pem, made.status().text());
    encryptor = *std::move(made);
  }
  auto in = openDump(path, encryptor.get());
  if (!in) LOG_FATAL("{}", in.status().text());
  OpenMetaOptions options;
  options.create = true;
  auto meta = openMeta(args.at(0), options);
  if (!meta) LOG_FATAL("{}", volumeProblem(meta.status()));
  Progress progress;
  auto& bar = progress.counter("Loaded records");
  const auto source = [&](char* buffer, size_t size) { return (*in)->read(buffer, size); };
  const auto tell = [&](uint64_t records) {
    bar.set(static_cast<int64_t>(records));
    return true;
  };
  auto report = args.flag("binary") ? meta::loadBinary(**meta, source, tell) : meta::loadJson(**meta, source, tell);
  progress.finish();
  if (!report) {
    if (report.is(Code::exists)) LOG_FATAL("database {} {}", maskUrl(args.at(0)), report.status().text());
    // It was empty before: leave it so, that the next try finds it empty.
    if (auto s = (*meta)->store().drop(); !s) LOG_ERROR("what was loaded so far could not be removed: {}", s.text());
    LOG_FATAL("load: {}", report.status().text());
  }
  LOG_INFO("load metadata from \"{}\" succeed", path.empty() ? "STDIN" : path);
  if (report->secretRemoved) LOG_WARN("secret key was removed; please correct it with `config` command");
  return 0;
}

}  // namespace

Command loadCommand() {
  using enum OptionType;
  return {"load",
          "ADMIN",
          "Load metadata from a dump into an empty database",
          "META-URL [FILE]",
          "FILE is what `dump` or an automatic backup wrote, compressed or not; without it standard input is read. Ids that the volume had\n"
          "handed out are never handed out again, so objects and caches of a later state do no harm.\n\n"
          "Examples:\n"
          "$ juicefs load redis://localhost/1 meta.json.gz\n"
          "$ juicefs load sqlite3://my.db meta.bin --binary\n"
          "$ juicefs load --binary --stat meta.bin",
          {{"",
            {
                {"encrypt-rsa-key", text, "", "the key (PEM) of an encrypted automatic backup"},
                {"encrypt-algo", text, "aes256gcm-rsa", "the algorithm that it was encrypted with"},
                {"binary", flag, "", "FILE is in the binary format"},
                {"stat", flag, "", "only say what FILE, a binary backup, holds"},
                {"offset", integer, "0", "with --stat: -1 lists the places of the segments too"},
                {"threads", integer, "10", "accepted"},
            }}},
          1,
          2,
          run};
}

}  // namespace aquifer::cli
