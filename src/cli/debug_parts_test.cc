#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text_file.h"
#include "cli/debug_source.h"
#include "cli/virtual_file.h"

namespace aquifer::cli {

TEST(DebugParts, SecretsAreNotCollected) {
  auto facts = parseMountConfig(
      R"({"Format":{"Name":"v","SecretKey":"topsecret","SessionToken":"","EncryptKey":"PEM"},"Meta":{"Addr":"redis://u:hidden@h/1"},"Port":{"DebugAgent":"127.0.0.1:6061"},"Pid":42})");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->pid, 42);
  EXPECT_EQ(facts->debugAddress, "127.0.0.1:6061");
  for (const char* secret : {"topsecret", "PEM", "hidden"}) EXPECT_EQ(facts->config.find(secret), std::string::npos) << facts->config;
  EXPECT_NE(facts->config.find("\"SecretKey\": \"removed\""), std::string::npos);
  EXPECT_FALSE(parseMountConfig("nonsense"));
  EXPECT_FALSE(parseMountConfig(R"({"Pid":"x"})"));
}

TEST(DebugParts, LogOfABackgroundMount) {
  EXPECT_EQ(logFileOf({"juicefs", "mount", "redis://h", "/mnt"}), "");
  EXPECT_EQ(logFileOf({"juicefs", "mount", "-d", "--log", "/x/y.log", "redis://h", "/mnt"}), "/x/y.log");
  EXPECT_EQ(logFileOf({"juicefs", "mount", "--background=true", "--log=/z.log"}), "/z.log");
  EXPECT_NE(logFileOf({"juicefs", "mount", "-d"}), "");
}

TEST(DebugParts, LastLines) {
  char path[] = "/tmp/aquifer-tail-XXXXXX";
  ::close(mkstemp(path));
  std::ofstream(path) << "one\ntwo\nthree\n";
  EXPECT_EQ(*tailOf(path, 2), "two\nthree\n");
  EXPECT_EQ(*tailOf(path, 5), "one\ntwo\nthree\n");
  std::ofstream(path) << "one\ntwo";
  EXPECT_EQ(*tailOf(path, 1), "two");
  std::ofstream(path) << "";
  EXPECT_EQ(*tailOf(path, 1), "");
  ::unlink(path);
  EXPECT_FALSE(tailOf(path, 1));
}

// A mount whose internal names have the long prefix may hold a user's file of the short name.
TEST(TextFile, TheLongNameIsTheMountsOwn) {
  char dir[] = "/tmp/aquifer-text-XXXXXX";
  ASSERT_TRUE(mkdtemp(dir));
  const std::string root = dir;
  EXPECT_EQ(virtualFile(root, "config"), "");
  std::ofstream(root + "/.config") << "user";
  EXPECT_EQ(virtualFile(root, "config"), root + "/.config");
  std::ofstream(root + "/.jfs.config") << "mount";
  EXPECT_EQ(fileText(virtualFile(root, "config")), "mount");
  EXPECT_EQ(*readText(root + "/.config", 2), "us");
  EXPECT_EQ(fileText(root + "/absent"), "");
  EXPECT_EQ(readText(root + "/absent").code(), Code::notFound);
  std::filesystem::remove_all(root);
}

}  // namespace aquifer::cli
