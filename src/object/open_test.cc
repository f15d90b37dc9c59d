// What openObjectStore puts together: driver names, shards, prefix, metrics, limits.
#include <gtest/gtest.h>

#include "base/metrics.h"
#include "object/object_store.h"
#include "object/shard_pattern.h"
#include "object/test_keys.h"

namespace aquifer::object {
namespace {

Bytes bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Open, UnknownDriverNamesTheKnownOnes) {
  const auto opened = openObjectStore({.storage = "floppy"});
  ASSERT_TRUE(opened.is(Code::config));
  for (const auto& name : driverNames()) EXPECT_NE(opened.status().text().find(name), std::string::npos) << name;
}

TEST(Open, Describe) {
  EXPECT_EQ((*openObjectStore({.bucket = "/x/objects/", .volumeName = "vol"}))->describe(), "file:///x/objects/vol/");
  EXPECT_EQ((*openObjectStore({.bucket = "/x/s%d/", .shards = 3, .volumeName = "vol"}))->describe(),
            "shard3://file:///x/s0/vol/");
  EXPECT_EQ((*openObjectStore({.bucket = "/x/o/", .volumeName = "vol", .encryptKeyPem = test::kRsaPem}))->describe(),
            "file:///x/o/vol/(encrypted)");
}

TEST(Open, BadSettings) {
  EXPECT_TRUE(openObjectStore({.bucket = ""}).is(Code::config));
  EXPECT_TRUE(openObjectStore({.bucket = "/x/no-number/", .shards = 3}).is(Code::config));
  EXPECT_TRUE(openObjectStore({.bucket = "/x/%d/", .shards = 257}).is(Code::config));
  EXPECT_TRUE(openObjectStore({.bucket = "/x/", .encryptKeyPem = "no key"}).is(Code::config));
}

TEST(Open, ShardBuckets) {
  EXPECT_EQ(*shardBucket("/data/s%d/", 0), "/data/s0/");
  EXPECT_EQ(*shardBucket("/data/s%d/", 12), "/data/s12/");
  EXPECT_EQ(*shardBucket("s%03d", 7), "s007");
  EXPECT_EQ(*shardBucket("s%3d", 7), "s  7");
  EXPECT_EQ(*shardBucket("100%%-%d", 7), "100%-7");
  for (const char* bad : {"", "plain", "%", "x%", "%s", "%d%d", "%%d", "%99999999999999999999d", "%12"})
    EXPECT_FALSE(shardBucket(bad, 1)) << bad;
}

// Where JuiceFS 1.4.2 put these keys in a volume `shv` with three shards.
TEST(Open, ShardOfAKeyIsThatOfJuiceFs) {
  auto store = *openObjectStore({.storage = "mem", .bucket = "open-test-%d", .shards = 3, .volumeName = "shv"});
  ASSERT_TRUE(store->put("juicefs_uuid", bytesOf("u")));
  for (int i = 0; i < 3; i++) {
    auto shard = *openDriver({.storage = "mem", .bucket = "open-test-" + std::to_string(i)});
    EXPECT_EQ(shard->head("shv/juicefs_uuid").code(), i == 2 ? Code::ok : Code::notFound) << i;
  }
}

TEST(Open, Metrics) {
  auto& puts = metrics::histogram("object_request_durations_histogram_seconds", "", {},
                                  {{"method", "PUT"}, {"storage_class", "STANDARD"}});
  auto& deletes =
      metrics::histogram("object_request_durations_histogram_seconds", "", {}, {{"method", "DELETE"}, {"storage_class", ""}});
  auto store = *openObjectStore({.storage = "mem", .bucket = "open-test-metrics"});
  auto& putBytes = metrics::counter("object_request_data_bytes", "", {{"method", "PUT"}, {"storage_class", "STANDARD"}});
  auto& getBytes = metrics::counter("object_request_data_bytes", "", {{"method", "GET"}, {"storage_class", "STANDARD"}});
  auto& errors = metrics::counter("object_request_errors", "");
  const uint64_t putsBefore = puts.count(), deletesBefore = deletes.count();
  const double putBytesBefore = putBytes.value(), getBytesBefore = getBytes.value(), errorsBefore = errors.value();
  ASSERT_TRUE(store->put("a", bytesOf("12345")));
  std::string out(10, '\0');
  ASSERT_TRUE(store->get("a", 2, std::as_writable_bytes(std::span(out))));
  ASSERT_FALSE(store->get("b", 0, std::as_writable_bytes(std::span(out))));
  ASSERT_TRUE(store->remove("a"));
  EXPECT_EQ(puts.count() - putsBefore, 1u);
  EXPECT_EQ(deletes.count() - deletesBefore, 1u);
  EXPECT_EQ(putBytes.value() - putBytesBefore, 5);
  EXPECT_EQ(getBytes.value() - getBytesBefore, 3);
  EXPECT_EQ(errors.value() - errorsBefore, 1);
}

}  // namespace
}  // namespace aquifer::object
