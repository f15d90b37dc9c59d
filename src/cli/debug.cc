// `debug`: everything that helps to understand a mount, in one folder and one zip file.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/log.h"
#include "base/text_file.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/debug_source.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/values.h"
#include "cli/virtual_file.h"
#include "cli/zip_file.h"

namespace aquifer::cli {

namespace {

constexpr size_t kMostText = 16u << 20;

class Collector {
 public:
  Collector(std::string root, std::string folder) : root_(std::move(root)), folder_(std::move(folder)) {
    std::error_code error;
    std::filesystem::create_directories(folder_ + "/pprof", error);
    if (error) LOG_FATAL("create {}: {}", folder_, errnoText(error.value()));
  }

  void keep(const std::string& name, const std::string& text) {
    const auto path = folder_ + "/" + name;
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out) LOG_FATAL("write {}: {}", path, errnoText(errno));
    if (auto s = zip_.add(name, text); !s) LOG_WARN("{} is not in the zip file: {}", name, s.text());
  }
  void keep(const std::string& name, const Result<std::string>& text) {
    if (text) keep(name, *text);
    else LOG_WARN("no {}: {}", name, text.status().text());
  }
  void finish() {
    std::ofstream out(folder_ + ".zip", std::ios::binary);
    out << zip_.finish();
    out.close();
    if (!out) LOG_FATAL("write {}.zip: {}", folder_, errnoText(errno));
    LOG_INFO("All files are collected to {}", cli::quoted(folder_));
  }
  Result<std::string> stats() const { return readText(virtualFile(root_, "stats"), kMostText); }

 private:
  const std::string root_, folder_;
  ZipFile zip_;
};

// The pages of the debug agent; the profiles exist in the original client only.
void keepPages(Collector& out, const std::string& address, uint64_t profile, uint64_t trace) {
  struct Page {
    const char* target;
    std::string file;
    uint64_t seconds;
  };
  const Page pages[] = {{"cmdline", "cmdline.txt", 0},
                        {"goroutine?debug=1", "goroutine.stack.txt", 0},
                        {"goroutine?debug=2", "goroutine.stack.detail.txt", 0},
                        {"goroutine", "goroutine.pb.gz", 0},
                        {"heap", "heap.pb.gz", 0},
                        {"allocs", "allocs.pb.gz", 0},
                        {"block", "block.pb.gz", 0},
                        {"mutex", "mutex.pb.gz", 0},
                        {"threadcreate", "threadcreate.pb.gz", 0},
                        {"profile", fmt::format("profile.{}s.pb.gz", profile), profile},
                        {"trace", fmt::format("trace.{}s.pb.gz", trace), trace}};
  for (auto& page : pages) {
    auto target = fmt::format("/debug/pprof/{}{}", page.target, page.seconds ? fmt::format("?seconds={}", page.seconds) : "");
    auto text = httpGet(address, target, static_cast<int64_t>(page.seconds) + 10);
    if (text) out.keep("pprof/juicefs." + page.file, *text);
    else LOG_DEBUG("{}", text.status().text());
  }
}

int run(const Args& args) {
  const auto root = absolutePath(args.at(0));
  auto inode = inodeOf(root);
  if (!inode) LOG_FATAL("{}", inode.status().text());
  if (*inode != 1) LOG_FATAL("path {} is not a mount point", args.at(0));
  const auto seconds = std::min<uint64_t>(args.uinteger("stats-sec"), 3600), profile = std::min<uint64_t>(args.uinteger("profile-sec"), 3600),
             trace = std::min<uint64_t>(args.uinteger("trace-sec"), 3600);
  auto config = readText(virtualFile(root, "config"), kMostText);
  if (!config) LOG_FATAL("{}", config.status().text());
  auto facts = parseMountConfig(*config);
  if (!facts) LOG_FATAL("{}", facts.status().text());
  LOG_INFO("mount point:{} pid:{}", cli::quoted(root), facts->pid);

  auto dashed = root.substr(1);
  std::replace(dashed.begin(), dashed.end(), '/', '-');
  Collector out(root, fmt::format("{}/{}-{}", absolutePath(args.text("out-dir")), dashed, localTimeText(unixSeconds(), "%Y%m%d%H%M%S")));
  const auto system = systemInfo();
  const auto words = commandLine(facts->pid);
  std::string command;
  for (auto& word : words) command += (command.empty() ? "" : " ") + word;
  std::printf("%s\nMount Command:\n%s\n\n", system.c_str(), command.c_str());
  std::fflush(stdout);
  out.keep("system-info.log", system);
  out.keep("config.txt", facts->config);
  if (auto log = logFileOf(words); !log.empty()) {
    LOG_INFO("The last {} lines of {} will be collected", args.uinteger("limit"), cli::quoted(log));
    out.keep("juicefs.log", tailOf(log, args.uinteger("limit")));
  }
  out.keep("stats.txt", out.stats());
  if (seconds) {
    LOG_INFO("Stats metrics are being sampled, sampling duration: {}s", seconds);
    sleepMs(static_cast<int64_t>(seconds) * 1000);
    out.keep(fmt::format("stats.{}s.txt", seconds), out.stats());
  }
  if (!facts->debugAddress.empty()) keepPages(out, facts->debugAddress, profile, trace);
  out.finish();
  return 0;
}

}  // namespace

Command debugCommand() {
  using enum OptionType;
  return {"debug",
          "INSPECTOR",
          "Collect what helps to understand a mount",
          "MOUNTPOINT",
          "Settings (without secrets), statistics, the log's end and what the process does, in a folder and in a zip file beside it.\n\n"
          "Examples:\n$ juicefs debug /mnt/jfs\n$ juicefs debug --out-dir=/var/log --limit=1000 /mnt/jfs",
          {{"",
            {
                {"out-dir", text, "debug", "folder for the results"},
                {"limit", uinteger, "5000", "lines of the log"},
                {"stats-sec", uinteger, "5", "seconds between two samples of the statistics"},
                {"trace-sec", uinteger, "5", "seconds of a trace, where the client has one"},
                {"profile-sec", uinteger, "30", "seconds of a profile, where the client has one"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
