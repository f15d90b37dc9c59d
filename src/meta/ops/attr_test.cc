// Attributes, xattrs, ACLs.
#include <fcntl.h>

#include "meta/ops/testing.h"

namespace aquifer::meta {

class AttrTest : public MetaTest {
 protected:
  void tweak(Format& f) override { f.enableAcl = true; }
  Result<Attr> chmod(const Context& ctx, Ino ino, uint16_t mode) {
    return meta_->setattr(ctx, ino, {.mask = kSetMode, .mode = mode});
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, AttrTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

TEST_P(AttrTest, ChmodRules) {
  auto f = mk(1, "f");
  AQ_ASSERT_OK(chmod(root, f, 04755));
  EXPECT_EQ(attrOf(f).mode, 04755);
  EXPECT_EQ(chmod(user(5), f, 0777).code(), Code::notPermitted);
  auto kernel = user(5);
  kernel.checkPermission = false;
  AQ_EXPECT_OK(chmod(kernel, f, 0755));  // what a write by somebody else causes
  EXPECT_EQ(attrOf(f).mode, 0755);
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetUid | kSetGid, .uid = 5, .gid = 9}));
  AQ_ASSERT_OK(chmod(user(5, 6), f, 02755));
  EXPECT_EQ(attrOf(f).mode, 0755);  // outside the group: set-gid is dropped
  AQ_ASSERT_OK(chmod(user(5, 9), f, 02755));
  EXPECT_EQ(attrOf(f).mode, 02755);
}

TEST_P(AttrTest, ChownRules) {
  auto f = mk(1, "f", FileType::regular, 06750);
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetUid, .uid = 5}));
  EXPECT_EQ(attrOf(f).mode, 0750);
  AQ_ASSERT_OK(chmod(root, f, 06700));
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetUid, .uid = 5}));
  EXPECT_EQ(attrOf(f).mode, 02700);  // not group-executable: set-gid means mandatory locking and stays
  EXPECT_EQ(meta_->setattr(user(5), f, {.mask = kSetUid, .uid = 6}).code(), Code::notPermitted);
  EXPECT_EQ(meta_->setattr(user(5), f, {.mask = kSetGid, .gid = 6}).code(), Code::notPermitted);
  EXPECT_EQ(meta_->setattr(user(6), f, {.mask = kSetGid, .gid = 6}).code(), Code::notPermitted);
  auto member = user(5);
  member.groups = {6};
  AQ_EXPECT_OK(meta_->setattr(member, f, {.mask = kSetGid, .gid = 6}));
  EXPECT_EQ(attrOf(f).gid, 6u);
  auto d = mkdir(1, "d", 02755);
  AQ_ASSERT_OK(meta_->setattr(root, d, {.mask = kSetGid, .gid = 3}));
  EXPECT_EQ(attrOf(d).mode, 02755);
}

TEST_P(AttrTest, TimesAreSignedAndExact) {
  auto f = mk(1, "f");
  for (Time t : {Time{0, 1}, Time{-86400, 0}, Time{-1, 999'999'999}, Time{4'102'444'800, 1}, Time{1'700'000'000, 123'456'789}}) {
    AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetAtime | kSetMtime, .atime = t, .mtime = t}));
    EXPECT_EQ(attrOf(f).mtime, t);
    EXPECT_EQ(attrOf(f).atime, t);
  }
  EXPECT_EQ(meta_->setattr(user(5), f, {.mask = kSetMtime, .mtime = {1, 1}}).code(), Code::notPermitted);
  EXPECT_EQ(meta_->setattr(user(5), f, {.mask = kSetMtimeNow}).code(), Code::accessDenied);
  AQ_ASSERT_OK(chmod(root, f, 0666));
  AQ_EXPECT_OK(meta_->setattr(user(5), f, {.mask = kSetMtimeNow}));
}

TEST_P(AttrTest, ImmutableAndAppendOnly) {
  auto f = mk(1, "f");
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetFlags, .flags = kFlagAppend}));
  EXPECT_EQ(meta_->open(root, f, O_WRONLY).code(), Code::notPermitted);
  EXPECT_EQ(meta_->open(root, f, O_WRONLY | O_APPEND | O_TRUNC).code(), Code::notPermitted);
  AQ_EXPECT_OK(meta_->open(root, f, O_WRONLY | O_APPEND));
  AQ_EXPECT_OK(meta_->close(f));
  EXPECT_EQ(meta_->truncate(root, f, 5, false).code(), Code::notPermitted);
  EXPECT_EQ(chmod(root, f, 0600).code(), Code::notPermitted);
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetFlags, .flags = kFlagImmutable}));
  EXPECT_EQ(meta_->open(root, f, O_RDWR).code(), Code::notPermitted);
  AQ_EXPECT_OK(meta_->open(root, f, O_RDONLY));
  AQ_EXPECT_OK(meta_->close(f));
  EXPECT_EQ(meta_->setxattr(root, f, "user.x", "1", 0).code(), Code::notPermitted);
  EXPECT_EQ(meta_->link(root, f, 1, "g").code(), Code::notPermitted);
}

TEST_P(AttrTest, OpenChecksModeBits) {
  auto f = mk(1, "f", FileType::regular, 0641);
  EXPECT_EQ(meta_->open(user(5), f, O_RDONLY).code(), Code::accessDenied);
  AQ_EXPECT_OK(meta_->open(user(5), f, 0x20));
  EXPECT_EQ(meta_->open(user(5, 0), f, O_RDWR).code(), Code::accessDenied);
  EXPECT_EQ(meta_->access(user(5), f, 1).code(), Code::ok);
  EXPECT_EQ(meta_->access(user(5), f, 5).code(), Code::accessDenied);
  auto d = mkdir(1, "d");
  EXPECT_EQ(meta_->open(root, d, O_WRONLY).code(), Code::isDirectory);
  EXPECT_EQ(meta_->open(root, 999'999, O_RDONLY).code(), Code::notFound);
}

TEST_P(AttrTest, Xattrs) {
  auto f = mk(1, "f");
  EXPECT_EQ(meta_->getxattr(root, f, "user.a").code(), Code::noAttribute);
  AQ_ASSERT_OK(meta_->setxattr(root, f, "user.a", std::string("\0x", 2), 0));
  EXPECT_EQ(*meta_->getxattr(root, f, "user.a"), std::string("\0x", 2));
  EXPECT_EQ(meta_->setxattr(root, f, "user.a", "1", 1).code(), Code::exists);
  EXPECT_EQ(meta_->setxattr(root, f, "user.b", "1", 2).code(), Code::noAttribute);
  AQ_ASSERT_OK(meta_->setxattr(root, f, "user.b", "", 1));
  EXPECT_EQ(*meta_->listxattr(root, f), (std::vector<std::string>{"user.a", "user.b"}));
  AQ_ASSERT_OK(meta_->removexattr(root, f, "user.a"));
  EXPECT_EQ(meta_->removexattr(root, f, "user.a").code(), Code::noAttribute);
  EXPECT_EQ(meta_->setxattr(root, f, "", "1", 0).code(), Code::invalid);
  EXPECT_EQ(meta_->setxattr(root, f, std::string(256, 'n'), "1", 0).code(), Code::range);
  EXPECT_EQ(meta_->setxattr(root, f, "user.c", std::string(65'537, 'n'), 0).code(), Code::range);
  AQ_EXPECT_OK(meta_->setxattr(root, f, "user.c", std::string(65'536, 'n'), 0));
  EXPECT_EQ(meta_->setxattr(root, 999'999, "user.c", "1", 0).code(), Code::notFound);
}

TEST_P(AttrTest, AccessAclGrantsAndFollowsChmod) {
  auto f = mk(1, "f", FileType::regular, 0640);
  AclRule rule{.owner = 6, .group = 4, .mask = 6, .other = 0, .users = {{5, 6}}};
  AQ_ASSERT_OK(meta_->setAcl(root, f, AclType::access, rule));
  EXPECT_EQ(attrOf(f).mode, 0660);  // the group bits show the mask
  EXPECT_EQ(meta_->access(user(5), f, 6).code(), Code::ok);
  EXPECT_EQ(meta_->access(user(6), f, 4).code(), Code::accessDenied);
  AQ_ASSERT_OK(chmod(root, f, 0640));
  auto back = meta_->getAcl(root, f, AclType::access);
  AQ_ASSERT_OK(back);
  ASSERT_TRUE(*back);
  EXPECT_EQ((*back)->mask, 4);
  EXPECT_EQ(meta_->access(user(5), f, 6).code(), Code::accessDenied);
  EXPECT_EQ(meta_->setAcl(user(5), f, AclType::access, rule).code(), Code::notPermitted);
  AQ_ASSERT_OK(meta_->setAcl(root, f, AclType::access, AclRule{.owner = 7, .group = 5, .other = 1}));
  EXPECT_EQ(attrOf(f).mode, 0751);
  EXPECT_EQ(attrOf(f).accessAcl, 0u);
  EXPECT_FALSE(*meta_->getAcl(root, f, AclType::access));
}

TEST_P(AttrTest, DefaultAclIsInherited) {
  auto d = mkdir(1, "d");
  AclRule rule{.owner = 7, .group = 5, .mask = 7, .other = 0, .users = {{5, 7}}};
  AQ_ASSERT_OK(meta_->setAcl(root, d, AclType::dflt, rule));
  auto f = meta_->mknod(root, d, "f", FileType::regular, 0666, 077, 0);
  AQ_ASSERT_OK(f);
  EXPECT_EQ(f->attr.mode, 0660);  // the umask does not count under a default ACL
  EXPECT_NE(f->attr.accessAcl, 0u);
  auto child = meta_->getAcl(root, f->ino, AclType::access);
  AQ_ASSERT_OK(child);
  ASSERT_TRUE(*child);
  EXPECT_EQ((*child)->mask, 6);
  EXPECT_EQ((*child)->group, 5);
  auto s = meta_->mknod(root, d, "s", FileType::directory, 0777, 077, 0);
  AQ_ASSERT_OK(s);
  EXPECT_EQ(s->attr.defaultAcl, attrOf(d).defaultAcl);
  auto l = mk(d, "l", FileType::symlink);
  EXPECT_EQ(attrOf(l).accessAcl, 0u);
  AQ_ASSERT_OK(meta_->setAcl(root, d, AclType::dflt, AclRule{.owner = 7, .group = 5, .other = 5}));
  auto g = meta_->mknod(root, d, "g", FileType::regular, 0666, 077, 0);
  AQ_ASSERT_OK(g);
  EXPECT_EQ(g->attr.mode, 0644);
  EXPECT_EQ(g->attr.accessAcl, 0u);
  AQ_ASSERT_OK(meta_->setAcl(root, d, AclType::dflt, AclRule{}));
  EXPECT_EQ(attrOf(d).defaultAcl, 0u);
  auto again = mkdir(1, "again");
  AQ_ASSERT_OK(meta_->setAcl(root, again, AclType::dflt, rule));
  EXPECT_EQ(attrOf(again).defaultAcl, s->attr.defaultAcl);  // equal rules share a record
}

TEST_P(AttrTest, AtimeModes) {
  auto f = mk(1, "f");
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetAtime, .atime = {100, 0}}));
  AQ_ASSERT_OK(meta_->touchAtime(root, f));
  EXPECT_EQ(attrOf(f).atime, (Time{100, 0}));
  auto config = quiet();
  config.atimeMode = AtimeMode::relatime;
  auto other = another(config);
  AQ_ASSERT_OK(other->touchAtime(root, f));
  auto first = attrOf(f).atime;
  EXPECT_GT(first.sec, 100);
  AQ_ASSERT_OK(other->touchAtime(root, f));
  EXPECT_EQ(attrOf(f).atime, first);
  AQ_ASSERT_OK(other->closeSession());
}

}  // namespace aquifer::meta
