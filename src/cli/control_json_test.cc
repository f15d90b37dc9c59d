#include "cli/control_json.h"

#include <gtest/gtest.h>

namespace aquifer::cli {
namespace {

TEST(ControlJson, Info) {
  auto r = parseInfoReply(R"({"Ino":4,"Failed":false,"Reason":"","Summary":{"Length":9,"Size":4096,"Files":1,"Dirs":0},"Paths":["/d/a","/b"],
    "Chunks":null,"Objects":[{"ChunkIndex":0,"Key":"v/chunks/0/0/1_0_9","Size":9,"Off":0,"Len":9}],"PLocks":null,
    "FLocks":[{"Sid":1,"Owner":18446744073709551615,"Type":"W"}],"Tier":{"ID":0,"StorageClass":"","Tag":""},"RestoreStatus":""})");
  ASSERT_TRUE(r) << r.status().text();
  EXPECT_EQ(r->paths.size(), 2u);
  EXPECT_EQ(r->objects.at(0).key, "v/chunks/0/0/1_0_9");
  EXPECT_EQ(r->flocks.at(0).owner, UINT64_MAX);
  EXPECT_TRUE(r->hasTier);
  EXPECT_TRUE(r->chunks.empty());
}

TEST(ControlJson, DamageIsAnError) {
  for (auto bad : {"", "{", "[]]", "{\"Ino\":\"x\"}", "{\"Paths\":3}", "{\"Summary\":{\"Length\":\"9\"}}"}) EXPECT_FALSE(parseInfoReply(bad)) << bad;
  EXPECT_FALSE(parseCacheReply("{\"Locations\":[1]}"));
  EXPECT_FALSE(parseSummaryReply("{\"Tree\":{\"Children\":[{\"Size\":\"a\"}]}}"));
}

TEST(ControlJson, Summary) {
  auto r = parseSummaryReply(R"({"Errno":0,"Tree":{"Inode":1,"Path":"","Type":2,"Size":5,"Files":1,"Dirs":1,"Children":[{"Path":"a","Type":1,"Size":4}]}})");
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->tree.directory);
  ASSERT_EQ(r->tree.children.size(), 1u);
  EXPECT_EQ(r->tree.children[0].path, "a");
  EXPECT_FALSE(r->tree.children[0].directory);
}

}  // namespace
}  // namespace aquifer::cli
