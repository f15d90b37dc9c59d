#include "vfs/access_log.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace aquifer::vfs {

size_t AccessLog::Reader::read(std::span<std::byte> out, const std::function<bool()>& interrupted) {
  using namespace std::chrono;
  size_t n = 0;
  auto take = [&](std::string& line) {
    size_t m = std::min(line.size(), out.size() - n);
    std::memcpy(out.data() + n, line.data(), m);
    n += m;
    rest_ = line.substr(m);
  };
  const auto deadline = steady_clock::now() + 1s;
  std::unique_lock lock(mu_);
  if (!rest_.empty()) {
    std::string line = std::move(rest_);
    rest_.clear();
    take(line);
  }
  while (n < out.size() && rest_.empty()) {
    if (!lines_.empty()) {
      take(lines_.front());
      lines_.pop_front();
      continue;
    }
    auto now = steady_clock::now();
    if (now >= deadline || (interrupted && interrupted())) break;
    more_.wait_until(lock, std::min(deadline, now + 100ms));
  }
  if (n == 0 && out.size() >= 2) {
    std::memcpy(out.data(), "#\n", 2);
    n = 2;
  }
  return n;
}

std::shared_ptr<AccessLog::Reader> AccessLog::open() {
  auto reader = std::make_shared<Reader>();
  std::lock_guard lock(mu_);
  readers_.push_back(reader);
  active_.fetch_add(1, std::memory_order_relaxed);
  return reader;
}

void AccessLog::close(const std::shared_ptr<Reader>& reader) {
  std::lock_guard lock(mu_);
  auto it = std::find(readers_.begin(), readers_.end(), reader);
  if (it == readers_.end()) return;
  readers_.erase(it);
  active_.fetch_sub(1, std::memory_order_relaxed);
}

void AccessLog::push(const std::string& line) {
  std::lock_guard lock(mu_);
  for (auto& r : readers_) {
    std::lock_guard inner(r->mu_);
    if (r->lines_.size() >= kQueueLines) continue;  // a reader that is too slow loses lines, nobody waits for it
    r->lines_.push_back(line);
    r->more_.notify_one();
  }
}

std::string logLine(int64_t unixNanos, const meta::Context& ctx, std::string_view what, std::string_view result, int64_t tookNanos) {
  time_t sec = static_cast<time_t>(unixNanos / 1'000'000'000);
  struct tm t;
  localtime_r(&sec, &t);
  return fmt::format("{:04}.{:02}.{:02} {:02}:{:02}:{:02}.{:06} [uid:{},gid:{},pid:{}] {} - {} <{:.6f}>\n", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, unixNanos % 1'000'000'000 / 1000, ctx.uid, ctx.gid, ctx.pid, what, result,
                     static_cast<double>(tookNanos) / 1e9);
}

uint32_t typeBits(meta::FileType type) {
  using meta::FileType;
  switch (type) {
    case FileType::regular: return S_IFREG;
    case FileType::directory: return S_IFDIR;
    case FileType::symlink: return S_IFLNK;
    case FileType::fifo: return S_IFIFO;
    case FileType::blockDevice: return S_IFBLK;
    case FileType::charDevice: return S_IFCHR;
    case FileType::socket: return S_IFSOCK;
    case FileType::none: break;
  }
  return 0;
}

std::string modeString(uint32_t mode) {
  std::string s(10, '-');
  switch (mode & S_IFMT) {
    case S_IFREG: s[0] = '-'; break;
    case S_IFDIR: s[0] = 'd'; break;
    case S_IFLNK: s[0] = 'l'; break;
    case S_IFIFO: s[0] = 'f'; break;
    case S_IFBLK: s[0] = 'b'; break;
    case S_IFCHR: s[0] = 'c'; break;
    case S_IFSOCK: s[0] = 's'; break;
    default: s[0] = '?';
  }
  for (int i = 0; i < 9; i++)
    if (mode & (0400u >> i)) s[i + 1] = "rwx"[i % 3];
  if (mode & S_ISUID) s[3] = mode & 0100 ? 's' : 'S';
  if (mode & S_ISGID) s[6] = mode & 010 ? 's' : 'S';
  if (mode & S_ISVTX) s[9] = mode & 01 ? 't' : 'T';
  return s;
}

std::string logEntry(meta::Ino ino, const meta::Attr& a) {
  uint32_t mode = typeBits(a.type) | a.mode;
  return fmt::format(" ({},[{}:0{:06o},{},{},{},{},{},{},{}])", ino, modeString(mode), mode, a.nlink, a.uid, a.gid, a.atime.sec, a.mtime.sec,
                     a.ctime.sec, a.length);
}

namespace {
// Length of the UTF-8 sequence at the front, 0 if it is not one.
size_t utf8At(std::string_view s) {
  auto b = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  size_t n = b(0) < 0x80 ? 1 : b(0) >= 0xC2 && b(0) < 0xE0 ? 2 : b(0) >= 0xE0 && b(0) < 0xF0 ? 3 : b(0) >= 0xF0 && b(0) < 0xF5 ? 4 : 0;
  if (n == 0 || n > s.size()) return 0;
  for (size_t i = 1; i < n; i++)
    if ((b(i) & 0xC0) != 0x80) return 0;
  if (n == 3 && ((b(0) == 0xE0 && b(1) < 0xA0) || (b(0) == 0xED && b(1) > 0x9F))) return 0;
  if (n == 4 && ((b(0) == 0xF0 && b(1) < 0x90) || (b(0) == 0xF4 && b(1) > 0x8F))) return 0;
  return n;
}
}  // namespace

std::string logName(std::string_view name) {
  bool plain = true;
  for (size_t i = 0; i < name.size() && plain;) {
    size_t n = utf8At(name.substr(i));
    unsigned char c = name[i];
    plain = n != 0 && !(c < 0x20 && c != '\t') && c != 0x7F && c != '`' && name.substr(i, 3) != "\xEF\xBB\xBF";
    i += n ? n : 1;
  }
  if (plain) return std::string(name);
  std::string out;
  for (size_t i = 0; i < name.size();) {
    size_t n = utf8At(name.substr(i));
    unsigned char c = name[i];
    if (n > 1) {
      if (name.substr(i, 3) == "\xEF\xBB\xBF") out += "\\ufeff";
      else out += name.substr(i, n);
    } else if (n == 0 || (c < 0x20 && !std::strchr("\a\b\f\n\r\t\v", c)) || c == 0x7F || c == 0) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      switch (c) {
        case '\a': out += "\\a"; break;
        case '\b': out += "\\b"; break;
        case '\f': out += "\\f"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        case '\v': out += "\\v"; break;
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        default: out += static_cast<char>(c);
      }
    }
    i += n ? n : 1;
  }
  return out;
}

}  // namespace aquifer::vfs
