// Dumps of a volume with one of everything, loaded into other stores and dumped again; files that are cut off or damaged.
#include "meta/dump/dump.h"

#include "meta/dump/escape.h"
#include "meta/dump/protobuf.h"
#include "meta/ops/testing.h"

namespace aquifer::meta {

class DumpTest : public MetaTest {
 protected:
  void tweak(Format& f) override {
    f.trashDays = 1;
    f.enableAcl = true;
    f.userGroupQuota = true;
    f.secretKey = "very secret";
    f.accessKey = "ak";
  }

  void fill() {
    auto d = mkdir(1, "d");
    auto e = mkdir(d, "e");
    auto f = mk(d, "f");
    put(f, 0, 5000);
    put(f, kChunkSize + 10, 77);
    AQ_ASSERT_OK(meta_->link(root, f, e, std::string("\xFF\x01%name")));
    AQ_ASSERT_OK(meta_->setxattr(root, f, "user.k", std::string("v\0\xFE", 3), 0));
    mk(d, "s", FileType::symlink);
    mk(e, "p", FileType::fifo);
    AclRule rule;
    rule.owner = 6, rule.group = 4, rule.mask = 5, rule.other = 1;
    rule.users = {{7, 5}};
    AQ_ASSERT_OK(meta_->setAcl(root, f, AclType::access, rule));
    AQ_ASSERT_OK(meta_->setAcl(root, e, AclType::dflt, rule));
    AQ_ASSERT_OK(meta_->setQuota({Kind::dirQuota, d}, 1 << 30, 100, false));
    auto gone = mk(d, "gone");
    put(gone, 0, 100);
    AQ_ASSERT_OK(meta_->unlink(root, d, "gone"));
    // Two files that share a slice.
    auto copy = mk(e, "copy");
    uint64_t length = 0;
    AQ_ASSERT_OK(meta_->copyFileRange(root, f, 0, copy, 0, 5000, &length));
  }

  static std::string dump(Meta& meta, bool binary, DumpOptions options = {.keepSecrets = true}) {
    std::string out;
    auto sink = [&](std::string_view bytes) {
      out += bytes;
      return Status();
    };
    AQ_EXPECT_OK(binary ? dumpBinary(meta, options, sink, {}) : dumpJson(meta, options, sink, {}));
    return out;
  }
  static Result<LoadReport> load(Meta& meta, const std::string& text, bool binary) {
    size_t at = 0;
    auto source = [&](char* buffer, size_t size) -> Result<size_t> {
      const size_t n = std::min({size, text.size() - at, size_t{1000}});
      std::copy_n(text.data() + at, n, buffer);
      at += n;
      return n;
    };
    return binary ? loadBinary(meta, source, {}) : loadJson(meta, source, {});
  }
  // An empty database of the other kind.
  std::unique_ptr<Meta> empty(const std::string& name) {
    other_ = name;
    auto store = openStore("mem://" + name, {.create = true});
    EXPECT_TRUE(store.isOk()) << textOf(store);
    return makeMeta(*std::move(store), quiet());
  }
  void TearDown() override {
    if (!other_.empty()) forgetMemStore(other_);
    MetaTest::TearDown();
  }
  std::string other_;
};
INSTANTIATE_TEST_SUITE_P(Stores, DumpTest, ::testing::Values(Backend::mem, Backend::sqlite, Backend::redis), backendName);

TEST_P(DumpTest, AnotherStoreHoldsTheSameAfterwards) {
  fill();
  for (bool binary : {false, true}) {
    SCOPED_TRACE(binary ? "binary" : "JSON");
    const std::string first = dump(*meta_, binary), json = dump(*meta_, false);
    auto copy = empty("dump-copy" + std::to_string(binary));
    auto report = load(*copy, first, binary);
    AQ_ASSERT_OK(report);
    EXPECT_FALSE(report->secretRemoved);
    auto format = copy->load(true);
    AQ_ASSERT_OK(format);
    EXPECT_EQ(format->secretKey, "very secret");
    EXPECT_EQ(dump(*copy, false), json);
    // Everything that the checks of a volume count agrees.
    auto checked = copy->fsck({.recursive = true, .syncDirStat = false}, {});
    AQ_ASSERT_OK(checked);
    EXPECT_EQ(checked->broken, 0u) << (checked->problems.empty() ? "" : checked->problems[0]);
    std::string message;
    auto quota = copy->checkQuota({Kind::dirQuota, inoOf(1, "d")}, false, false, &message);
    AQ_ASSERT_OK(quota);
    EXPECT_TRUE(*quota) << message;
    int64_t shared = 0;
    AQ_ASSERT_OK(copy->store().run(
        [&](MetaTxn& tx) {
          return tx.list({.kind = Kind::sliceRef}, [&](const Key&, const Value& v) { return shared = std::max(shared, std::get<int64_t>(v)), true; });
        },
        {.readOnly = true}));
    EXPECT_EQ(shared, 2);
    forgetMemStore(other_);
  }
}

TEST_P(DumpTest, SecretsAreRemovedUnlessTheyAreAskedFor) {
  for (bool binary : {false, true}) {
    const std::string text = dump(*meta_, binary, {});
    EXPECT_EQ(text.find("very secret"), std::string::npos);
    EXPECT_NE(text.find("removed"), std::string::npos);
    auto copy = empty("dump-secret" + std::to_string(binary));
    auto report = load(*copy, text, binary);
    AQ_ASSERT_OK(report);
    EXPECT_TRUE(report->secretRemoved);
    EXPECT_EQ(copy->load(true).code(), Code::config);
    forgetMemStore(other_);
  }
}

TEST_P(DumpTest, ASubdirectoryBecomesTheRoot) {
  fill();
  auto copy = empty("dump-subdir");
  AQ_ASSERT_OK(load(*copy, dump(*meta_, false, {.root = inoOf(1, "d"), .keepSecrets = true}), false));
  AQ_ASSERT_OK(copy->load(true));
  auto f = copy->resolve(root, "/f");
  AQ_ASSERT_OK(f);
  EXPECT_EQ(f->attr.nlink, 2u);
  EXPECT_EQ(copy->lookup(root, 1, "d").code(), Code::notFound);
}

TEST_P(DumpTest, AFullDatabaseIsRefused) {
  const std::string text = dump(*meta_, false);
  auto s = load(*meta_, text, false);
  EXPECT_EQ(s.code(), Code::exists);
  EXPECT_NE(textOf(s).find("test"), std::string::npos);
}

TEST_P(DumpTest, IdsAreNeverHandedOutAgain) {
  fill();
  const auto before = raw<int64_t>(key::counter(counter::kNextChunk));
  auto copy = empty("dump-ids");
  AQ_ASSERT_OK(load(*copy, dump(*meta_, false), false));
  AQ_ASSERT_OK(copy->load(true));
  auto id = copy->newSliceId();
  AQ_ASSERT_OK(id);
  EXPECT_GE(static_cast<int64_t>(*id), *before);
}

TEST_P(DumpTest, ACutOffOrDamagedFileIsRefused) {
  fill();
  for (bool binary : {false, true}) {
    const std::string text = dump(*meta_, binary);
    // (Without its last two bytes, a brace and a newline, JSON is cut off; the footer of a backup is not needed to load it.)
    const size_t end = binary ? text.find(std::string("\x00\x74\x70\x83", 4)) : text.size() - 2;
    for (size_t n = 0; n <= end; n += 1 + n / 20) {
      auto copy = empty("dump-cut");
      auto report = load(*copy, text.substr(0, n), binary);
      EXPECT_TRUE(report.is(Code::corrupt) || report.is(Code::config)) << n << ": " << textOf(report);
      EXPECT_EQ(copy->load(true).code(), Code::notFormatted) << n;   // no volume came of it
      copy.reset();
      forgetMemStore(other_);
    }
  }
}

TEST_P(DumpTest, WhatCannotBeIsNamed) {
  const std::string head = R"({"Setting":)" + formatToJson(format_) + R"(,"Counters":{},"FSTree":{"attr":{"inode":1,"type":"directory"},"entries":{)";
  const std::pair<const char*, const char*> cases[] = {
      {R"("a":{"attr":{"inode":0,"type":"regular"}}}}})", "inode 0"},
      {R"("a":{"attr":{"inode":1e44,"type":"regular"}}}}})", "inode 0"},
      {R"("a":{"attr":{"inode":1,"type":"directory"}}}}})", "reserved inode 1"},
      {R"("a":{"attr":{"inode":5,"type":"wheel"}}}}})", "wheel"},
      {R"("a%2Fb":{"attr":{"inode":5,"type":"regular"}}}}})", "impossible name"},
      {R"("..":{"attr":{"inode":5,"type":"regular"}}}}})", "impossible name"},
      {R"("a":{"attr":{"inode":5,"type":"regular"},"entries":{}}}}})", "not a directory"},
      {R"("a":{"attr":{"inode":5,"type":"regular","length":1},"chunks":[{"index":0,"slices":[{"id":1,"size":1,"len":70000000}]}]}}}})", "impossible slice"},
      {R"("a":{"attr":{"inode":5,"type":"symlink"}}}}})", "impossible target"},
      {R"("a":7}}})", "not an object"},
  };
  for (auto& [tail, word] : cases) {
    auto copy = empty("dump-bad");
    auto report = load(*copy, head + tail, false);
    EXPECT_EQ(report.code(), Code::corrupt) << tail;
    EXPECT_NE(textOf(report).find(word), std::string::npos) << textOf(report);
    copy.reset();
    forgetMemStore(other_);
  }
}

TEST_P(DumpTest, TheFooterTellsWhatIsInside) {
  fill();
  const std::string text = dump(*meta_, true);
  auto summary = parseBackupFooter(text, text.size());
  AQ_ASSERT_OK(summary);
  EXPECT_EQ(summary->version, 1u);
  EXPECT_EQ(summary->kinds.size(), 14u);
  EXPECT_EQ(summary->kinds["edge"].records, count(Kind::dentry));
  EXPECT_EQ(summary->kinds["format"].offsets, std::vector<uint64_t>{0});
  for (size_t n = 0; n < text.size(); n += 7) EXPECT_FALSE(parseBackupFooter(std::string_view(text).substr(0, n), n).isOk()) << n;
}

TEST(DumpEscape, IsUndone) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const std::string& s : {all, std::string("a\xEF\xBF\xBD" "b"), std::string("%41%"), std::string("ü€😀"), std::string("\xED\xA0\x80\xC0\x80")})
    EXPECT_EQ(unescapeDump(escapeDump(s)), s);
  EXPECT_EQ(escapeDump("a b\"\\%\x7F\xFFü"), "a%20b%22%5C%25\x7F%FFü");
  EXPECT_EQ(unescapeDump("%4"), "%4");
}

TEST(DumpProtobuf, DamageIsSeen) {
  const std::string text = PbWriter().number(1, 300).bytes(2, "abc").text();
  PbField f;
  PbReader good(text);
  ASSERT_TRUE(good.next(f));
  EXPECT_EQ(f.value, 300u);
  ASSERT_TRUE(good.next(f));
  EXPECT_EQ(f.bytes, "abc");
  EXPECT_FALSE(good.next(f));
  EXPECT_TRUE(good.ok());
  for (size_t n : {1u, 2u, 4u, 5u, 7u}) {
    PbReader cut(std::string_view(text).substr(0, n));
    while (cut.next(f)) {}
    EXPECT_EQ(cut.ok(), n == 3u) << n;
  }
}

}  // namespace aquifer::meta
