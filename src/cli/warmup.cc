// `warmup`: bring files into the cache of a mount, drop them from it, or look what is there.
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/control_client.h"
#include "cli/control_json.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/progress.h"
#include "cli/strict_exit.h"
#include "cli/table.h"
#include "cli/values.h"

namespace aquifer::cli {

namespace {

constexpr size_t kBatch = 10240;   // paths of one request
enum class Action : uint8_t { warm = 0, evict = 1, check = 2 };

const char* nameOf(Action a) { return a == Action::warm ? "warmup" : a == Action::evict ? "evict" : "check"; }

std::vector<std::string> wantedPaths(const Args& args) {
  auto paths = args.positional();
  auto list = args.text("file");
  if (list.empty()) return paths;
  std::ifstream file(list);
  if (!file) LOG_FATAL("Failed to open file \"{}\": open {}: {}", list, list, errnoText(errno));
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.pop_back();
    if (!line.empty()) paths.push_back(line);
  }
  return paths;
}

void report(Action action, const CacheReply& all) {
  if (action != Action::check) {
    LOG_INFO("{} cache: {} files ({} bytes)", nameOf(action), all.files, shortSize(all.totalBytes));
    return;
  }
  auto percent = [&](uint64_t bytes) { return all.totalBytes ? 100.0 * static_cast<double>(bytes) / static_cast<double>(all.totalBytes) : 0.0; };
  if (!all.locations.empty()) {
    std::vector<std::vector<std::string>> rows{{"Location", "Size", "Percentage"}};
    for (auto& [where, bytes] : all.locations) rows.push_back({where, shortSize(bytes), fmt::format("{:.1f}%", percent(bytes))});
    std::fputs(renderTable(rows, 0).c_str(), stdout);
    std::fflush(stdout);
  }
  auto cached = all.totalBytes - std::min(all.missBytes, all.totalBytes);
  LOG_INFO("check cache: {} files checked, {} of {} ({:.1f}%) cached", all.files, shortSize(cached), shortSize(all.totalBytes), percent(cached));
}

CacheReply send(ControlClient& control, Action action, const std::vector<std::string>& batch, uint64_t threads, bool background,
                const std::function<void(uint64_t, uint64_t)>& progress) {
  std::string joined, body;
  for (auto& path : batch) joined += (joined.empty() ? "" : "\n") + path;
  put32(body, joined.size());
  body += joined;
  put16(body, threads);
  put8(body, background);
  put8(body, static_cast<uint8_t>(action));
  auto reply = control.call(ControlOp::cache, body, progress);
  if (!reply) LOG_FATAL("{} failed: {}", nameOf(action), reply.status().text());
  if (reply->errnum == EINVAL) LOG_FATAL("{} is not supported, please upgrade and mount again", nameOf(action));
  if (reply->errnum) LOG_FATAL("{} failed: {}", nameOf(action), errnoText(reply->errnum));
  if (reply->data.empty()) return {};
  auto parsed = parseCacheReply(reply->data);
  if (!parsed) LOG_FATAL("{} failed: {}", nameOf(action), parsed.status().text());
  return *std::move(parsed);
}

int run(const Args& args) {
  if (args.flag("evict") && args.flag("check")) LOG_FATAL("--check and --evict can't be used together");
  auto action = args.flag("evict") ? Action::evict : args.flag("check") ? Action::check : Action::warm;
  auto paths = wantedPaths(args);
  if (paths.empty()) {
    LOG_INFO("no path");
    return 0;
  }
  auto first = absolutePath(paths[0]);
  auto control = ControlClient::open(first);
  if (!control) LOG_FATAL("open control file for {}: {}", first, control.status().text());
  auto root = mountRootOf(first);
  if (!root) LOG_FATAL("open control file for {}: {}", first, root.status().text());
  auto threads = std::clamp<uint64_t>(args.uinteger("threads"), 1, 65535);
  bool background = args.flag("background");

  Progress bars(background);
  auto& files = bars.counter("Files");
  auto& bytes = bars.bytes("Bytes");
  CacheReply all;
  std::vector<std::string> batch;
  bool failed = false;
  auto flush = [&] {
    if (batch.empty()) return;
    auto one = send(*control, action, batch, threads, background, [&](uint64_t n, uint64_t size) {
      files.set(static_cast<int64_t>(all.files + n));
      bytes.set(static_cast<int64_t>(all.totalBytes + size));
    });
    if (background) LOG_INFO("{} cache for {} paths in background", nameOf(action), batch.size());
    all.files += one.files;
    all.slices += one.slices;
    all.totalBytes += one.totalBytes;
    all.missBytes += one.missBytes;
    for (auto& [where, size] : one.locations) all.locations[where] += size;
    batch.clear();
  };
  for (auto& word : paths) {
    auto path = absolutePath(word);
    if (path != *root && !path.starts_with(*root == "/" ? "/" : *root + "/")) {
      LOG_ERROR("Path \"{}\" is not under mount point \"{}\"", word, *root);
      failed = true;
      continue;
    }
    if (*root == "/") {   // the mount cannot tell its own root from the host's: name the inode instead
      auto inode = inodeOf(path);
      if (!inode) {
        LOG_ERROR("lookup inode for \"{}\": {}", word, inode.status().text());
        continue;
      }
      batch.push_back(fmt::format("inode:{}", *inode));
    } else {
      batch.push_back(pathBelow(*root, path));
    }
    if (batch.size() >= kBatch) flush();
  }
  flush();
  bars.finish();
  if (!background) report(action, all);
  return softExit(failed);
}

}  // namespace

Command warmupCommand() {
  using enum OptionType;
  return {"warmup",
          "TOOL",
          "Bring files into the local cache",
          "[PATH ...]",
          "Examples:\n"
          "$ juicefs warmup /mnt/jfs/dir\n"
          "$ juicefs warmup -f list-of-paths.txt\n"
          "$ juicefs warmup --check /mnt/jfs/dir",
          {{"",
            {
                {"file,f", text, "", "file with one path per line"},
                {"threads,p", uinteger, "50", "files handled at a time"},
                {"background,b", flag, "", "return at once, the mount goes on"},
                {"evict", flag, "", "drop the files from the cache"},
                {"check", flag, "", "show how much of the files is in the cache"},
            }}},
          0,
          SIZE_MAX,
          run};
}

}  // namespace aquifer::cli
