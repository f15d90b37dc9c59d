// The text of every statement, made once per layout of a database. Immutable, thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "meta/store/record.h"
#include "meta/store/sql/schema.h"

namespace aquifer::meta::sql {

// How one kind of record lies in its table. Kinds that span rows (flock, plock) or are derived (parentCount) have none.
struct KindTable {
  std::string_view table;
  std::string_view fixed;  // "qtype = 1": a constant part of the key, else empty
  std::string_view fixedColumn, fixedValue;
  std::string_view id, sub, name;  // key columns; empty = not part of the key
  std::string_view unique;         // conflict target of an upsert
  std::vector<std::string_view> values;
};
const KindTable* tableOf(Kind kind);

enum class Shape : int {
  get,
  put,
  insert,
  erase,
  listAll,       // limit
  listAllAfter,  // after id, sub or name; limit
  listId,        // id; limit
  listIdAfter,   // id, after sub or name; limit
  exists,        // id
  count_
};

// Statements that are not one record in, one record out.
enum class Special : int {
  lookup,       // parent, name -> inode, type, node columns…
  listDir,      // parent, after, limit -> name, inode, type
  listDirPlus,  // the same with the node's columns
  addCounter,   // delta, name
  initCounter,  // name, value
  addNlink,     // delta, inode
  touch,        // micros, nanos, inode, not after this many ns
  appendChunk,  // bytes, inode, index -> bytes of the chunk
  addRef,       // delta, slice, size
  addDirStat,   // length, space, inodes, inode
  addDirQuota,
  addUserQuota,
  addGroupQuota,  // space, inodes, id
  initUserQuota,
  initGroupQuota,  // id, space, inodes
  log,             // entry
  parentGet,       // inode, parent -> count
  parentList,      // inode -> parent, count
  parentListAll,   // -> inode, parent, count
  parentExists,    // inode
  flockList,
  flockListAll,
  flockErase,
  flockInsert,  // rows of one inode / of all inodes after one
  plockList,
  plockListAll,
  plockErase,
  plockInsert,
  flockExists,
  plockExists,
  legacySessionGet,
  legacySessionErase,
  sessionListBoth,
  aclMaxGet,
  aclMaxInit,
  aclMaxPut,
  unusedSlices,  // limit -> id, size
  count_
};

class Statements {
 public:
  Statements(std::string prefix, Layout layout);
  static constexpr int kKinds = static_cast<int>(Kind::changeLog) + 1;
  static constexpr int kCount = kKinds * static_cast<int>(Shape::count_) + static_cast<int>(Special::count_);
  static int id(Kind kind, Shape shape) {
    return static_cast<int>(kind) * static_cast<int>(Shape::count_) + static_cast<int>(shape);
  }
  static int id(Special s) { return kKinds * static_cast<int>(Shape::count_) + static_cast<int>(s); }
  const std::string& text(int id) const { return texts_[static_cast<size_t>(id)]; }
  const Layout& layout() const { return layout_; }
  // Is the table of this kind there? Reads of a kind without table find nothing.
  bool has(Kind kind) const { return present_[static_cast<size_t>(kind)]; }
  // The columns of a node that the database has, by position in kNodeColumns; missing ones read as 0 and are not written.
  const std::vector<bool>& nodeColumns() const { return nodeColumns_; }

 private:
  void makeRecords(Kind kind);
  void makeNames();
  void makeVerbs();
  void makeLocks();
  void makeSessions();
  std::string table(std::string_view name) const { return "`" + prefix_ + std::string(name) + "`"; }
  std::string& at(Special s) { return texts_[static_cast<size_t>(id(s))]; }
  std::string& at(Kind k, Shape s) { return texts_[static_cast<size_t>(id(k, s))]; }
  std::string nodeList(std::string_view alias) const;

  std::string prefix_;
  Layout layout_;
  std::vector<std::string> texts_;
  std::vector<bool> present_, nodeColumns_;
};

inline constexpr std::string_view kNodeColumns[] = {
    "type",      "flags",     "mode",  "uid",    "gid",  "atime",  "mtime",         "ctime",          "atimensec",
    "mtimensec", "ctimensec", "nlink", "length", "rdev", "parent", "access_acl_id", "default_acl_id", "tier_id"};
inline constexpr int kNodeColumnCount = static_cast<int>(std::size(kNodeColumns));

}  // namespace aquifer::meta::sql
