#include "access/fuse/identity.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "access/fuse/server.h"
#include "base/clock.h"

namespace aquifer::fuse {
namespace {

constexpr int64_t kKeepNanos = 300'000'000'000;
constexpr size_t kMaxKnown = 10'000, kMaxGroups = 65'536, kMaxStatusBytes = 1 << 20;

std::string readStatus(uint32_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  if (fd < 0) return text;
  char buf[4096];
  while (text.size() < kMaxStatusBytes) {
    const ssize_t n = read(fd, buf, sizeof buf);
    if (n <= 0) break;
    text.append(buf, static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

}  // namespace

std::vector<uint32_t> parseGroups(std::string_view status) {
  std::vector<uint32_t> groups;
  size_t at = status.find("\nGroups:");
  if (at == std::string_view::npos) return groups;
  std::string_view line = status.substr(at + 8);
  line = line.substr(0, line.find('\n'));
  const char *p = line.data(), *end = p + line.size();
  while (p < end && groups.size() < kMaxGroups) {
    uint32_t g = 0;
    auto [next, error] = std::from_chars(p, end, g);
    if (error == std::errc()) groups.push_back(g);
    p = next == p ? p + 1 : next;
  }
  return groups;
}

std::vector<uint32_t> GroupCache::of(uint32_t pid) {
  const int64_t now = monotonicNanos();
  {
    std::lock_guard lock(mu_);
    auto it = known_.find(pid);
    if (it != known_.end() && it->second.until > now) return it->second.groups;
  }
  auto groups = parseGroups(readStatus(pid));
  std::lock_guard lock(mu_);
  if (known_.size() >= kMaxKnown) known_.clear();
  known_[pid] = {groups, now + kKeepNanos};
  return groups;
}

Identity::Identity(const ServerConfig& c)
    : rootSquash_(c.rootSquash),
      allSquash_(c.allSquash),
      checkPermission_(c.checkPermission),
      uid_(c.squashUid),
      gid_(c.squashGid),
      rootUid_(c.rootSquashUid),
      rootGid_(c.rootSquashGid) {}

meta::Context Identity::of(const InHeader& head) {
  meta::Context ctx;
  ctx.uid = head.uid, ctx.gid = head.gid, ctx.pid = head.pid;
  ctx.checkPermission = checkPermission_;
  bool squashed = false;
  if (allSquash_) {
    ctx.uid = uid_, ctx.gid = gid_, squashed = true;
  } else if (rootSquash_ && head.uid == 0) {
    ctx.uid = rootUid_, ctx.gid = rootGid_, squashed = true;
  }
  if (checkPermission_ && !squashed && head.pid) ctx.groups = groups_.of(head.pid);
  return ctx;
}

bool Identity::inGroup(const meta::Context& ctx, uint32_t gid) {
  if (ctx.inGroup(gid)) return true;
  if (checkPermission_ || ctx.pid == 0) return false;  // the context has them all, or nobody knows
  for (uint32_t g : groups_.of(ctx.pid))
    if (g == gid) return true;
  return false;
}

}  // namespace aquifer::fuse
