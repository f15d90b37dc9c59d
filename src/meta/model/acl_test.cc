#include "meta/model/acl.h"

#include <gtest/gtest.h>

#include "meta/model/codec.h"

namespace aquifer::meta {
namespace {

const AclRule kNamed{7, 5, 6, 0, {{1001, 7}}, {{2002, 4}, {2003, 3}}};

TEST(Acl, storedForms) {
  EXPECT_EQ(*decodeAclRule(encodeAclRule(kNamed)), kNamed);
  EXPECT_EQ(encodeAclRule(kNamed).size(), 16u + 18);
  EXPECT_EQ(encodeAclRule(AclRule()), std::string(8, '\xFF') + std::string(8, '\0'));
  EXPECT_EQ(*decodeAclEntries(encodeAclEntries(kNamed.groups)), kNamed.groups);
  EXPECT_EQ(encodeAclEntries({{1001, 7}}), std::string("\0\0\x03\xE9\0\x07", 6));
  EXPECT_TRUE(decodeAclEntries("12345").is(Code::corrupt));
  const auto bytes = encodeAclRule(kNamed);
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_TRUE(decodeAclRule(bytes.substr(0, n)).is(Code::corrupt)) << n;
  EXPECT_TRUE(decodeAclRule(bytes + "x").is(Code::corrupt));
  EXPECT_TRUE(decodeAclRule(std::string(8, '\0') + std::string(8, '\xFF')).is(Code::corrupt));  // a count of 2^32-1
}

TEST(Acl, posixForm) {
  EXPECT_EQ(*decodePosixAcl(encodePosixAcl(kNamed)), kNamed);
  EXPECT_TRUE(aclEmpty(*decodePosixAcl(encodePosixAcl({}))));
  AclRule noMask = kNamed;
  noMask.mask = AclRule::kAbsent;
  EXPECT_TRUE(decodePosixAcl(encodePosixAcl(noMask)).is(Code::invalid));
  const auto bytes = encodePosixAcl(kNamed);
  EXPECT_TRUE(decodePosixAcl(bytes + bytes.substr(4, 8)).is(Code::invalid));  // owner twice
  EXPECT_TRUE(decodePosixAcl(bytes.substr(0, 11)).is(Code::invalid));
  EXPECT_TRUE(decodePosixAcl("").is(Code::invalid));
  auto version = bytes;
  version[0] = 1;
  EXPECT_TRUE(decodePosixAcl(version).is(Code::invalid));
  auto tag = bytes;
  tag[4] = 3;
  EXPECT_TRUE(decodePosixAcl(tag).is(Code::invalid));
}

TEST(Acl, modes) {
  EXPECT_EQ(aclToMode(kNamed, 04777), 04760);
  AclRule r = kNamed;
  aclSetMode(r, 0531);
  EXPECT_EQ(r.owner, 5);
  EXPECT_EQ(r.mask, 3);
  EXPECT_EQ(r.group, kNamed.group);
  EXPECT_EQ(r.other, 1);
  AclRule minimal;
  aclFill(minimal, 0640);
  EXPECT_TRUE(aclMinimal(minimal));
  EXPECT_EQ(aclToMode(minimal, 0), 0640);
  aclSetMode(minimal, 0750);
  EXPECT_EQ(minimal.group, 5);
  EXPECT_EQ(minimal.mask, AclRule::kAbsent);
  const AclRule child = aclForChild({7, 5, 7, 5, {{1, 7}}, {}}, 0640);
  EXPECT_EQ(child, (AclRule{6, 5, 4, 0, {{1, 7}}, {}}));
}

TEST(Acl, access) {
  const uint32_t none[] = {1}, owning[] = {50}, both[] = {2002, 2003}, all[] = {50, 2003};
  EXPECT_TRUE(aclGrants(kNamed, 10, none, 10, 50, 7));     // the owner's entry is not masked
  EXPECT_TRUE(aclGrants(kNamed, 1001, none, 10, 50, 6));   // named user
  EXPECT_FALSE(aclGrants(kNamed, 1001, none, 10, 50, 1));  // cut by the mask
  EXPECT_TRUE(aclGrants(kNamed, 9, owning, 10, 50, 4));
  EXPECT_FALSE(aclGrants(kNamed, 9, owning, 10, 50, 1));  // group r-x, mask rw-
  EXPECT_FALSE(aclGrants(kNamed, 9, both, 10, 50, 6));    // no single entry gives both
  EXPECT_TRUE(aclGrants(kNamed, 9, all, 10, 50, 2));
  AclRule open = kNamed;
  open.other = 7;
  EXPECT_FALSE(aclGrants(open, 9, both, 10, 50, 1));  // matched a group: other does not count
  EXPECT_TRUE(aclGrants(open, 9, none, 10, 50, 7));
}

}  // namespace
}  // namespace aquifer::meta
