// Requests as bytes, without a kernel: damage of every kind, and requests that come a second time.
#include "access/fuse/dispatcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "access/fuse/crash_state.h"
#include "access/fuse/server.h"
#include "access/fuse/stub_vfs.h"

namespace aquifer::fuse {
namespace {

class DispatcherTest : public ::testing::Test {
 protected:
  DispatcherTest() {
    vfs_.cfg.enableXattr = true;
    config_.allocateIno = [this]() -> Result<vfs::Ino> { return nextIno_++; };
    vfs_.addFile("f", "hello");
    dispatcher_ = std::make_unique<Dispatcher>(vfs_, config_, [this](uint64_t u) { interrupted_ = u; });
  }
  template <class T>
  static std::string bytes(const T& v) {
    return {reinterpret_cast<const char*>(&v), sizeof v};
  }
  static std::string message(Op op, uint64_t node, const std::string& args, uint64_t unique = 2) {
    InHeader h{};
    h.len = static_cast<uint32_t>(sizeof h + args.size()), h.opcode = static_cast<uint32_t>(op), h.unique = unique,
    h.nodeId = node;
    return bytes(h) + args;
  }
  // Runs one request; the errno of its answer, -1 if it has none.
  int run(const std::string& m, JournalEntry* known = nullptr) {
    message_ = m;
    Call call;
    if (!call.in.parse(std::as_bytes(std::span(message_)))) return -2;
    call.out = &reply_, call.slot = &slot_, call.note = known ? known : &note_, call.known = known != nullptr;
    dispatcher_->handle(call);
    mustWait_ = call.mustWait;
    return reply_.wanted() ? reply_.error() : -1;
  }
  template <class T>
  T answer() {
    T t{};
    EXPECT_GE(reply_.size(), sizeof t);
    if (reply_.size() >= sizeof t) std::memcpy(&t, reply_.payload().data(), sizeof t);
    return t;
  }
  static std::string create(const std::string& name, uint32_t flags = O_RDWR | O_CREAT) {
    return bytes(CreateIn{flags, 0644, 022, 0}) + name + '\0';
  }

  StubVfs vfs_;
  ServerConfig config_;
  vfs::Ino nextIno_ = 1000;
  uint64_t interrupted_ = 0;
  std::unique_ptr<Dispatcher> dispatcher_;
  Reply reply_{1 << 20};
  InflightSlot slot_;
  JournalEntry note_;
  std::string message_;
  bool mustWait_ = false;
};

TEST_F(DispatcherTest, CutRequestsAreRefusedWhereverTheyAreCut) {
  const auto name = std::string("n") + '\0';
  const std::vector<std::pair<Op, std::string>> whole = {{Op::lookup, name},
                                                         {Op::getattr, bytes(GetattrIn{})},
                                                         {Op::setattr, bytes(SetattrIn{})},
                                                         {Op::symlink, name + "t" + '\0'},
                                                         {Op::mknod, bytes(MknodIn{S_IFREG | 0600, 0, 0, 0}) + name},
                                                         {Op::mkdir, bytes(MkdirIn{0700, 0}) + name},
                                                         {Op::unlink, name},
                                                         {Op::rmdir, name},
                                                         {Op::rename, bytes(RenameIn{1}) + name + name},
                                                         {Op::rename2, bytes(Rename2In{1, 0, 0}) + name + name},
                                                         {Op::link, bytes(LinkIn{2}) + name},
                                                         {Op::open, bytes(OpenIn{})},
                                                         {Op::read, bytes(ReadIn{})},
                                                         {Op::write, bytes(WriteIn{1, 0, 4, 0, 0, 0, 0}) + "data"},
                                                         {Op::release, bytes(ReleaseIn{})},
                                                         {Op::fsync, bytes(FsyncIn{})},
                                                         {Op::setxattr, bytes(SetxattrIn{3, 0}) + name + "abc"},
                                                         {Op::getxattr, bytes(GetxattrIn{}) + name},
                                                         {Op::listxattr, bytes(GetxattrIn{})},
                                                         {Op::removexattr, name},
                                                         {Op::flush, bytes(FlushIn{})},
                                                         {Op::opendir, bytes(OpenIn{})},
                                                         {Op::readdir, bytes(ReadIn{})},
                                                         {Op::readdirplus, bytes(ReadIn{})},
                                                         {Op::releasedir, bytes(ReleaseIn{})},
                                                         {Op::fsyncdir, bytes(FsyncIn{})},
                                                         {Op::getlk, bytes(LkIn{})},
                                                         {Op::setlk, bytes(LkIn{})},
                                                         {Op::setlkw, bytes(LkIn{})},
                                                         {Op::access, bytes(AccessIn{})},
                                                         {Op::create, create("n")},
                                                         {Op::tmpfile, create("n")},
                                                         {Op::ioctl, bytes(IoctlIn{})},
                                                         {Op::fallocate, bytes(FallocateIn{})},
                                                         {Op::lseek, bytes(LseekIn{})},
                                                         {Op::copyFileRange, bytes(CopyFileRangeIn{})},
                                                         {Op::copyFileRange64, bytes(CopyFileRangeIn{})}};
  for (const auto& [op, args] : whole)
    for (size_t n = 0; n < args.size(); ++n)
      EXPECT_EQ(run(message(op, 1, args.substr(0, n))), EINVAL) << "operation " << static_cast<int>(op) << " cut at " << n;
}

TEST_F(DispatcherTest, UnansweredOnesStaySoWhenCut) {
  EXPECT_EQ(run(message(Op::forget, 2, "")), -1);
  EXPECT_EQ(run(message(Op::batchForget, 2, bytes(BatchForgetIn{1000, 0}) + bytes(ForgetOne{7, 3}))), -1);
  EXPECT_EQ(vfs_.forgotten[7], 3u);
  EXPECT_EQ(run(message(Op::interrupt, 0, "")), -1);
  EXPECT_EQ(run(message(Op::interrupt, 0, bytes(InterruptIn{44}))), -1);
  EXPECT_EQ(interrupted_, 44u);
}

TEST_F(DispatcherTest, SizesThatDoNotFitAreRefused) {
  EXPECT_EQ(run(message(Op::read, 2, bytes(ReadIn{1, 0, 0xFFFFFFFFu, 0, 0, 0, 0}))), EINVAL);
  EXPECT_EQ(run(message(Op::readdir, 1, bytes(ReadIn{1, 0, 0xFFFFFFFFu, 0, 0, 0, 0}))), EINVAL);
  EXPECT_EQ(run(message(Op::write, 2, bytes(WriteIn{1, 0, 0xFFFFFFFFu, 0, 0, 0, 0}) + "x")), EINVAL);
  EXPECT_EQ(run(message(Op::setxattr, 2, bytes(SetxattrIn{0xFFFFFFFFu, 0}) + "a" + '\0')), EINVAL);
  EXPECT_EQ(run(message(Op::ioctl, 2, bytes(IoctlIn{1, 0, 0, 0, 0, 0xFFFFFFFFu}))), EINVAL);
  EXPECT_EQ(run(message(Op::lookup, 1, "no end")), EINVAL);
  auto m = message(Op::statfs, 1, "");
  m[0] = 50;  // says to be longer than it is
  EXPECT_EQ(run(m), -2);
  m = message(Op::statfs, 1, "");
  m[36] = 100;  // extensions beyond the end
  EXPECT_EQ(run(m), -2);
}

TEST_F(DispatcherTest, WhatWeDoNotHaveIsNotAskedForAgain) {
  for (uint32_t op : {37u, 40u, 48u, 49u, 52u, 53u + 1, 4096u, 0xFFFFFFFFu, 0u})
    EXPECT_EQ(run(message(static_cast<Op>(op), 1, std::string(200, 0))), ENOSYS) << op;
}

TEST_F(DispatcherTest, WithoutXattrsTheKernelIsToldNotToAsk) {
  vfs_.cfg.enableXattr = false;
  dispatcher_ = std::make_unique<Dispatcher>(vfs_, config_, [](uint64_t) {});
  EXPECT_EQ(run(message(Op::getxattr, 2, bytes(GetxattrIn{100, 0}) + "security.capability" + '\0')), ENOSYS);
}

TEST_F(DispatcherTest, DotAndDotDotForTheExportOfForgottenInodes) {
  ASSERT_EQ(run(message(Op::mkdir, 1, bytes(MkdirIn{0755, 0}) + "d" + '\0')), 0);
  const auto d = answer<EntryOut>().nodeId;
  ASSERT_EQ(run(message(Op::lookup, d, std::string(".") + '\0')), 0);
  EXPECT_EQ(answer<EntryOut>().nodeId, d);
  ASSERT_EQ(run(message(Op::lookup, d, std::string("..") + '\0')), 0);
  EXPECT_EQ(answer<EntryOut>().nodeId, 1u);
}

TEST_F(DispatcherTest, NegativeEntriesHaveNoInodeButATimeout) {
  vfs_.cfg.negativeTimeout = vfs::Seconds(1.5);
  ASSERT_EQ(run(message(Op::lookup, 1, std::string("absent") + '\0')), 0);
  const auto e = answer<EntryOut>();
  EXPECT_EQ(e.nodeId, 0u);
  EXPECT_EQ(e.entryValid, 1u);
  EXPECT_EQ(e.entryValidNsec, 500'000'000u);
}

TEST_F(DispatcherTest, ListingsFillTheBufferAndNoMore) {
  for (int i = 0; i < 100; ++i) vfs_.addFile("file" + std::to_string(i), "");
  for (bool plus : {false, true}) {
    std::set<std::string> seen;
    uint64_t off = 0;
    while (true) {
      ASSERT_EQ(run(message(plus ? Op::readdirplus : Op::readdir, 1, bytes(ReadIn{1, off, 1000, 0, 0, 0, 0}))), 0);
      ASSERT_LE(reply_.size(), 1000u);
      if (reply_.size() == 0) break;
      const auto page = reply_.payload();
      for (size_t at = 0; at < page.size();) {
        EntryOut entry{};
        if (plus) std::memcpy(&entry, page.data() + at, sizeof entry);
        const size_t head = plus ? sizeof entry : 0;
        Dirent d;
        std::memcpy(&d, page.data() + at + head, sizeof d);
        const std::string name(reinterpret_cast<const char*>(page.data()) + at + head + sizeof d, d.nameLen);
        EXPECT_TRUE(seen.insert(name).second) << name;
        if (plus) {
          EXPECT_EQ(entry.nodeId, name[0] == '.' ? 0 : d.ino) << name;
        }
        at += (head + sizeof d + d.nameLen + 7) / 8 * 8;
        off = d.off;
      }
    }
    EXPECT_EQ(seen.size(), 103u);
  }
}

TEST_F(DispatcherTest, TimesBefore1970AndOwners) {
  SetattrIn in{};
  in.valid = kValidAtime | kValidUid;
  in.atime = static_cast<uint64_t>(int64_t{-1000}), in.atimeNsec = 7, in.uid = 5;
  const auto ino = vfs_.find("f");
  ASSERT_EQ(run(message(Op::setattr, ino, bytes(in))), 0);
  const auto a = answer<AttrReply>().attr;
  EXPECT_EQ(static_cast<int64_t>(a.atime), -1000);
  EXPECT_EQ(a.atimeNsec, 7u);
  EXPECT_EQ(a.uid, 5u);
  EXPECT_EQ(a.mode, static_cast<uint32_t>(S_IFREG | 0644));
}

TEST_F(DispatcherTest, SquashedUsers) {
  config_.rootSquash = true, config_.rootSquashUid = 65534, config_.rootSquashGid = 65533;
  dispatcher_ = std::make_unique<Dispatcher>(vfs_, config_, [](uint64_t) {});
  ASSERT_EQ(run(message(Op::mkdir, 1, bytes(MkdirIn{0755, 0}) + "d" + '\0')), 0);
  EXPECT_EQ(answer<EntryOut>().attr.uid, 65534u);
  EXPECT_EQ(answer<EntryOut>().attr.gid, 65533u);
}

TEST_F(DispatcherTest, AnAclByAStrangerToTheGroupDropsSetgid) {
  const auto ino = vfs_.find("f");
  const auto acl = bytes(SetxattrIn{1, 0}) + "system.posix_acl_access" + '\0' + "v";
  const auto asUser = [&](uint32_t uid, uint32_t gid, const std::string& args) {
    auto m = message(Op::setxattr, ino, args);
    std::memcpy(m.data() + offsetof(InHeader, uid), &uid, 4);
    std::memcpy(m.data() + offsetof(InHeader, gid), &gid, 4);
    return m;
  };
  const auto modeAfter = [&](const std::string& m) {
    EXPECT_TRUE(vfs_.setattr({}, ino, 0, false,
                             {.mask = meta::kSetMode | meta::kSetUid | meta::kSetGid, .mode = 02755, .uid = 7, .gid = 50}, 0)
                    .isOk());
    EXPECT_EQ(run(m), 0);
    return vfs_.getattr({}, ino, 0)->attr.mode;
  };
  EXPECT_EQ(modeAfter(asUser(7, 60, acl)), 0755);
  EXPECT_EQ(modeAfter(asUser(7, 50, acl)), 02755);
  EXPECT_EQ(modeAfter(asUser(0, 60, acl)), 02755);
  EXPECT_EQ(modeAfter(asUser(7, 60, bytes(SetxattrIn{1, 0}) + "user.other" + '\0' + "v")), 02755);
}

TEST_F(DispatcherTest, ALockThatIsTakenIsLeftToWait) {
  const auto ino = vfs_.find("f");
  const LkIn mine{1, 10, {0, ~0ull, 1, 5}, 0, 0}, other{2, 20, {0, ~0ull, 1, 6}, 0, 0};
  ASSERT_EQ(run(message(Op::setlkw, ino, bytes(mine))), 0);
  run(message(Op::setlkw, ino, bytes(other)));
  EXPECT_TRUE(mustWait_);
  EXPECT_EQ(run(message(Op::setlk, ino, bytes(other))), EAGAIN);
  EXPECT_FALSE(mustWait_);
}

// ---- requests that come again ----

TEST_F(DispatcherTest, ACreateThatWasDoneIsNotDoneTwice) {
  const auto args = create("new", O_RDWR | O_CREAT | O_EXCL);
  JournalEntry note;
  note.identity = 2;
  ASSERT_EQ(run(message(Op::create, 1, args), &note), 0);
  const auto ino = answer<EntryOut>().nodeId;
  EXPECT_EQ(ino, 1000u);
  EXPECT_EQ(note.ino.load(), 1000u);
  // The successor knows the note; O_EXCL would fail if it tried again.
  ASSERT_EQ(run(message(Op::create, 1, args, 2 | kUniqueResend), &note), 0);
  EXPECT_EQ(answer<EntryOut>().nodeId, ino);
  EXPECT_EQ(reply_.size(), sizeof(EntryOut) + sizeof(OpenOut));
}

TEST_F(DispatcherTest, AHandleThatTheKernelNeverSawIsGivenToIt) {
  JournalEntry note;
  note.flags = kJournalOpened, note.fh = 77;
  const int opens = vfs_.opens;
  ASSERT_EQ(run(message(Op::open, vfs_.find("f"), bytes(OpenIn{O_RDONLY, 0}), 2 | kUniqueResend), &note), 0);
  EXPECT_EQ(answer<OpenOut>().fh, 77u);
  EXPECT_EQ(vfs_.opens, opens);
}

TEST_F(DispatcherTest, ANamelessFileThatTheKernelNeverSawIsGivenToIt) {
  auto state = CrashState::inProcess();
  vfs_.recorder = state.get();
  JournalEntry note;
  CrashState::setCurrent(&note);
  ASSERT_EQ(run(message(Op::tmpfile, 1, create("")), &note), 0);
  CrashState::setCurrent(nullptr);
  const auto ino = answer<EntryOut>().nodeId;
  const size_t handles = vfs_.openHandles();
  ASSERT_EQ(run(message(Op::tmpfile, 1, create(""), 2 | kUniqueResend), &note), 0);
  EXPECT_EQ(answer<EntryOut>().nodeId, ino);
  EXPECT_EQ(vfs_.openHandles(), handles);
}

TEST_F(DispatcherTest, ACreateThatWasNotDoneIsDone) {
  JournalEntry note;
  note.flags = kJournalStarted, note.ino = 555;
  ASSERT_EQ(run(message(Op::mkdir, 1, bytes(MkdirIn{0755, 0}) + "d" + '\0', 2 | kUniqueResend), &note), 0);
  EXPECT_EQ(answer<EntryOut>().nodeId, 555u);  // the inode that had been planned
}

TEST_F(DispatcherTest, ANameThatSomebodyElseMadeIsStillInTheWay) {
  JournalEntry note;
  note.flags = kJournalStarted, note.ino = 555;
  EXPECT_EQ(run(message(Op::mkdir, 1, bytes(MkdirIn{0755, 0}) + "f" + '\0', 2 | kUniqueResend), &note), EEXIST);
}

TEST_F(DispatcherTest, RemovalsAreNotRepeated) {
  JournalEntry note;
  const auto name = std::string("f") + '\0';
  ASSERT_EQ(run(message(Op::unlink, 1, name), &note), 0);
  EXPECT_TRUE(note.flags.load() & kJournalIntent);
  EXPECT_EQ(run(message(Op::unlink, 1, name, 2 | kUniqueResend), &note), 0);
  // Another file of that name since then is left alone.
  vfs_.addFile("f", "another");
  EXPECT_EQ(run(message(Op::unlink, 1, name, 2 | kUniqueResend), &note), 0);
  EXPECT_NE(vfs_.find("f"), 0u);
  // Without a note it is a request like any other.
  JournalEntry none;
  EXPECT_EQ(run(message(Op::unlink, 1, name, 2 | kUniqueResend), &none), 0);
  EXPECT_EQ(vfs_.find("f"), 0u);
  JournalEntry none2;
  EXPECT_EQ(run(message(Op::unlink, 1, name, 2 | kUniqueResend), &none2), ENOENT);
}

TEST_F(DispatcherTest, MovesAndLinksAreNotRepeated) {
  JournalEntry move;
  const auto args = bytes(Rename2In{1, 0, 0}) + "f" + '\0' + "g" + '\0';
  ASSERT_EQ(run(message(Op::rename2, 1, args), &move), 0);
  EXPECT_EQ(run(message(Op::rename2, 1, args, 2 | kUniqueResend), &move), 0);
  const auto ino = vfs_.find("g");
  ASSERT_NE(ino, 0u);
  JournalEntry link;
  const auto linkArgs = bytes(LinkIn{ino}) + "h" + '\0';
  ASSERT_EQ(run(message(Op::link, 1, linkArgs), &link), 0);
  ASSERT_EQ(run(message(Op::link, 1, linkArgs, 2 | kUniqueResend), &link), 0);
  EXPECT_EQ(answer<EntryOut>().attr.nlink, 2u);
}

TEST_F(DispatcherTest, ExclusiveAttributesTheSecondTime) {
  JournalEntry note;
  const auto args = bytes(SetxattrIn{1, 1}) + "user.a" + '\0' + "v";
  const auto ino = vfs_.find("f");
  ASSERT_EQ(run(message(Op::setxattr, ino, args), &note), 0);
  EXPECT_EQ(run(message(Op::setxattr, ino, args, 2 | kUniqueResend), &note), 0);
  EXPECT_EQ(run(message(Op::setxattr, ino, args)), EEXIST);
}

}  // namespace
}  // namespace aquifer::fuse
