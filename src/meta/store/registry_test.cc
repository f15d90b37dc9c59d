#include "meta/store/registry.h"

#include <gtest/gtest.h>

namespace aquifer::meta {
namespace {

TEST(Registry, UnknownSchemesAreNamed) {
  auto s = openStore("foo://bar", {}).status();
  EXPECT_EQ(Code::config, s.code());
  EXPECT_EQ("Invalid meta driver: foo", s.text());
  EXPECT_EQ("redis: the port is not a number from 1 to 65535", openStore("localhost:0", {}).status().text()) << "no scheme means Redis";
}

TEST(Registry, MemoryStoresAreSharedByName) {
  auto a = openStore("mem://registry", {}), b = openStore("mem://registry", {}), c = openStore("mem://other", {});
  ASSERT_TRUE(a.isOk() && b.isOk() && c.isOk());
  ASSERT_TRUE((*a)->run(
                      [](MetaTxn& t) -> Status {
                        t.put(key::counter("x"), int64_t{1});
                        return {};
                      },
                      {})
                  .isOk());
  EXPECT_FALSE(*(*b)->isEmpty());
  EXPECT_TRUE(*(*c)->isEmpty());
}

TEST(Registry, MaskUrlHidesPasswords) {
  EXPECT_EQ("redis://user:****@host:6379/1", maskUrl("redis://user:secret@host:6379/1"));
  EXPECT_EQ("redis://:****@host/1", maskUrl("redis://:p@ss:w@rd@host/1"));
  EXPECT_EQ("mysql://u:****@(db:3306)/x", maskUrl("mysql://u:pw@(db:3306)/x"));
  EXPECT_EQ("redis://host:6379/1", maskUrl("redis://host:6379/1"));
  EXPECT_EQ("sqlite3:///a/b.db", maskUrl("sqlite3:///a/b.db"));
  EXPECT_EQ("user:****@host", maskUrl("user:pw@host"));
}

}  // namespace
}  // namespace aquifer::meta
