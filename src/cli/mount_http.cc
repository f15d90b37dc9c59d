#include "cli/mount_http.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <functional>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/proc_stat.h"
#include "base/text_file.h"
#include "base/thread_pool.h"
#include "cli/main.h"

namespace aquifer::cli {
namespace {

// One paragraph a thread: its name, state and where in the kernel it waits. What a stack of a stripped program could not say
// better.
std::string threadList() {
  std::string out;
  DIR* dir = opendir("/proc/self/task");
  if (!dir) return out;
  size_t count = 0;
  while (const dirent* e = readdir(dir)) {
    if (e->d_name[0] == '.') continue;
    const std::string base = std::string("/proc/self/task/") + e->d_name;
    std::string name = fileText(base + "/comm");
    if (!name.empty() && name.back() == '\n') name.pop_back();
    const auto stat = procStat(base);
    const char state = stat ? stat->state : '?';
    out += std::string("thread ") + e->d_name + " [" + name + ", " + state + "]:\n  " + fileText(base + "/wchan") +
           "\n  syscall " + fileText(base + "/syscall") + "\n";
    ++count;
  }
  closedir(dir);
  return "threads: " + std::to_string(count) + "\n" + out;
}

// Answers GET requests one after the other, each in at most 5 s: scrapers come every few seconds, and nothing here takes long.
class HttpServer : public StatusServer {
 public:
  using Page = std::function<std::string()>;
  ~HttpServer() override {
    if (wake_ >= 0) (void)!::write(wake_, "\1\0\0\0\0\0\0\0", 8);
    if (thread_.joinable()) thread_.join();
    for (int fd : {listen_, wake_})
      if (fd >= 0) close(fd);
  }
  const std::string& address() const override { return address_; }
  void page(const std::string& path, const std::string& type, Page make) { pages_.push_back({path, type, std::move(make)}); }

  bool bind(const std::string& host, int port) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_family = AF_UNSPEC, hints.ai_socktype = SOCK_STREAM, hints.ai_flags = AI_PASSIVE;
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return false;
    for (const addrinfo* a = found; a && listen_ < 0; a = a->ai_next) {
      const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (fd < 0) continue;
      const int yes = 1;
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      if (::bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 16) == 0)
        listen_ = fd;
      else
        close(fd);
    }
    freeaddrinfo(found);
    if (listen_ < 0) return false;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    getsockname(listen_, reinterpret_cast<sockaddr*>(&own), &size);
    const uint16_t got = own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                                   : reinterpret_cast<sockaddr_in*>(&own)->sin_port;
    address_ = host + ":" + std::to_string(ntohs(got));
    return true;
  }
  void start() {
    wake_ = eventfd(0, EFD_CLOEXEC);
    thread_ = std::thread([this] { loop(); });
  }

 private:
  struct Entry {
    std::string path, type;
    Page make;
  };
  void loop() {
    setThreadName("http");
    while (true) {
      pollfd fds[2] = {{listen_, POLLIN, 0}, {wake_, POLLIN, 0}};
      poll(fds, 2, -1);
      if (fds[1].revents) return;
      const int fd = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      const timeval limit{5, 0};
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
      answer(fd);
      close(fd);
    }
  }
  void answer(int fd) {
    constexpr size_t kMaxRequest = 16 << 10;
    const int64_t deadline = monotonicNanos() + 5'000'000'000;
    std::string request;
    char buf[4096];
    while (request.find("\r\n\r\n") == std::string::npos && request.size() < kMaxRequest && monotonicNanos() < deadline) {
      const ssize_t n = recv(fd, buf, sizeof buf, 0);
      if (n <= 0) return;
      request.append(buf, static_cast<size_t>(n));
    }
    std::istringstream line(request.substr(0, request.find("\r\n")));
    std::string method, target;
    line >> method >> target;
    target = target.substr(0, target.find('?'));
    std::string status = "404 Not Found", type = "text/plain; charset=utf-8", body = "not found\n";
    if (method != "GET" && method != "HEAD")
      status = "405 Method Not Allowed", body = "only GET\n";
    else
      for (const auto& e : pages_)
        if (e.path == target) status = "200 OK", type = e.type, body = e.make();
    std::string reply = "HTTP/1.1 " + status + "\r\nContent-Type: " + type +
                        "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n";
    if (method != "HEAD") reply += body;
    for (size_t at = 0; at < reply.size();) {
      const ssize_t n = send(fd, reply.data() + at, reply.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
    // Else the rest of the request, unread, would reset the connection under the reply.
    shutdown(fd, SHUT_WR);
    while (recv(fd, buf, sizeof buf, MSG_DONTWAIT) > 0) {
    }
  }

  std::string address_;
  int listen_ = -1, wake_ = -1;
  std::vector<Entry> pages_;
  std::thread thread_;
};

bool splitAddress(const std::string& address, std::string* host, int* port) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  *host = address.substr(0, colon);
  if (host->empty()) *host = "0.0.0.0";
  const char* end = address.data() + address.size();
  auto [p, e] = std::from_chars(address.data() + colon + 1, end, *port);
  return e == std::errc() && p == end && *port >= 0 && *port <= 65535;
}

constexpr const char* kText = "text/plain; charset=utf-8";

}  // namespace

Result<std::unique_ptr<StatusServer>> serveMetrics(const std::string& address, bool mayMove) {
  std::string host;
  int port = 0;
  if (!splitAddress(address, &host, &port)) return Status(Code::config, "metrics address " + address + " is not host:port");
  auto s = std::make_unique<HttpServer>();
  if (!s->bind(host, port) && !(mayMove && s->bind(host, 0))) return Status(Code::busy, "cannot listen on " + address);
  s->page("/metrics", "text/plain; version=0.0.4; charset=utf-8", [] { return metrics::prometheusText(); });
  s->start();
  return std::unique_ptr<StatusServer>(std::move(s));
}

Result<std::unique_ptr<StatusServer>> serveDebug() {
  auto s = std::make_unique<HttpServer>();
  bool bound = false;
  for (int port = 6060; port < 6100 && !bound; ++port) bound = s->bind("127.0.0.1", port);
  if (!bound) return Status(Code::busy, "no free port from 6060 to 6099");
  s->page("/debug/pprof/cmdline", kText, [] { return fileText("/proc/self/cmdline"); });
  s->page("/debug/pprof/goroutine", kText, threadList);
  s->start();
  return std::unique_ptr<StatusServer>(std::move(s));
}

}  // namespace aquifer::cli
