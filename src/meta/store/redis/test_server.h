// For tests: a real redis-server on a free port of the loopback interface, in a folder of its own, gone with the process.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace aquifer::meta::redis {

class TestServer {
 public:
  // nullptr, with the reason on stderr, if there is no server to start.
  static std::unique_ptr<TestServer> start(std::vector<std::string> options = {}) {
    for (int attempt = 0; attempt < 5; ++attempt) {
      std::unique_ptr<TestServer> server(new TestServer(options));
      if (server->launch()) return server;
      if (server->missing_) break;
    }
    std::fprintf(stderr, "redis-server is missing or does not start: its tests are skipped (scripts/install-deps --tests)\n");
    return nullptr;
  }
  // The server of this test program, started when first asked for.
  static TestServer* shared() {
    static auto server = start();
    return server.get();
  }
  ~TestServer() {
    stop();
    std::filesystem::remove_all(dir_);
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  int port() const { return port_; }
  std::string socketPath() const { return dir_ + "/socket"; }
  std::string url(int db) const { return "redis://127.0.0.1:" + std::to_string(port_) + "/" + std::to_string(db); }
  // A database that no other test of this program uses.
  std::string freshUrl() { return url(nextDb_++ % kDatabases); }

  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  bool launch() {
    if (port_ == 0) port_ = freePort();
    auto parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      exec();
    }
    for (int i = 0; i < 500; ++i) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        missing_ = WIFEXITED(status) && WEXITSTATUS(status) == 127;
        pid_ = 0;
        return false;
      }
      if (answers()) return true;
      sleepMs(10);
    }
    stop();
    return false;
  }

 private:
  static constexpr int kDatabases = 512;

  explicit TestServer(std::vector<std::string> options) : options_(std::move(options)) {
    char pattern[] = "/tmp/aquifer-redis-XXXXXX";
    if (auto* made = ::mkdtemp(pattern)) dir_ = made;
  }
  static sockaddr_in loopback(int port) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<uint16_t>(port));
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return where;
  }
  static int freePort() {
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto where = loopback(0);
    socklen_t size = sizeof where;
    bool ok = ::bind(fd, reinterpret_cast<sockaddr*>(&where), size) == 0 &&
              ::getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size) == 0;
    ::close(fd);
    return ok ? ntohs(where.sin_port) : 0;
  }
  bool answers() const {
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto where = loopback(port_);
    char reply[64];
    bool sent =
        ::connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0 && ::send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6;
    auto n = sent ? ::recv(fd, reply, sizeof reply, 0) : 0;
    std::string_view text(reply, static_cast<size_t>(std::max<ssize_t>(n, 0)));
    bool ok = text.starts_with('+') || text.starts_with("-NOAUTH");
    ::close(fd);
    return ok;
  }
  [[noreturn]] void exec() {
    std::vector<std::string> words{"redis-server",
                                   "--port",
                                   std::to_string(port_),
                                   "--bind",
                                   "127.0.0.1",
                                   "--unixsocket",
                                   socketPath(),
                                   "--dir",
                                   dir_,
                                   "--save",
                                   "",
                                   "--appendonly",
                                   "no",
                                   "--databases",
                                   std::to_string(kDatabases),
                                   "--logfile",
                                   dir_ + "/log"};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }

  std::vector<std::string> options_;
  std::string dir_;
  int port_ = 0;
  pid_t pid_ = 0;
  bool missing_ = false;
  std::atomic<int> nextDb_{0};
};

}  // namespace aquifer::meta::redis
