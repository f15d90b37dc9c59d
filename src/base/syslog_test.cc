#include "base/syslog.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <regex>

namespace aquifer::log {
namespace {

class Daemon {
 public:
  explicit Daemon(const std::string& path) : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    unlink(path.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Daemon() { close(fd_); }
  std::string receive() {
    char text[20'000];
    const ssize_t n = recv(fd_, text, sizeof text, 0);
    return n < 0 ? "" : std::string(text, static_cast<size_t>(n));
  }

 private:
  const int fd_;
};

class SyslogTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/aquifer-syslog-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    path_ = folder_ + "/log";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  std::string folder_, path_;
};

TEST_F(SyslogTest, Packet) {
  Daemon daemon(path_);
  Syslog log(path_);
  ASSERT_TRUE(log.write(LOG_WARNING, "juicefs[1] <WARNING>: x [f@g:2]"));
  const std::string text = daemon.receive();
  EXPECT_TRUE(std::regex_match(
      text, std::regex("<12>[A-Z][a-z]{2} [ 123][0-9] [0-9:]{8} juicefs\\[[0-9]+\\]: juicefs\\[1\\] <WARNING>: x \\[f@g:2\\]")))
      << text;
  ASSERT_TRUE(log.write(LOG_INFO, std::string(100'000, 'x')));
  EXPECT_LT(daemon.receive().size(), 8300u);
}

TEST_F(SyslogTest, NoDaemon) {
  Syslog log(path_);
  EXPECT_FALSE(log.write(LOG_INFO, "lost"));
  Daemon daemon(path_);
  EXPECT_TRUE(log.write(LOG_INFO, "found"));  // it came up later
  EXPECT_NE(daemon.receive().find("found"), std::string::npos);
}

TEST_F(SyslogTest, RestartedDaemon) {
  Syslog log(path_);
  {
    Daemon daemon(path_);
    ASSERT_TRUE(log.write(LOG_INFO, "one"));
  }
  Daemon daemon(path_);
  ASSERT_TRUE(log.write(LOG_INFO, "two"));
  EXPECT_NE(daemon.receive().find("two"), std::string::npos);
}

// Nobody reads: lines are lost, the writer goes on.
TEST_F(SyslogTest, StuckDaemon) {
  Daemon daemon(path_);
  Syslog log(path_);
  bool lost = false;
  for (int i = 0; i < 10'000 && !lost; i++) lost = !log.write(LOG_INFO, std::string(1000, 'x'));
  EXPECT_TRUE(lost);
}

}  // namespace
}  // namespace aquifer::log
