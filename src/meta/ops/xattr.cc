// Extended attributes. Changing them leaves ctime alone, as it always was on these volumes.
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

enum XattrFlag { kCreate = 1, kReplace = 2 };

Status checkName(std::string_view name) {
  if (name.empty()) return Code::invalid;
  return name.size() > kMaxXattrName ? Status(Code::range) : Status();
}

Status checkNode(MetaTxn& tx, Ino ino) {
  TRY_ASSIGN(auto attr, tx.node(ino, kFieldFlags));
  return (attr.flags & (kFlagImmutable | kFlagAppend)) != 0 ? Status(Code::notPermitted) : Status();
}

}  // namespace

Result<std::string> MetaImpl::getxattr(const Context&, Ino ino, std::string_view name) {
  ino = real(ino);
  TRY(checkName(name));
  std::string value;
  TRY(read("getxattr", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(auto stored, tx.find<std::string>(key::xattr(ino, name)));
    if (!stored) return Code::noAttribute;
    value = std::move(*stored);
    return {};
  }));
  return value;
}

Status MetaImpl::setxattr(const Context&, Ino ino, std::string_view name, std::string_view value, int flags) {
  ino = real(ino);
  TRY(checkName(name));
  if (value.size() > kMaxXattrValue) return Code::range;
  if ((flags & ~(kCreate | kReplace)) != 0) return Code::invalid;
  return txn(
      "setxattr",
      [&](MetaTxn& tx) -> Status {
        TRY(checkNode(tx, ino));
        if (flags != 0) {
          TRY_ASSIGN(auto stored, tx.find<std::string>(key::xattr(ino, name)));
          if ((flags & kCreate) != 0 && stored) return Code::exists;
          if ((flags & kReplace) != 0 && !stored) return Code::noAttribute;
        }
        tx.put(key::xattr(ino, name), std::string(value));
        if (logging()) log(tx, changelog::setXattr(ino, name, value, flags));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto stored, tx.find<std::string>(key::xattr(ino, name)));
        return stored && *stored == value;
      });
}

Result<std::vector<std::string>> MetaImpl::listxattr(const Context&, Ino ino) {
  ino = real(ino);
  std::vector<std::string> names;
  TRY(read("listxattr", [&](MetaTxn& tx) {
    names.clear();
    return tx.list({.kind = Kind::xattr, .id = ino}, [&](const Key& key, const Value&) {
      names.push_back(key.name);
      return true;
    });
  }));
  return names;
}

Status MetaImpl::removexattr(const Context&, Ino ino, std::string_view name) {
  ino = real(ino);
  TRY(checkName(name));
  return txn(
      "removexattr",
      [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(auto stored, tx.find<std::string>(key::xattr(ino, name)));
        if (!stored) return Code::noAttribute;
        TRY(checkNode(tx, ino));
        tx.erase(key::xattr(ino, name));
        if (logging()) log(tx, changelog::removeXattr(ino, name));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto stored, tx.find<std::string>(key::xattr(ino, name)));
        return !stored;
      });
}

}  // namespace aquifer::meta
