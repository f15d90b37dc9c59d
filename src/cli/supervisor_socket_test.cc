#include "cli/supervisor_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "access/fuse/negotiate.h"

namespace aquifer::cli {
namespace {

std::string initBytes(char fill) {
  std::string s(fuse::kInitRequestSize, fill);
  return s;
}

class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = "/tmp/aquifer-comm-test." + std::to_string(getpid());
    ASSERT_TRUE(listener_.listen(path_).isOk());
    loop_ = std::thread([this] {
      while (!stop_) {
        std::vector<pollfd> fds;
        for (int fd : listener_.descriptors()) fds.push_back({fd, POLLIN, 0});
        poll(fds.data(), fds.size(), 5);
        std::lock_guard lock(mu_);
        listener_.handle(worker_);
      }
    });
  }
  void TearDown() override {
    stop_ = true;
    loop_.join();
  }
  int held() {
    std::lock_guard lock(mu_);
    return listener_.session().fd;
  }
  void waitForSession() {
    for (int i = 0; i < 1000 && held() < 0; ++i) usleep(1000);
  }
  bool transferred() {
    std::lock_guard lock(mu_);
    return listener_.transferred();
  }
  std::string path_;
  SessionListener listener_;
  std::mutex mu_;
  std::atomic<bool> stop_{false};
  std::atomic<pid_t> worker_{getpid()};
  std::thread loop_;
};

TEST_F(SocketTest, NothingThenASessionThenTheSame) {
  struct stat mode {};
  ASSERT_EQ(stat(path_.c_str(), &mode), 0);
  EXPECT_EQ(mode.st_mode & 0777, 0600u);
  auto none = fetchSession(path_);
  ASSERT_TRUE(none.isOk());
  EXPECT_EQ(none->fd, -1);
  int pipeFds[2];
  ASSERT_EQ(pipe(pipeFds), 0);
  ASSERT_TRUE(storeSession(path_, {pipeFds[1], initBytes('a')}).isOk());
  waitForSession();
  auto got = fetchSession(path_);
  ASSERT_TRUE(got.isOk());
  EXPECT_EQ(got->init, initBytes('a'));
  ASSERT_GE(got->fd, 0);
  EXPECT_EQ(fcntl(got->fd, F_GETFD), FD_CLOEXEC);
  // It is the same open file.
  ASSERT_EQ(write(got->fd, "x", 1), 1);
  char c = 0;
  EXPECT_EQ(read(pipeFds[0], &c, 1), 1);
  // A worker may fetch it as often as it likes: the listener keeps its copy.
  EXPECT_GE(held(), 0);
  EXPECT_FALSE(transferred());
  close(got->fd), close(pipeFds[0]), close(pipeFds[1]);
}

TEST_F(SocketTest, AStrangerTakesTheSessionAway) {
  int pipeFds[2];
  ASSERT_EQ(pipe(pipeFds), 0);
  ASSERT_TRUE(storeSession(path_, {pipeFds[1], initBytes('b')}).isOk());
  waitForSession();
  worker_ = 1;  // now we are not the worker
  auto got = fetchSession(path_);
  ASSERT_TRUE(got.isOk());
  EXPECT_GE(got->fd, 0);
  EXPECT_EQ(held(), -1);
  EXPECT_TRUE(transferred());
  // Until it gives one back.
  ASSERT_TRUE(storeSession(path_, *got).isOk());
  waitForSession();
  EXPECT_GE(held(), 0);
  EXPECT_FALSE(transferred());
  close(got->fd), close(pipeFds[0]), close(pipeFds[1]);
}

TEST_F(SocketTest, RubbishIsNotKept) {
  ASSERT_TRUE(storeSession(path_, {0, "too short"}).isOk());
  usleep(50'000);
  EXPECT_EQ(held(), -1);
}

TEST(SocketClient, NobodyListens) { EXPECT_FALSE(fetchSession("/tmp/aquifer-no-such-socket").isOk()); }

}  // namespace
}  // namespace aquifer::cli
