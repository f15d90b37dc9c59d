// `mdtest`: how fast a metadata engine is, without a mount: directories and files made by threads of this process, through the
// same layers that a mount uses below the kernel.
#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "cli/bench_cells.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/errno_text.h"
#include "cli/option_groups.h"
#include "cli/values.h"
#include "cli/volume.h"
#include "vfs/data_hooks.h"
#include "vfs/vfs.h"

namespace aquifer::cli {

namespace {

constexpr int64_t kMostThreads = 1024, kMostLevels = 64, kMostFiles = 100'000'000, kMostBytes = 1 << 30;
constexpr uint64_t kMostDirs = 10'000'000;

// The vfs writes its lines for whoever reads the internal file; here they go on to a file of the user's.
class AccessLogCopy {
 public:
  AccessLogCopy(vfs::Vfs& vfs, std::FILE* out) : vfs_(vfs), out_(out) {
    auto found = vfs_.lookup(ctx_, meta::kRootIno, ".accesslog");
    if (!found) LOG_FATAL("access log: {}", found.status().text());
    ino_ = found->ino;
    auto opened = vfs_.open(ctx_, ino_, O_RDONLY);
    if (!opened) LOG_FATAL("access log: {}", opened.status().text());
    fh_ = opened->fh;
    thread_ = std::thread([this] { copy(); });
  }
  ~AccessLogCopy() {
    ended_ = true;
    thread_.join();
    (void)vfs_.release(ctx_, ino_, fh_, O_RDONLY, 0, false).isOk();
    if (std::fclose(out_) != 0) LOG_WARN("access log: {}", errnoText(errno));
  }

 private:
  void copy() {
    std::string buffer(1 << 16, '\0');
    meta::Context ctx;
    ctx.interrupted = [this] { return ended_.load(); };   // no line is waited for then
    for (;;) {
      const bool last = ended_;   // then only our own reads are logged: what is less than a bufferful is the end
      auto got = vfs_.read(ctx, ino_, fh_, 0, std::as_writable_bytes(std::span(buffer.data(), buffer.size())), O_RDONLY);
      if (!got) return;
      const std::string_view text(buffer.data(), *got);
      if (text != "#\n") std::fwrite(text.data(), 1, text.size(), out_);
      if (last && text.size() < buffer.size()) return;
    }
  }

  vfs::Vfs& vfs_;
  std::FILE* out_;
  const meta::Context ctx_ = meta::Context::root();
  meta::Ino ino_ = 0;
  vfs::Handle fh_ = 0;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

int64_t bounded(const Args& args, const char* name, int64_t least, int64_t most) {
  const int64_t n = args.integer(name);
  if (n < least || n > most) LOG_FATAL("Invalid value \"{}\" for \"{}\": it lies between {} and {}", n, name, least, most);
  return n;
}

// What was asked for, checked before anything is opened.
struct Plan {
  explicit Plan(const Args& args)
      : threads(static_cast<int>(bounded(args, "threads", 1, kMostThreads))),
        width(bounded(args, "dirs", 0, kMostFiles)),
        depth(bounded(args, "depth", 0, kMostLevels)),
        files(bounded(args, "files", 0, kMostFiles)),
        bytes(static_cast<size_t>(bounded(args, "write", 0, kMostBytes))),
        all(args.flag("all")) {
    uint64_t level = 1;
    for (int64_t i = 0; i <= depth; ++i, level *= static_cast<uint64_t>(width)) {
      dirCount += level;
      if (dirCount > kMostDirs) LOG_FATAL("{} directories a level over {} levels are more than {}", width, depth, kMostDirs);
    }
    std::string_view left = args.at(1);
    while (!left.empty()) {
      const size_t slash = std::min(left.find('/'), left.size());
      if (slash > 0) path.emplace_back(left.substr(0, slash));
      left.remove_prefix(std::min(slash + 1, left.size()));
    }
    if (path.empty()) LOG_FATAL("mdtest needs a folder below the root of the volume, like /test1, not \"{}\"", args.at(1));
  }

  int threads;
  int64_t width, depth, files;
  size_t bytes;
  bool all;
  uint64_t dirCount = 0;
  std::vector<std::string> path;
};

class MdTest {
 public:
  MdTest(vfs::Vfs& vfs, const Plan& plan) : vfs_(vfs), plan_(plan), bytes_(plan.bytes, '\0') { randomBytes(bytes_.data(), bytes_.size()); }
  Status run();

 private:
  struct Dir {
    meta::Ino parent = 0, ino = 0;
    std::string name;
  };
  std::string fileName(int thread, int64_t i) const { return fmt::format("file.mdtest.{}.{}", thread, i); }
  Result<meta::Ino> start();
  Result<meta::Ino> makeDir(meta::Ino parent, const std::string& name);
  Status makeTree(meta::Ino parent, int64_t index, int64_t levels);
  Status makeFile(meta::Ino dir, const std::string& name);
  Status list(meta::Ino dir);
  // Runs body(thread) on `threads` threads and says how many of what were done a second. The first failure ends the run, after every
  // thread has noticed.
  template <class F>
  Status timed(const char* done, const char* what, int threads, int64_t count, F&& body);
  template <class F>
  Status eachFile(const char* done, F&& one);

  vfs::Vfs& vfs_;
  const meta::Context ctx_ = meta::Context::root();
  const Plan& plan_;
  std::string bytes_;
  std::vector<Dir> dirs_;   // a parent before its children
  std::atomic<bool> failed_{false};
};

Result<meta::Ino> MdTest::makeDir(meta::Ino parent, const std::string& name) {
  auto made = vfs_.mkdir(ctx_, parent, name, 0755, 022);
  if (!made) return Status(made.code(), fmt::format("mkdir {}: {}", quoted(name), made.status().text()));
  return made->ino;
}

// The folder that the test stands in: made here, with what is missing above it.
Result<meta::Ino> MdTest::start() {
  meta::Ino at = meta::kRootIno;
  for (auto& name : plan_.path) {
    auto found = vfs_.lookup(ctx_, at, name);
    if (!found && !found.is(Code::notFound)) return Status(found.code(), fmt::format("lookup {}: {}", quoted(name), found.status().text()));
    if (found && found->ino) {
      at = found->ino;
    } else {
      TRY_ASSIGN(at, makeDir(at, name));
    }
  }
  return at;
}

Status MdTest::makeTree(meta::Ino parent, int64_t index, int64_t levels) {
  const auto name = fmt::format("mdtest_tree.{}", index);
  TRY_ASSIGN(const meta::Ino ino, makeDir(parent, name));
  dirs_.push_back({parent, ino, name});
  for (int64_t i = 0; levels > 0 && i < plan_.width; ++i) TRY(makeTree(ino, i, levels - 1));
  return {};
}

Status MdTest::makeFile(meta::Ino dir, const std::string& name) {
  TRY_ASSIGN(auto made, vfs_.create(ctx_, dir, name, 0644, 022, O_WRONLY | O_EXCL));
  const auto [ino, fh] = std::pair(made.first.ino, made.second.fh);
  Status s;
  if (!bytes_.empty()) s = vfs_.write(ctx_, ino, fh, 0, std::as_bytes(std::span(bytes_.data(), bytes_.size())), O_WRONLY).status();
  if (s) s = vfs_.flush(ctx_, ino, fh, 0);
  auto closed = vfs_.release(ctx_, ino, fh, O_WRONLY, 0, false);
  return s ? closed : s;
}

Status MdTest::list(meta::Ino dir) {
  TRY_ASSIGN(auto opened, vfs_.opendir(ctx_, dir, O_RDONLY));
  auto s = vfs_.readdir(ctx_, dir, opened.fh, 0, true, [](const vfs::DirRow&) { return true; });
  auto closed = vfs_.releasedir(ctx_, dir, opened.fh);
  return s ? closed : s;
}

template <class F>
Status MdTest::timed(const char* done, const char* what, int threads, int64_t count, F&& body) {
  std::mutex mu;
  Status problem;
  const double seconds = onThreads(threads, [&](int thread) {
    Status s = body(thread);
    if (s) return;
    failed_ = true;
    std::lock_guard lock(mu);
    if (problem) problem = std::move(s);
  });
  if (problem)
    LOG_INFO("{} {} {} in {} ({:.0f} {}/s)", done, count, what, durationText(static_cast<int64_t>(seconds * 1e9)),
             static_cast<double>(count) / std::max(seconds, 1e-9), what);
  return problem;
}

template <class F>
Status MdTest::eachFile(const char* done, F&& one) {
  return timed(done, "files", plan_.threads, static_cast<int64_t>(dirs_.size()) * plan_.files * plan_.threads, [&](int thread) -> Status {
    for (auto& dir : dirs_)
      for (int64_t i = 0; i < plan_.files && !failed_; ++i)
        if (Status s = one(dir.ino, fileName(thread, i)); !s)
          return Status(s.code(), fmt::format("{}: {}", quoted(fileName(thread, i)), s.text()));
    return {};
  });
}

Status MdTest::run() {
  const auto dirCount = static_cast<int64_t>(plan_.dirCount);
  LOG_INFO("Create {} files in {} dirs", dirCount * plan_.files * plan_.threads, dirCount);
  TRY_ASSIGN(const meta::Ino folder, start());
  TRY_ASSIGN(const meta::Ino top, makeDir(folder, "test-dir.0-0"));
  TRY(timed("Created", "dirs", 1, dirCount, [&](int) { return makeTree(top, 0, plan_.depth); }));
  TRY(eachFile("Created", [&](meta::Ino dir, const std::string& name) { return makeFile(dir, name); }));
  if (!plan_.all) return {};
  TRY(eachFile("Looked up", [&](meta::Ino dir, const std::string& name) { return vfs_.lookup(ctx_, dir, name).status(); }));
  std::atomic<size_t> next{0};
  TRY(timed("Listed", "dirs", plan_.threads, dirCount, [&](int) -> Status {
    for (size_t i = next++; i < dirs_.size() && !failed_; i = next++) TRY(list(dirs_[i].ino));
    return {};
  }));
  TRY(eachFile("Renamed", [&](meta::Ino dir, const std::string& name) { return vfs_.rename(ctx_, dir, name, dir, "renamed." + name, 0); }));
  TRY(eachFile("Removed", [&](meta::Ino dir, const std::string& name) { return vfs_.unlink(ctx_, dir, "renamed." + name); }));
  TRY(timed("Removed", "dirs", 1, dirCount, [&](int) -> Status {
    for (auto d = dirs_.rbegin(); d != dirs_.rend(); ++d) TRY(vfs_.rmdir(ctx_, d->parent, d->name));
    return {};
  }));
  return vfs_.rmdir(ctx_, folder, "test-dir.0-0");
}

int run(const Args& args) {
  const Plan plan(args);
  std::FILE* logFile = nullptr;
  if (const auto path = args.text("access-log"); !path.empty()) {
    logFile = std::fopen(path.c_str(), "ae");
    if (!logFile) LOG_FATAL("open access log {}: {}", path, errnoText(errno));
  }
  OpenMetaOptions options;
  options.config = metaConfig(args, "mdtest");
  auto volume = openVolumeOrDie(args.at(0), options);
  auto objects = openStorage(volume.format, &args);
  if (!objects) LOG_FATAL("object storage: {}", objects.status().text());
  auto blocks = chunk::openBlockStore(std::move(*objects), blockConfig(volume.format, &args));
  if (!blocks) LOG_FATAL("block store: {}", blocks.status().text());
  vfs::wireDataHooks(*volume.meta, **blocks);
  if (auto s = volume.meta->openSession(); !s) LOG_FATAL("new session: {}", s.text());
  Status tested, flushed;
  {
    auto vfs = vfs::makeVfs(*volume.meta, **blocks, {});
    {
      std::unique_ptr<AccessLogCopy> log;
      if (logFile) log = std::make_unique<AccessLogCopy>(*vfs, logFile);
      tested = MdTest(*vfs, plan).run();
    }
    flushed = vfs->flushAll();
  }
  if (auto s = volume.meta->closeSession(); !s) LOG_WARN("close session: {}", s.text());
  (void)(*blocks)->close().isOk();
  if (!tested) LOG_FATAL("{}", tested.text());
  if (!flushed) LOG_FATAL("flush: {}", flushed.text());
  return 0;
}

}  // namespace

Command mdtestCommand() {
  using enum OptionType;
  Command c{"mdtest",
            "TOOL",
            "Measure a metadata engine without a mount",
            "META-URL PATH",
            "Makes a tree of directories below PATH and files in each of them, and says how many a second. What it made stays, unless --all.\n\n"
            "Examples:\n$ juicefs mdtest redis://localhost /test1\n\n# 4 threads; then look up, list, rename and remove\n"
            "$ juicefs mdtest --threads 4 --files 100 --all redis://localhost /test1",
            {{"",
              {
                  {"threads", integer, "1", "threads, each with files of its own in each directory"},
                  {"dirs", integer, "3", "directories in a directory"},
                  {"depth", integer, "2", "levels of directories"},
                  {"files", integer, "10", "files of a thread in a directory"},
                  {"write", integer, "0", "bytes written to each file"},
                  {"all", flag, "", "go on with looking up, listing, renaming and removing what was made"},
                  {"access-log", text, "", "append the access log to this file"},
              }},
             metaOptions(),
             metaCacheOptions(false),
             dataStorageOptions(),
             dataCacheOptions(),
             metricsOptions()},
            2,
            2,
            run};
  c.hidden = true;
  return c;
}

}  // namespace aquifer::cli
