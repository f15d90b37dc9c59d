// `bench`: large and small files on any file system, and, on a mount of a volume, what they cost inside it.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/log.h"
#include "base/random.h"
#include "cli/bench_cells.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/mount_stats.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/values.h"

namespace aquifer::cli {

namespace {

class Bench {
 public:
  Bench(const Args& args)
      : block_(args.size("block-size", 'M')),
        big_(args.size("big-file-size", 'M')),
        small_(args.size("small-file-size", 'K')),
        smallCount_(big(args.uinteger("small-file-count"))),
        threads_(static_cast<int>(big(args.uinteger("threads")))),
        colour_(isatty(STDOUT_FILENO)) {
    if (small_ == 0) smallCount_ = 0;
    if (block_ == 0 || block_ > (1u << 30) || threads_ == 0 || threads_ > 4096 || (big_ == 0 && smallCount_ == 0)) LOG_FATAL("invalid argument");
    content_.resize(std::max(std::min(block_, big_), smallCount_ ? std::min(block_, small_) : 0));
    randomBytes(content_.data(), content_.size());
  }

  void run(const std::string& path);

 private:
  static uint64_t big(uint64_t n) { return std::min<uint64_t>(n, 1u << 30); }
  std::string name(const char* kind, int thread, uint64_t i) const { return fmt::format("{}/{}.{}.{}", folder_, kind, thread, i); }
  void write(const std::string& file, uint64_t size, ProgressBar& bar);
  void read(const std::string& file, uint64_t size, ProgressBar& bar);
  template <class F>
  double each(const char* what, uint64_t files, F&& one);
  void bigFiles();
  void smallFiles();
  void insides(const MountStats& before, const MountStats& after);
  // The first thing that went wrong ends the run, after every thread has noticed.
  void fail(std::string why) {
    std::lock_guard lock(mu_);
    if (problem_.empty()) problem_ = std::move(why);
    failed_.store(true);
  }

  const uint64_t block_, big_, small_;
  uint64_t smallCount_;
  const int threads_;
  const bool colour_;
  std::string content_, folder_;
  std::vector<std::vector<std::string>> rows_{{"ITEM", "VALUE", "COST"}};
  Progress progress_;
  std::mutex mu_;
  std::string problem_;   // guarded by mu_
  std::atomic<bool> failed_{false};
};

void Bench::write(const std::string& file, uint64_t size, ProgressBar& bar) {
  int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return fail(fmt::format("Failed to open file {}: open {}: {}", cli::quoted(file), file, errnoText(errno)));
  for (uint64_t done = 0; done < size && !failed_;) {
    auto n = ::write(fd, content_.data(), std::min<uint64_t>({block_, size - done, content_.size()}));
    if (n <= 0) {
      fail(fmt::format("Failed to write file {}: {}", cli::quoted(file), errnoText(n < 0 ? errno : ENOSPC)));
      break;
    }
    done += static_cast<uint64_t>(n);
    if (size == big_) bar.add();
  }
  if (::close(fd) != 0) fail(fmt::format("Failed to close file {}: {}", cli::quoted(file), errnoText(errno)));
}

void Bench::read(const std::string& file, uint64_t size, ProgressBar& bar) {
  int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(fmt::format("Failed to open file {}: {}", cli::quoted(file), errnoText(errno)));
  std::string buffer(content_.size(), '\0');
  uint64_t done = 0;
  ssize_t n = 0;
  while (!failed_ && (n = ::read(fd, buffer.data(), buffer.size())) > 0) {
    done += static_cast<uint64_t>(n);
    if (size == big_) bar.add();
  }
  if (!failed_ && done != size) fail(fmt::format("Failed to read file {}: {} of {} bytes ({})", cli::quoted(file), done, size, errnoText(n < 0 ? errno : 0)));
  ::close(fd);
}

template <class F>
double Bench::each(const char* what, uint64_t files, F&& one) {
  auto perFile = files == 1 && big_ ? (big_ + block_ - 1) / block_ : 1;
  auto& bar = progress_.bar(what, static_cast<int64_t>(perFile * files) * threads_);
  auto seconds = onThreads(threads_, [&](int thread) {
    for (uint64_t i = 0; i < files && !failed_; ++i) one(thread, i, bar);
  });
  bar.done();
  if (!failed_) return std::max(seconds, 1e-9);
  progress_.finish();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  LOG_FATAL("{}", problem_);
}

void Bench::bigFiles() {
  const auto row = [&](const char* item, double seconds) {
    auto speed = static_cast<double>(big_) / (1 << 20) * threads_ / seconds;
    rows_.push_back({item, valueCell(fmt::format("{:.2f} MiB/s", speed), speed, {100, 200}, colour_),
                     costCell(fmt::format("{:.2f} s/file", seconds), seconds, {10, 50}, colour_)});
  };
  row("Write big file", each("Write big blocks", 1, [&](int t, uint64_t i, ProgressBar& bar) { write(name("bigfile", t, i), big_, bar); }));
  dropPageCache();
  row("Read big file", each("Read big blocks", 1, [&](int t, uint64_t i, ProgressBar& bar) { read(name("bigfile", t, i), big_, bar); }));
}

void Bench::smallFiles() {
  const auto row = [&](const char* item, double seconds, Range value, Range cost) {
    auto speed = static_cast<double>(smallCount_) * threads_ / seconds, each = seconds * 1000 / static_cast<double>(smallCount_);
    rows_.push_back({item, valueCell(fmt::format("{:.1f} files/s", speed), speed, value, colour_),
                     costCell(fmt::format("{:.2f} ms/file", each), each, cost, colour_)});
  };
  const double t = threads_;
  const auto counted = [](auto work) {
    return [work](int thread, uint64_t i, ProgressBar& bar) {
      work(thread, i, bar);
      bar.add();
    };
  };
  row("Write small file",
      each("Write small files", smallCount_, counted([&](int th, uint64_t i, ProgressBar& bar) { write(name("smallfile", th, i), small_, bar); })),
      {12.5 * t, 20 * t}, {50, 80});
  dropPageCache();
  row("Read small file",
      each("Read small files", smallCount_, counted([&](int th, uint64_t i, ProgressBar& bar) { read(name("smallfile", th, i), small_, bar); })),
      {50 * t, 100 * t}, {10, 20});
  dropPageCache();
  row("Stat file", each("Stat small files", smallCount_, counted([&](int th, uint64_t i, ProgressBar&) {
                          struct stat st;
                          if (::stat(name("smallfile", th, i).c_str(), &st) != 0) fail("Failed to stat a file: " + errnoText(errno));
                        })),
      {20 * t, 1000 * t}, {1, 5});
}

void Bench::insides(const MountStats& before, const MountStats& after) {
  struct Item {
    const char* name;
    const char* metric;
    Range cost;
  };
  static constexpr Item kItems[] = {{"FUSE operation", "fuse_ops_durations_histogram_seconds", {0.5, 2}},
                                    {"Update meta", "transaction_durations_histogram_seconds", {2, 5}},
                                    {"Put object", "object_request_durations_histogram_seconds_PUT", {100, 200}},
                                    {"Get object", "object_request_durations_histogram_seconds_GET", {100, 200}},
                                    {"Delete object", "object_request_durations_histogram_seconds_DELETE", {30, 100}},
                                    {"Write into cache", "blockcache_write_hist_seconds", {10, 20}},
                                    {"Read from cache", "blockcache_read_hist_seconds", {1, 5}}};
  for (auto& item : kItems) {
    const auto grown = [&](const char* suffix) {
      auto metric = fmt::format("juicefs_{}{}", item.metric, suffix);
      return statOf(after, metric) - statOf(before, metric);
    };
    double count = grown("_total"), each = count > 0 ? grown("_sum") * 1000 / count : 0;
    rows_.push_back({item.name, fmt::format("{:.0f} operations", count), costCell(fmt::format("{:.2f} ms/op", each), each, item.cost, colour_)});
  }
}

void Bench::run(const std::string& path) {
  std::error_code error;
  folder_ = fmt::format("{}/__juicefs_benchmark_{}__", absolutePath(path), unixNanos());
  std::filesystem::create_directories(folder_, error);
  if (error) LOG_FATAL("Failed to create {}: {}", folder_, errnoText(error.value()));
  auto root = mountRootOf(folder_);
  Result<MountStats> before = root ? readMountStats(*root) : Result<MountStats>(root.status());
  dropPageCache();
  auto start = monotonicNanos();
  if (big_) bigFiles();
  if (smallCount_) smallFiles();
  auto seconds = static_cast<double>(monotonicNanos() - start) / 1e9;
  progress_.finish();
  Result<MountStats> after = before ? readMountStats(*root) : before;
  std::filesystem::remove_all(folder_, error);
  if (error) LOG_WARN("{} could not be removed: {}", folder_, errnoText(error.value()));
  std::printf("Benchmark finished!\nBlockSize: %s, BigFileSize: %s, SmallFileSize: %s, SmallFileCount: %ju, NumThreads: %d\n", shortSize(block_).c_str(),
              shortSize(big_).c_str(), shortSize(small_).c_str(), static_cast<uintmax_t>(smallCount_), threads_);
  if (before && after) {
    insides(*before, *after);
    std::printf("Time used: %.1f s, CPU: %.1f%%, Memory: %.1f MiB\n", seconds,
                (statOf(*after, "juicefs_cpu_usage") - statOf(*before, "juicefs_cpu_usage")) * 100 / seconds,
                statOf(*after, "juicefs_memory") / (1 << 20));
  }
  std::fputs(renderTable(rows_, -1).c_str(), stdout);
}

int run(const Args& args) {
  Bench(args).run(args.at(0));
  return 0;
}

}  // namespace

Command benchCommand() {
  using enum OptionType;
  return {"bench",
          "TOOL",
          "Measure large and small files on a path",
          "PATH",
          "Works on any file system; on a mount of a volume the table goes on with what happened inside. Colours tell usual figures\nfrom unusual ones. "
          "The page cache is emptied between the steps (root or sudo) unless SKIP_DROP_CACHES=true.\n\nExamples:\n$ juicefs bench /mnt/jfs -p 4\n\n"
          "# Small files only\n$ juicefs bench /mnt/jfs --big-file-size 0",
          {{"",
            {
                {"block-size", text, "1M", "size of each read and write in MiB"},
                {"big-file-size", text, "1G", "size of each large file in MiB"},
                {"small-file-size", text, "128K", "size of each small file in KiB"},
                {"small-file-count", uinteger, "100", "small files of each thread"},
                {"threads,p", uinteger, "1", "threads"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
