#include "vfs/control/runner.h"

#include <fmt/format.h>
#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "base/log.h"
#include "base/thread_pool.h"

namespace aquifer::vfs {

namespace {
// The requests that carry commands name one group only; the others come from the kernel's view of the caller.
std::vector<uint32_t> groupsOf(uint32_t pid) {
  std::vector<uint32_t> groups;
  int fd = open(fmt::format("/proc/{}/status", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return groups;
  std::string text(64 << 10, '\0');
  ssize_t n = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(n > 0 ? n : 0);
  auto at = text.find("\nGroups:");
  if (at == std::string::npos) return groups;
  const char* p = text.data() + at + 8;
  const char* end = text.data() + std::min(text.size(), text.find('\n', at + 1));
  while (p < end) {
    if (*p == ' ' || *p == '\t') {
      p++;
      continue;
    }
    uint32_t g;
    auto [next, ec] = std::from_chars(p, end, g);
    if (ec != std::errc()) break;
    groups.push_back(g);
    p = next;
  }
  return groups;
}

using Command = void (*)(ControlCall&);
Command commandOf(uint32_t id) {
  switch (id) {
    case 1002: return controlRemove;
    case 1003: return controlLegacyInfo;
    case 1004: return controlCache;
    case 1005: return controlInfo;
    case 1006: return controlClone;
    case 1007: return controlSummary;
    case 1008: return controlCompact;
    case 20001: return controlWhy;
    default: return nullptr;
  }
}
}  // namespace

void ControlCall::finishData(std::string_view json) {
  std::string reply;
  reply.push_back(static_cast<char>(0xFF));
  appendBig<uint32_t>(reply, static_cast<uint32_t>(json.size()));
  reply += json;
  channel->finish(std::move(reply));
}

void ControlCall::finishText(std::string_view text) {
  std::string reply;
  appendBig<uint32_t>(reply, static_cast<uint32_t>(text.size()));
  reply += text;
  channel->finish(std::move(reply));
}

void ControlRunner::start(std::shared_ptr<ControlChannel> channel, const meta::Context& caller, uint32_t command, std::string body) {
  if (!commandOf(command)) {
    channel->finish(std::string(1, static_cast<char>(EINVAL)));
    return;
  }
  {
    std::lock_guard lock(mu_);
    if (stopping_ || running_ >= kMaxRunning) {
      channel->finish(std::string(1, static_cast<char>(stopping_ ? EINTR : EAGAIN)));
      return;
    }
    running_++;
  }
  meta::Context ctx;
  ctx.uid = caller.uid;
  ctx.gid = caller.gid;
  ctx.pid = caller.pid;
  ctx.groups = caller.groups.empty() ? groupsOf(caller.pid) : caller.groups;
  ctx.checkPermission = true;   // the kernel saw only a write to a file that everybody may write
  std::thread([this, channel = std::move(channel), ctx = std::move(ctx), command, body = std::move(body)]() mutable {
    setThreadName("control");
    run(std::move(channel), std::move(ctx), command, body);
    std::lock_guard lock(mu_);
    running_--;
    ended_.notify_all();
  }).detach();
}

void ControlRunner::run(std::shared_ptr<ControlChannel> channel, meta::Context ctx, uint32_t command, const std::string& body) {
  ControlCall call{env_, std::move(ctx), ByteReader(body), channel};
  call.ctx.interrupted = [this, &call] { return stopping_ || (!call.background && call.channel->cancelled()); };
  commandOf(command)(call);
}

void ControlRunner::stop() {
  std::unique_lock lock(mu_);
  stopping_ = true;
  ended_.wait(lock, [&] { return running_ == 0; });
}

}  // namespace aquifer::vfs
