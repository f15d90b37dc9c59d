// A real mount of a file system in memory: what applications see through the kernel. Skipped where FUSE cannot be mounted.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include "access/fuse/crash_state.h"
#include "access/fuse/device.h"
#include "access/fuse/server.h"
#include "access/fuse/stub_vfs.h"
#include "base/clock.h"

namespace aquifer::fuse {
namespace {

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char dir[] = "/tmp/aquifer-fuse-XXXXXX";
    ASSERT_NE(mkdtemp(dir), nullptr);
    mp_ = dir;
    vfs_.cfg.enableXattr = true;
  }
  void TearDown() override {
    if (server_) {
      unmountFuse(mp_, true).isOk();
      serving_.join();
      server_.reset();
      close(fd_);
    }
    rmdir(mp_.c_str());
  }
  // False: no FUSE here.
  bool start() {
    MountOptions o;
    o.mountPoint = mp_;
    auto fd = mountFuse(o);
    if (!fd) return false;
    fd_ = *fd;
    server_ = makeServer(fd_, vfs_, config_);
    std::thread([this] { negotiated_ = server_->negotiate(); }).join();
    EXPECT_TRUE(negotiated_.isOk()) << negotiated_.text();
    serving_ = std::thread([this] { served_ = server_->serve(); });
    return true;
  }
  std::string path(const std::string& name) const { return mp_ + "/" + name; }

  std::string mp_;
  StubVfs vfs_;
  ServerConfig config_;
  int fd_ = -1;
  std::unique_ptr<Server> server_;
  std::thread serving_;
  Status negotiated_, served_;
};
#define START() \
  if (!start()) GTEST_SKIP() << "FUSE cannot be mounted here"

TEST_F(ServerTest, TheMountTableLineIsTheKnownOne) {
  START();
  std::ifstream mounts("/proc/mounts");
  std::string line, found;
  while (std::getline(mounts, line))
    if (line.find(mp_) != std::string::npos) found = line;
  EXPECT_EQ(
      found,
      "JuiceFS:vol " + mp_ +
          " fuse.juicefs rw,nosuid,nodev,relatime,user_id=0,group_id=0,default_permissions,allow_other,max_read=1048576 0 0");
  EXPECT_EQ(server_->initRequest().size(), 104u);
}

TEST_F(ServerTest, WrittenBytesComeBack) {
  START();
  std::string data(3 << 20, 'x');
  for (size_t i = 0; i < data.size(); i += 13) data[i] = static_cast<char>(i);
  int fd = open(path("f").c_str(), O_CREAT | O_RDWR, 0640);
  ASSERT_GE(fd, 0) << strerror(errno);
  ASSERT_EQ(write(fd, data.data(), data.size()), static_cast<ssize_t>(data.size()));
  ASSERT_EQ(fsync(fd), 0);
  struct stat st {};
  ASSERT_EQ(fstat(fd, &st), 0);
  EXPECT_EQ(st.st_size, static_cast<off_t>(data.size()));
  EXPECT_EQ(st.st_mode, static_cast<mode_t>(S_IFREG | 0640));
  EXPECT_EQ(st.st_blksize, 65536);
  close(fd);
  fd = open(path("f").c_str(), O_RDONLY | O_DIRECT);
  std::string back(data.size(), 0);
  size_t got = 0;
  while (got < back.size()) {
    ssize_t n = read(fd, back.data() + got, back.size() - got);
    ASSERT_GT(n, 0);
    got += static_cast<size_t>(n);
  }
  EXPECT_TRUE(back == data);
  EXPECT_EQ(lseek(fd, 0, SEEK_HOLE), static_cast<off_t>(data.size()));
  close(fd);
}

TEST_F(ServerTest, NamesOfEveryKind) {
  START();
  ASSERT_EQ(mkdir(path("d").c_str(), 0755), 0);
  ASSERT_EQ(mkdir(path("d").c_str(), 0755), -1);
  EXPECT_EQ(errno, EEXIST);
  ASSERT_EQ(mknod(path("d/fifo").c_str(), S_IFIFO | 0600, 0), 0);
  ASSERT_EQ(symlink("target", path("d/sl").c_str()), 0);
  char buf[100];
  ASSERT_EQ(readlink(path("d/sl").c_str(), buf, sizeof buf), 6);
  int fd = creat(path("d/f").c_str(), 0600);
  ASSERT_GE(fd, 0);
  close(fd);
  ASSERT_EQ(link(path("d/f").c_str(), path("d/g").c_str()), 0);
  struct stat st {};
  ASSERT_EQ(stat(path("d/g").c_str(), &st), 0);
  EXPECT_EQ(st.st_nlink, 2u);
  ASSERT_EQ(renameat2(AT_FDCWD, path("d/f").c_str(), AT_FDCWD, path("d/g").c_str(), 1), -1);
  EXPECT_EQ(errno, EEXIST);
  ASSERT_EQ(rename(path("d/f").c_str(), path("d/h").c_str()), 0);
  ASSERT_EQ(rmdir(path("d").c_str()), -1);
  EXPECT_EQ(errno, ENOTEMPTY);
  for (auto n : {"d/fifo", "d/sl", "d/g", "d/h"}) EXPECT_EQ(unlink(path(n).c_str()), 0) << n;
  ASSERT_EQ(rmdir(path("d").c_str()), 0);
  ASSERT_EQ(stat(path("d").c_str(), &st), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(ServerTest, AListingIsWholeAndInOnePiece) {
  for (int i = 0; i < 5000; ++i) vfs_.addFile("file-" + std::to_string(i), "x");
  START();
  DIR* d = opendir(mp_.c_str());
  ASSERT_NE(d, nullptr);
  std::multiset<std::string> names;
  while (dirent* e = readdir(d)) names.insert(e->d_name);
  closedir(d);
  EXPECT_EQ(names.size(), 5002u);
  EXPECT_EQ(names.count("file-4999"), 1u);
  EXPECT_EQ(names.count("."), 1u);
}

TEST_F(ServerTest, AttributesAndExtendedAttributes) {
  vfs_.addFile("f", "hello");
  START();
  const auto f = path("f");
  ASSERT_EQ(chmod(f.c_str(), 0751), 0);
  ASSERT_EQ(chown(f.c_str(), 7, 8), 0);
  timespec times[2] = {{-5, 123456789}, {1, 2}};
  ASSERT_EQ(utimensat(AT_FDCWD, f.c_str(), times, 0), 0);
  ASSERT_EQ(truncate(f.c_str(), 2), 0);
  struct stat st {};
  ASSERT_EQ(stat(f.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0751u);
  EXPECT_EQ(st.st_uid, 7u);
  EXPECT_EQ(st.st_gid, 8u);
  EXPECT_EQ(st.st_size, 2);
  EXPECT_EQ(st.st_atim.tv_sec, -5);
  EXPECT_EQ(st.st_atim.tv_nsec, 123456789);
  ASSERT_EQ(setxattr(f.c_str(), "user.a", "value", 5, XATTR_CREATE), 0);
  ASSERT_EQ(setxattr(f.c_str(), "user.a", "value", 5, XATTR_CREATE), -1);
  EXPECT_EQ(errno, EEXIST);
  char buf[100];
  EXPECT_EQ(getxattr(f.c_str(), "user.a", nullptr, 0), 5);
  EXPECT_EQ(getxattr(f.c_str(), "user.a", buf, 3), -1);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(getxattr(f.c_str(), "user.a", buf, sizeof buf), 5);
  EXPECT_EQ(listxattr(f.c_str(), buf, sizeof buf), 7);
  ASSERT_EQ(removexattr(f.c_str(), "user.a"), 0);
  EXPECT_EQ(getxattr(f.c_str(), "user.a", buf, sizeof buf), -1);
  EXPECT_EQ(errno, ENODATA);
  struct statvfs sv {};
  ASSERT_EQ(statvfs(mp_.c_str(), &sv), 0);
  EXPECT_EQ(sv.f_blocks, (1ull << 50) / 4096);
  EXPECT_EQ(sv.f_namemax, 255u);
}

TEST_F(ServerTest, CopyAllocateAndNamelessFiles) {
  vfs_.addFile("src", std::string(10000, 's'));
  START();
  int in = open(path("src").c_str(), O_RDONLY), out = open(path("dst").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_GE(in, 0);
  ASSERT_GE(out, 0);
  loff_t a = 100, b = 50;
  EXPECT_EQ(copy_file_range(in, &a, out, &b, 5000, 0), 5000);
  EXPECT_EQ(fallocate(out, 0, 0, 100000), 0);
  struct stat st {};
  ASSERT_EQ(fstat(out, &st), 0);
  EXPECT_EQ(st.st_size, 100000);
  close(in), close(out);
  int tmp = open(mp_.c_str(), O_TMPFILE | O_RDWR, 0600);
  ASSERT_GE(tmp, 0) << strerror(errno);
  EXPECT_EQ(write(tmp, "abc", 3), 3);
  close(tmp);
}

TEST_F(ServerTest, ManyWaitersForALockDoNotStarveOtherRequests) {
  config_.threads = 4;
  vfs_.addFile("lock", "");
  START();
  int holder = open(path("lock").c_str(), O_RDWR);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  std::vector<std::thread> waiters;
  std::atomic<int> got{0};
  for (int i = 0; i < 200; ++i) {  // more than wait on threads of their own
    waiters.emplace_back([&] {
      int fd = open(path("lock").c_str(), O_RDWR);
      if (flock(fd, LOCK_EX) == 0) ++got;
      flock(fd, LOCK_UN);
      close(fd);
    });
  }
  for (int i = 0; i < 200 && vfs_.openHandles() < 201; ++i) sleepMs(10);
  int fd = open(path("other").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_GE(fd, 0);
  close(fd);
  EXPECT_EQ(got, 0);
  ASSERT_EQ(flock(holder, LOCK_UN), 0);
  for (auto& t : waiters) t.join();
  EXPECT_EQ(got, 200);
  close(holder);
}

TEST_F(ServerTest, SlowRequestsDoNotStarveOthers) {
  config_.threads = 2;
  std::atomic<bool> go{false};
  vfs_.addFile("slow", "data");
  vfs_.before = [&](const meta::Context&, const char* op) {
    if (std::strcmp(op, "open") == 0)
      while (!go) sleepMs(1);
    return Status();
  };
  START();
  std::vector<std::thread> slow;
  for (int i = 0; i < 50; ++i)
    slow.emplace_back([&] {
      int fd = open(path("slow").c_str(), O_RDONLY);
      EXPECT_GE(fd, 0);
      close(fd);
    });
  while (vfs_.opens < 50) sleepMs(1);
  struct stat st {};
  EXPECT_EQ(stat(path("slow").c_str(), &st), 0);
  go = true;
  for (auto& t : slow) t.join();
}

TEST_F(ServerTest, ASignalEndsTheWaitForALock) {
  vfs_.addFile("lock", "");
  START();
  int holder = open(path("lock").c_str(), O_RDWR);
  struct flock range {};
  range.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(holder, F_OFD_SETLK, &range), 0);
  pid_t child = fork();
  if (child == 0) {
    struct sigaction sa {};
    sa.sa_handler = [](int) {};
    sigaction(SIGALRM, &sa, nullptr);
    alarm(1);
    int fd = open((mp_ + "/lock").c_str(), O_RDWR);
    struct flock r {};
    r.l_type = F_WRLCK;
    int rc = fcntl(fd, F_OFD_SETLKW, &r);
    _exit(rc == -1 && errno == EINTR ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(holder);
}

TEST_F(ServerTest, InvalidationsReachTheKernel) {
  vfs_.cfg.attrTimeout = vfs_.cfg.entryTimeout = vfs::Seconds(1000);
  vfs_.addFile("f", "old");
  START();
  struct stat st {};
  ASSERT_EQ(stat(path("f").c_str(), &st), 0);
  EXPECT_EQ(st.st_size, 3);
  const auto ino = vfs_.find("f");
  std::thread([&] { (void)vfs_.setattr({}, ino, 0, false, {.mask = meta::kSetSize}, 10).isOk(); }).join();
  ASSERT_EQ(stat(path("f").c_str(), &st), 0);
  EXPECT_EQ(st.st_size, 3);  // cached
  vfs_.notify->invalidateInode(ino, -1, 0);
  for (int i = 0; i < 500 && st.st_size == 3; ++i) {
    sleepMs(10);
    ASSERT_EQ(stat(path("f").c_str(), &st), 0);
  }
  EXPECT_EQ(st.st_size, 10);
  ASSERT_TRUE(vfs_.unlink({}, 1, "f").isOk());
  ASSERT_EQ(stat(path("f").c_str(), &st), 0);
  vfs_.notify->invalidateEntry(1, "f");
  int rc = 0;
  for (int i = 0; i < 500 && rc == 0; ++i) {
    sleepMs(10);
    rc = stat(path("f").c_str(), &st);
  }
  EXPECT_EQ(rc, -1);
}

TEST_F(ServerTest, UndocumentedErrorsBecomeEio) {
  vfs_.addFile("f", "x");
  vfs_.before = [&](const meta::Context&, const char* op) {
    return std::strcmp(op, "open") == 0 ? Status(static_cast<Code>(512)) : Status();
  };
  START();
  EXPECT_EQ(open(path("f").c_str(), O_RDONLY), -1);
  EXPECT_EQ(errno, EIO);
}

// The process that serves is a child, and dies over a request; its successor in the next child is given the request again.
TEST_F(ServerTest, ARequestThatKillsEveryProcessIsRefusedInTheEnd) {
  MountOptions o;
  o.mountPoint = mp_;
  auto fd = mountFuse(o);
  if (!fd) GTEST_SKIP() << "FUSE cannot be mounted here";
  auto memory = CrashState::create();
  ASSERT_TRUE(memory.isOk());
  std::vector<int> clones{*openDevice(), *openDevice()};
  int initPipe[2];
  ASSERT_EQ(pipe(initPipe), 0);
  std::string init;
  auto worker = [&] {
    const pid_t pid = fork();
    if (pid) return pid;
    StubVfs vfs;
    vfs.addFile("f", "data");
    vfs.before = [](const meta::Context&, const char* op) {
      if (std::strcmp(op, "mkdir") == 0) abort();
      return Status();
    };
    ServerConfig c;
    c.crashStateFd = *memory, c.cloneFds = clones;
    auto server = makeServer(*fd, vfs, c);
    const Status s = init.empty() ? server->negotiate() : server->adopt(init, true);
    if (init.empty()) (void)!write(initPipe[1], server->initRequest().data(), server->initRequest().size());
    if (s) (void)server->serve().isOk();
    server.reset();
    _exit(0);
  };
  pid_t pid = worker();
  char bytes[104];
  ASSERT_EQ(read(initPipe[0], bytes, sizeof bytes), 104);
  init.assign(bytes, sizeof bytes);
  // The client is a process of its own: this one must not wait on the mount.
  const pid_t client = fork();
  if (client == 0) _exit(mkdir((mp_ + "/d").c_str(), 0700) == 0 ? 0 : errno);
  int status = 0, deaths = 0;
  auto supervisor = CrashState::map(*memory);
  while (waitpid(client, &status, WNOHANG) == 0 && deaths < 10) {
    int how = 0;
    if (waitpid(pid, &how, WNOHANG) == pid) {
      EXPECT_TRUE(WIFSIGNALED(how));
      ++deaths;
      (*supervisor)->setCrashed(true);
      pid = worker();
    }
    sleepMs(5);
  }
  EXPECT_EQ(deaths, 2);  // fewer than make a supervisor give up
  EXPECT_EQ(WEXITSTATUS(status), EIO);
  umount2(mp_.c_str(), MNT_FORCE | MNT_DETACH);
  waitpid(pid, nullptr, 0);
  for (int f : {*fd, *memory, clones[0], clones[1], initPipe[0], initPipe[1]}) close(f);
}

TEST_F(ServerTest, StopLeavesTheMountForASuccessor) {
  vfs_.addFile("f", "data");
  START();
  int fd = open(path("f").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  server_->stop();
  serving_.join();
  EXPECT_TRUE(served_.isOk());
  const std::string init = server_->initRequest();
  server_.reset();
  std::thread client([&] {
    struct stat st {};
    EXPECT_EQ(stat(path("f").c_str(), &st), 0);
    char c = 0;
    EXPECT_EQ(pread(fd, &c, 1, 0), 1);
    EXPECT_EQ(c, 'd');
  });
  sleepMs(50);
  server_ = makeServer(fd_, vfs_, config_);
  ASSERT_TRUE(server_->adopt(init, true).isOk());
  serving_ = std::thread([this] { served_ = server_->serve(); });
  client.join();
  close(fd);
}

}  // namespace
}  // namespace aquifer::fuse
