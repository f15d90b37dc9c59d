// The virtual files through the Vfs: the control protocol, and the log of operations.
#include <nlohmann/json.hpp>
#include <thread>

#include "base/bytes.h"
#include "base/clock.h"
#include "vfs/special.h"
#include "vfs/test_support.h"

namespace aquifer::vfs {
namespace {

using nlohmann::json;
using testing::Fs;
using testing::Volume;

// A request body built field by field.
struct Body {
  std::string bytes;
  Body& u8(uint8_t v) { return bytes.push_back(static_cast<char>(v)), *this; }
  Body& u16(uint16_t v) { return appendBig(bytes, v), *this; }
  Body& u32(uint32_t v) { return appendBig(bytes, v), *this; }
  Body& u64(uint64_t v) { return appendBig(bytes, v), *this; }
  Body& text(std::string_view s) { return bytes += s, *this; }
};

struct Reply {
  int code = -1;                    // final errno, -1: none
  std::string data;                 // final data
  std::vector<std::pair<uint64_t, uint64_t>> progress;
  json parsed() const { return json::parse(data); }
};

struct ControlTest : ::testing::Test {
  Volume volume_;
  std::unique_ptr<testing::Client> client_ = volume_.mount();
  Fs fs_{*client_->vfs};

  Fs::File openControl() { return fs_.open(kControlIno, O_RDWR); }
  static std::string request(uint32_t command, const std::string& body) {
    std::string r;
    appendBig(r, command);
    appendBig(r, static_cast<uint32_t>(body.size()));
    return r + body;
  }
  // As tools read: sequentially from behind the request, 0 bytes meaning "not yet".
  Reply readReply(const Fs::File& f, uint64_t off) {
    Reply reply;
    for (int rounds = 0; rounds < 100; rounds++) {
      std::string chunk = fs_.read(f, off, 128 << 10);
      off += chunk.size();
      std::string_view left = chunk;
      while (!left.empty()) {
        uint8_t tag = left[0];
        if (left.size() == 1) {
          reply.code = tag;
          return reply;
        }
        if (tag == 0xFE && left.size() >= 17) {
          reply.progress.emplace_back(loadBig<uint64_t>(left.data() + 1), loadBig<uint64_t>(left.data() + 9));
          left.remove_prefix(17);
        } else if (tag == 0xFF && left.size() >= 5) {
          size_t n = loadBig<uint32_t>(left.data() + 1);
          reply.data = left.substr(5);
          while (reply.data.size() < n) {
            std::string more = fs_.read(f, off, 128 << 10);
            if (more.empty()) break;
            off += more.size();
            reply.data += more;
          }
          EXPECT_EQ(reply.data.size(), n);
          return reply;
        } else {
          ADD_FAILURE() << "bad reply";
          return reply;
        }
      }
    }
    ADD_FAILURE() << "no reply";
    return reply;
  }
  Reply call(uint32_t command, const Body& body) {
    auto f = openControl();
    auto r = request(command, body.bytes);
    EXPECT_TRUE(fs_.write(f, 0, r).isOk());
    auto reply = readReply(f, r.size());
    fs_.close(f);
    return reply;
  }
};

TEST_F(ControlTest, EchoComesFirstAndPiecesAreJoined) {
  auto f = openControl();
  auto r = request(1009, "abc");
  ASSERT_TRUE(fs_.write(f, 0, r.substr(0, 3)).isOk());
  ASSERT_TRUE(fs_.write(f, 3, r.substr(3, 6)).isOk());
  EXPECT_EQ(fs_.read(f, 9, 10), "");
  ASSERT_TRUE(fs_.write(f, 9, r.substr(9)).isOk());
  EXPECT_EQ(fs_.read(f, 0, 100), r + "\x16");   // unknown command
  // A second request goes on in the same stream.
  ASSERT_TRUE(fs_.write(f, r.size() + 1, r).isOk());
  EXPECT_EQ(fs_.read(f, r.size() + 1, 100), r + "\x16");
  ASSERT_TRUE(fs_.write(f, 0, r + "excess").isOk());
  EXPECT_EQ(fs_.read(f, 2 * (r.size() + 1), 100), r + "excess\x05");
  fs_.close(f);
}

TEST_F(ControlTest, RemoveTree) {
  Ino d = fs_.mkdir(1, "d");
  fs_.mkdir(d, "e");
  fs_.put(d, "f", "x");
  auto r = call(1002, Body().u64(1).u8(1).text("d").u8(1).u8(4));
  EXPECT_EQ(r.code, 0);
  ASSERT_FALSE(r.progress.empty());
  EXPECT_EQ(r.progress.back(), (std::pair<uint64_t, uint64_t>(3, 0)));
  EXPECT_EQ(fs_.find(1, "d"), 0u);
  EXPECT_EQ(call(1002, Body().u64(1).u8(1).text("d")).code, ENOENT);
  EXPECT_EQ(call(1002, Body().u64(1).u8(2).text("..")).code, EINVAL);
  EXPECT_EQ(call(1002, Body().u64(1)).code, EINVAL);   // cut off
}

TEST_F(ControlTest, InfoOfAFile) {
  fs_.put(1, "a", std::string(9 << 20, 'x'));
  Ino a = fs_.find(1, "a");
  auto r = call(1005, Body().u64(a).u8(1));
  auto j = r.parsed();
  ASSERT_FALSE(r.progress.empty());
  EXPECT_EQ(r.progress.back(), (std::pair<uint64_t, uint64_t>(1, 9 << 20)));
  EXPECT_EQ(j["Ino"], a);
  EXPECT_EQ(j["Failed"], false);
  EXPECT_EQ(j["Summary"], (json{{"Length", 9437184}, {"Size", 9437184}, {"Files", 1}, {"Dirs", 0}}));
  EXPECT_EQ(j["Paths"], json::array({"/a"}));
  EXPECT_TRUE(j["Chunks"].is_null());
  ASSERT_EQ(j["Objects"].size(), 3u);
  std::string key = j["Objects"][2]["Key"];
  EXPECT_EQ(key.substr(0, 11), "vol/chunks/");
  EXPECT_EQ(key.substr(key.size() - 10), "_2_1048576");
  EXPECT_EQ(j["Objects"][2]["Size"], 1048576);
  EXPECT_EQ(j["Objects"][2]["Len"], 1048576);
  EXPECT_EQ(j["PLocks"], json::array());
  EXPECT_EQ(j["FLocks"], json::array());
  EXPECT_EQ(j["Tier"], (json{{"ID", 0}, {"StorageClass", "actual()"}, {"Tag", ""}}));
  EXPECT_EQ(j["RestoreStatus"], "");
  // Keys come in the order tools print them.
  size_t at = 0;
  for (std::string k : {"Ino", "Failed", "Reason", "Summary", "Paths", "Chunks", "Objects", "PLocks", "FLocks", "Tier", "RestoreStatus"}) {
    size_t next = r.data.find("\"" + k + "\"");
    EXPECT_GE(next, at) << k;
    at = next;
  }

  auto raw = call(1005, Body().u64(a).u8(1).u8(1).u8(0)).parsed();
  ASSERT_EQ(raw["Chunks"].size(), 1u);
  EXPECT_EQ(raw["Chunks"][0]["Size"], 9437184);
  EXPECT_TRUE(raw["Objects"].is_null());
  EXPECT_EQ(raw["Tier"]["StorageClass"], "");

  auto bad = call(1005, Body().u64(99999).u8(1)).parsed();
  EXPECT_EQ(bad["Failed"], true);
  EXPECT_EQ(bad["Reason"], "no such file or directory");
  EXPECT_TRUE(bad["Paths"].is_null());
}

TEST_F(ControlTest, InfoShowsHolesAndUnflushedBytes) {
  auto f = fs_.create(1, "s");
  ASSERT_EQ(fs_.truncate(f.ino, 70 << 20), Code::ok);
  ASSERT_TRUE(fs_.write(f, 5 << 20, "0123456789").isOk());
  auto j = call(1005, Body().u64(f.ino).u8(1)).parsed();
  ASSERT_GE(j["Objects"].size(), 3u) << j.dump();
  EXPECT_EQ(j["Objects"][0]["Key"], "");
  EXPECT_EQ(j["Objects"][1]["Size"], 10);
  EXPECT_EQ(j["Objects"][2]["Key"], "");
  fs_.close(f);
}

TEST_F(ControlTest, LegacyInfoIsText) {
  fs_.put(1, "a", std::string(9 << 20, 'x'));
  auto f = openControl();
  auto r = request(1003, Body().u64(fs_.find(1, "a")).u8(1).u8(1).bytes);
  ASSERT_TRUE(fs_.write(f, 0, r).isOk());
  std::string text;
  for (int i = 0; i < 100 && text.empty(); i++) text = fs_.read(f, r.size(), 4096);
  ASSERT_GT(text.size(), 4u);
  EXPECT_EQ(loadBig<uint32_t>(text.data()), text.size() - 4);
  text = text.substr(4);
  EXPECT_EQ(text.substr(text.find("  files")),
            "  files: 1\n   dirs: 0\n length: 9.00 MiB (9437184 Bytes)\n   size: 9.00 MiB (9437184 Bytes)\n   path: /a\n chunks:\n" +
                text.substr(text.find("\t0:")));
  fs_.close(f);
}

TEST_F(ControlTest, Summary) {
  Ino d = fs_.mkdir(1, "d");
  fs_.mkdir(d, "e");
  fs_.put(d, "f", "hi");
  fs_.put(1, "big", std::string(100000, 'x'));
  auto j = call(1007, Body().u64(1).u8(3).u8(10).u8(0)).parsed();
  EXPECT_EQ(j["Errno"], 0);
  auto tree = j["Tree"];
  EXPECT_EQ(tree["Path"], "");
  EXPECT_EQ(tree["Type"], 2);
  EXPECT_EQ(tree["Files"], 2);
  EXPECT_EQ(tree["Dirs"], 3);
  ASSERT_EQ(tree["Children"].size(), 2u);
  EXPECT_EQ(tree["Children"][0]["Path"], "big");
  EXPECT_FALSE(tree["Children"][0].contains("Children"));
  EXPECT_EQ(tree["Children"][1]["Path"], "d");
  EXPECT_EQ(tree["Children"][1]["Children"][0]["Path"].get<std::string>().substr(0, 2), "d/");
  auto file = call(1007, Body().u64(fs_.find(1, "big"))).parsed();
  EXPECT_EQ(file["Tree"]["Type"], 2);
  EXPECT_EQ(file["Tree"]["Files"], 1);
  EXPECT_EQ(call(1007, Body().u64(99999)).parsed()["Errno"], ENOENT);
}

TEST_F(ControlTest, CloneATree) {
  Ino d = fs_.mkdir(1, "d");
  fs_.put(d, "f", "content");
  auto r = call(1006, Body().u64(d).u64(1).u64(1).u8(2).text("dc").u16(022).u8(0));
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(fs_.get(fs_.find(fs_.find(1, "dc"), "f")), "content");
  EXPECT_EQ(call(1006, Body().u64(d).u64(1).u64(1).u8(2).text("dc").u16(022).u8(0).u8(8)).code, EEXIST);
}

TEST_F(ControlTest, CompactATree) {
  Ino d = fs_.mkdir(1, "d");
  auto f = fs_.create(d, "f");
  std::string want;
  for (int i = 0; i < 4; i++) {   // few enough that nothing is compacted by itself
    ASSERT_TRUE(fs_.write(f, want.size(), "abc").isOk());
    ASSERT_TRUE(fs_.vfs.fsync(fs_.ctx, f.ino, f.fh, false).isOk());
    want += "abc";
  }
  ASSERT_EQ(client_->meta->readChunk(f.ino, 0)->size(), 4u);
  auto r = call(1008, Body().u64(1).u16(4));
  EXPECT_EQ(r.code, 0);
  ASSERT_FALSE(r.progress.empty());
  EXPECT_EQ(r.progress.back(), (std::pair<uint64_t, uint64_t>(1, 1)));
  EXPECT_EQ(client_->meta->readChunk(f.ino, 0)->size(), 1u);
  EXPECT_EQ(fs_.read(f, 0, 100), want);
  EXPECT_EQ(call(1008, Body().u64(88888).u16(4)).code, ENOENT);
  fs_.close(f);
}

TEST_F(ControlTest, WarmCheckEvict) {
  Ino d = fs_.mkdir(1, "d");
  fs_.put(1, "a", std::string(5 << 20, 'x'));
  fs_.put(d, "f", "hi");
  ASSERT_TRUE(fs_.vfs.symlink(fs_.ctx, 1, "link", "d/f", 0).isOk());
  auto cache = [&](const std::string& paths, int action, bool background = false) {
    return call(1004, Body().u32(paths.size()).text(paths).u16(4).u8(background).u8(action)).parsed();
  };
  auto warm = cache("/a\n/d", 0);
  EXPECT_EQ(warm["FileCount"], 2);
  EXPECT_EQ(warm["SliceCount"], 2);
  EXPECT_EQ(warm["TotalBytes"], (5 << 20) + 2);
  EXPECT_EQ(warm["MissBytes"], 0);
  EXPECT_EQ(warm["Locations"], json::object());
  auto check = cache("/a\n/d", 2);
  EXPECT_EQ(check["MissBytes"], 0) << check.dump();
  EXPECT_EQ(check["Locations"]["memory"], (5 << 20) + 2);
  EXPECT_EQ(cache("inode:" + std::to_string(fs_.find(1, "a")), 1)["FileCount"], 1);
  EXPECT_EQ(cache("/a", 2)["MissBytes"], 5 << 20);
  EXPECT_EQ(cache("/link", 2)["FileCount"], 1);
  EXPECT_EQ(cache("/nope", 0)["FileCount"], 0);
  EXPECT_EQ(cache("/a", 0, true)["FileCount"], 0);   // in the background: the answer comes at once …
  auto cached = [&] { return cache("/a", 2)["MissBytes"] == 0; };
  for (int i = 0; i < 500 && !cached(); i++) sleepMs(10);
  EXPECT_TRUE(cached());                             // … and the job goes on after close
  EXPECT_EQ(call(1004, Body().u32(2).text("/a").u16(4).u8(0).u8(9)).code, EINVAL);
}

TEST_F(ControlTest, CloseCancels) {
  // A command that has to wait for bytes that never come: half a request, then close.
  auto f = openControl();
  ASSERT_TRUE(fs_.write(f, 0, request(1005, "12345678").substr(0, 10)).isOk());
  fs_.close(f);
  // And a running one: thousands of entries, closed at once. The tree is not gone afterwards, or all of it is.
  Ino d = fs_.mkdir(1, "d");
  for (int i = 0; i < 3000; i++)
    ASSERT_TRUE(fs_.vfs.mknod(fs_.ctx, d, "f" + std::to_string(i), S_IFREG | 0644, 0, 0, 0).isOk());
  f = openControl();
  ASSERT_TRUE(fs_.write(f, 0, request(1002, Body().u64(1).u8(1).text("d").u8(1).u8(1).bytes)).isOk());
  fs_.close(f);
  client_->vfs.reset();   // waits for the command; would hang if it did not end
  client_->vfs = makeVfs(*client_->meta, *client_->blocks, Volume::plain());
}

TEST_F(ControlTest, CommandsCheckTheCallersPermissions) {
  Ino d = fs_.mkdir(1, "d");
  fs_.put(d, "f", "x");
  Context user;
  user.uid = user.gid = 1234;
  user.groups = {1234};
  auto o = fs_.vfs.open(user, kControlIno, O_RDWR);
  ASSERT_TRUE(o.isOk());
  auto r = request(1002, Body().u64(1).u8(1).text("d").u8(0).u8(4).bytes);
  ASSERT_TRUE(fs_.vfs.write(user, kControlIno, o->fh, 0, testing::bytesOf(r), O_RDWR).isOk());
  EXPECT_EQ(readReply({kControlIno, o->fh, O_RDWR}, r.size()).code, EACCES);
  auto skip = request(1002, Body().u64(1).u8(1).text("d").u8(1).u8(4).bytes);
  uint64_t off = r.size() + 1;
  ASSERT_TRUE(fs_.vfs.write(user, kControlIno, o->fh, off, testing::bytesOf(skip), O_RDWR).isOk());
  EXPECT_NE(fs_.find(d, "f"), 0u);
  ASSERT_TRUE(fs_.vfs.release(user, kControlIno, o->fh, O_RDWR, 0, false).isOk());
}

TEST_F(ControlTest, StatsAndConfigAreSnapshots) {
  auto config = Volume::plain();
  int made = 0;
  config.configJson = [&] { return "config " + std::to_string(++made); };
  config.statsText = [] { return std::string("stats"); };
  auto client = volume_.mount(config);
  Fs fs(*client->vfs);
  auto f = fs.open(kConfigIno, O_RDONLY);
  EXPECT_EQ(f.fh % 2, 1u);
  EXPECT_EQ(fs.read(f, 0, 100), "config 1");
  EXPECT_EQ(fs.read(f, 7, 100), "1");
  EXPECT_EQ(fs.read(f, 100, 100), "");
  EXPECT_EQ(fs.attr(kConfigIno).attr.length, 8u);
  auto s = fs.open(kStatsIno, O_RDONLY);
  EXPECT_EQ(fs.read(s, 0, 100), "stats");
  fs.close(s);
  fs.close(f);
  EXPECT_EQ(fs.vfs.open(fs.ctx, kStatsIno, O_WRONLY).code(), Code::accessDenied);
}

TEST_F(ControlTest, AccessLogShowsOperations) {
  auto log = fs_.open(kLogIno, O_RDONLY);
  fs_.ctx.pid = 4242;
  fs_.put(1, "f", "hello");
  Ino f = fs_.find(1, "f");
  EXPECT_EQ(fs_.vfs.lookup(fs_.ctx, 1, "none`").code(), Code::notFound);
  EXPECT_EQ(fs_.find(1, ".stats"), kStatsIno);   // not shown
  meta::SetAttr set;
  set.mask = meta::kSetMode | meta::kSetMtime | meta::kSetMtimeNow;
  set.mode = 0600;
  ASSERT_TRUE(fs_.vfs.setattr(fs_.ctx, f, 0, false, set, 0).isOk());
  std::string text = fs_.read(log, 0, 64 << 10);
  auto has = [&](const std::string& s) { EXPECT_NE(text.find(s), std::string::npos) << s << "\nin\n" << text; };
  std::string ino = std::to_string(f);
  has("open (9223372032559808513,0x0) [fh:");
  has(",pid:4242] create (1,f,-rw-r--r--:0100644): (" + ino + ",[-rw-r--r--:0100644,1,0,0,");
  has("write (" + ino + ",5,0,");
  has("flush (" + ino + ",");
  has(",0000000000000001) - OK <0.0");
  has("release (" + ino + ",");
  has("lookup (1,f): (" + ino + ",[-rw-r--r--:0100644,1,0,0,");
  has("lookup (1,none`): - no such file or directory <0.0");
  has("setattr (" + ino + "[0],0x121,[mode=-rw-------:00600,mtime=NOW]): (" + ino + ",[-rw-------:0100600,1,");
  EXPECT_EQ(text.find(".stats"), std::string::npos);
  fs_.close(log);
}

}  // namespace
}  // namespace aquifer::vfs
