#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

namespace aquifer::log {
namespace {

std::string readFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// Log lines go to one place for the life of a process; every test has its own child process.
class Log : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/aquifer-log-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    file_ = folder_ + "/sub/dir/test.log";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_, file_;
};

using LogDeathTest = Log;

TEST_F(LogDeathTest, LineOnStderr) {
  EXPECT_EXIT(
      {
        setLevel(Level::info);
        LOG_DEBUG("not shown");
        LOG_INFO("hello {}\n", 42);
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "^[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} juicefs\\[[0-9]+\\] <INFO>: hello 42 "
      "\\[TestBody@log_test.cc:[0-9]+\\]\n$");
}

TEST_F(LogDeathTest, IdInFront) {
  EXPECT_EXIT(
      {
        setId("job7");
        LOG_WARN("x");
        _exit(0);
      },
      testing::ExitedWithCode(0), "^\\[job7\\] [0-9/]+ [0-9:.]+ juicefs\\[[0-9]+\\] <WARNING>: x ");
}

TEST_F(LogDeathTest, FatalExitsWith1) {
  EXPECT_EXIT(LOG_FATAL("no {} left", "hope"), testing::ExitedWithCode(1),
              "<FATAL>: no hope left \\[TestBody@log_test.cc:[0-9]+\\]\n$");
}

TEST_F(LogDeathTest, HooksStandAroundALine) {
  EXPECT_EXIT(
      {
        setHook([] { (void)!::write(2, "before ", 7); }, [] { (void)!::write(2, "after", 5); });
        LOG_ERROR("x");
        _exit(0);
      },
      testing::ExitedWithCode(0), "^before .*<ERROR>: x .*\nafter$");
}

TEST_F(LogDeathTest, FileInsteadOfStderr) {
  EXPECT_EXIT(
      {
        if (!toFile(file_)) _exit(9);
        setLevel(Level::trace);
        LOG_TRACE("to the file");
        LOG_ERROR("{{\n  \"json\": 1\n}}");
        _exit(0);
      },
      testing::ExitedWithCode(0), "^$");
  const std::string text = readFile(file_);
  EXPECT_TRUE(std::regex_search(text, std::regex("<TRACE>: to the file \\[TestBody@log_test.cc:\\d+\\]\n"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("<ERROR>: \\{\n  \"json\": 1\n\\} \\[TestBody@log_test.cc:\\d+\\]\n$"))) << text;
  struct stat st {};
  ASSERT_EQ(stat(file_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777 & ~0644u, 0u);
}

TEST_F(LogDeathTest, FileThatCannotBe) {
  std::ofstream(folder_ + "/plain") << "x";
  EXPECT_FALSE(toFile(folder_ + "/plain/test.log"));
}

TEST_F(LogDeathTest, LinesOfThreadsDoNotMix) {
  EXPECT_EXIT(
      {
        if (!toFile(file_)) _exit(9);
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; t++) {
          threads.emplace_back([] {
            for (int i = 0; i < 200; i++) LOG_INFO("{}", std::string(300, 'x'));
          });
        }
        for (auto& t : threads) t.join();
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
  std::ifstream in(file_);
  const std::regex whole("^[^x]* <INFO>: x{300} \\[operator\\(\\)@log_test.cc:\\d+\\]$");
  int lines = 0;
  for (std::string line; std::getline(in, line); lines++) ASSERT_TRUE(std::regex_match(line, whole)) << line;
  EXPECT_EQ(lines, 800);
}

// What a person sees on a terminal, and with --no-color.
std::string lineOnTerminal(bool colour) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return {};
  const int end = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const pid_t child = fork();
  if (child == 0) {
    dup2(end, STDERR_FILENO);
    setColor(colour);
    LOG_WARN("x");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  char text[500];
  const ssize_t n = read(terminal, text, sizeof text);
  close(end);
  close(terminal);
  return {text, static_cast<size_t>(std::max<ssize_t>(n, 0))};
}

TEST(LogTerminal, Colour) {
  EXPECT_NE(lineOnTerminal(true).find(" <\033[1;33mWARNING\033[0m>: x ["), std::string::npos);
  EXPECT_NE(lineOnTerminal(false).find(" <WARNING>: x ["), std::string::npos);
}

}  // namespace
}  // namespace aquifer::log
