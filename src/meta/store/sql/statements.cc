#include "meta/store/sql/statements.h"

#include <fmt/core.h>

#include <array>

namespace aquifer::meta::sql {

namespace {

using Views = std::vector<std::string_view>;

std::vector<KindTable> makeTables() {
  std::vector<KindTable> t(Statements::kKinds);
  auto at = [&](Kind k) -> KindTable& { return t[static_cast<size_t>(k)]; };
  const Views quota{"max_space", "max_inodes", "used_space", "used_inodes"};
  at(Kind::setting) = {"setting", "", "", "", "", "", "name", "`name`", {"value"}};
  at(Kind::counter) = {"counter", "", "", "", "", "", "name", "`name`", {"value"}};
  at(Kind::node) = {"node", "", "", "", "inode", "", "", "`inode`", Views(std::begin(kNodeColumns), std::end(kNodeColumns))};
  at(Kind::dentry) = {"edge", "", "", "", "parent", "", "name", "`parent`,`name`", {"inode", "type"}};
  at(Kind::chunk) = {"chunk", "", "", "", "inode", "indx", "", "`inode`,`indx`", {"slices"}};
  at(Kind::sliceRef) = {"chunk_ref", "", "", "", "chunkid", "size", "", "`chunkid`", {"refs"}};
  at(Kind::symlink) = {"symlink", "", "", "", "inode", "", "", "`inode`", {"target"}};
  at(Kind::xattr) = {"xattr", "", "", "", "inode", "", "name", "`inode`,`name`", {"value"}};
  at(Kind::session) = {"session2", "", "", "", "sid", "", "", "`sid`", {"expire", "info"}};
  at(Kind::sustained) = {"sustained", "", "", "", "sid", "inode", "", "`sid`,`inode`", {}};
  at(Kind::delFile) = {"delfile", "", "", "", "inode", "length", "", "`inode`", {"expire"}};
  at(Kind::delSlices) = {"delslices", "", "", "", "chunkid", "deleted", "", "`chunkid`", {"slices"}};
  at(Kind::dirStat) = {"dir_stats", "", "", "", "inode", "", "", "`inode`", {"data_length", "used_space", "used_inodes"}};
  at(Kind::dirQuota) = {"dir_quota", "", "", "", "inode", "", "", "`inode`", quota};
  at(Kind::userQuota) = {"user_group_quota", "`qtype`=1", "qtype", "1", "qkey", "", "", "`qtype`,`qkey`", quota};
  at(Kind::groupQuota) = {"user_group_quota", "`qtype`=2", "qtype", "2", "qkey", "", "", "`qtype`,`qkey`", quota};
  at(Kind::acl) = {"acl", "", "", "", "id", "", "", "`id`", {"owner", "group", "mask", "other", "named_users", "named_groups"}};
  at(Kind::detached) = {"detached_node", "", "", "", "inode", "", "", "`inode`", {"added"}};
  at(Kind::changeLog) = {"change_log", "", "", "", "id", "", "", "`id`", {"entry"}};
  // Only for `has`.
  at(Kind::flock).table = "flock";
  at(Kind::plock).table = "plock";
  at(Kind::parentCount).table = "edge";
  return t;
}

const std::vector<KindTable>& tables() {
  static const auto t = makeTables();
  return t;
}

std::string quoted(std::string_view column) { return fmt::format("`{}`", column); }

void append(std::string& out, std::string_view separator, const std::string& item) {
  if (!out.empty()) out += separator;
  out += item;
}

}  // namespace

const KindTable* tableOf(Kind kind) {
  auto& t = tables()[static_cast<size_t>(kind)];
  return t.unique.empty() ? nullptr : &t;
}

Statements::Statements(std::string prefix, Layout layout)
    : prefix_(std::move(prefix)), layout_(std::move(layout)), texts_(static_cast<size_t>(kCount)) {
  for (auto column : kNodeColumns) nodeColumns_.push_back(layout_.hasColumn("node", std::string(column)));
  for (int k = 0; k < kKinds; ++k) {
    auto kind = static_cast<Kind>(k);
    present_.push_back(layout_.hasTable(tables()[static_cast<size_t>(k)].table));
    if (tableOf(kind)) makeRecords(kind);
  }
  makeNames();
  makeVerbs();
  makeLocks();
  makeSessions();
}

void Statements::makeRecords(Kind kind) {
  auto& t = *tableOf(kind);
  auto name = table(t.table);
  std::string where(t.fixed), keys, params, order, values, sets, selected;
  if (!t.fixedColumn.empty()) {
    keys = quoted(t.fixedColumn);
    params = t.fixedValue;
  }
  for (auto column : {t.id, t.sub, t.name}) {
    if (column.empty()) continue;
    append(where, " AND ", quoted(column) + "=?");
    append(order, ",", quoted(column));
    append(keys, ",", quoted(column));
    append(params, ",", "?");
  }
  for (size_t i = 0; i < t.values.size(); ++i) {
    bool present = kind != Kind::node || nodeColumns_[i];
    append(selected, ",", present ? quoted(t.values[i]) : "0");
    if (!present) continue;
    auto column = quoted(t.values[i]);
    append(keys, ",", column);
    append(params, ",", "?");
    append(sets, ",", fmt::format("{0}=excluded.{0}", column));
  }
  // The key is not unique by itself where a part of it is data of the row (delfile's length).
  if (!t.sub.empty() && t.unique.find(t.sub) == std::string_view::npos)
    append(sets, ",", fmt::format("{0}=excluded.{0}", quoted(t.sub)));
  if (selected.empty()) selected = "1";

  at(kind, Shape::get) = fmt::format("SELECT {} FROM {} WHERE {}", selected, name, where);
  at(kind, Shape::insert) = fmt::format("INSERT INTO {} ({}) VALUES ({})", name, keys, params);
  at(kind, Shape::put) = fmt::format("{} ON CONFLICT ({}) DO {}", at(kind, Shape::insert), t.unique,
                                     sets.empty() ? "NOTHING" : "UPDATE SET " + sets);
  at(kind, Shape::erase) = fmt::format("DELETE FROM {} WHERE {}", name, where);

  std::string fixedWhere = t.fixed.empty() ? "" : fmt::format(" WHERE {}", t.fixed);
  std::string fixedAnd = t.fixed.empty() ? "" : fmt::format("{} AND ", t.fixed);
  auto select = fmt::format("SELECT {}, {} FROM {}", order, selected, name);
  auto tail = fmt::format(" ORDER BY {} LIMIT ?", order);
  auto second = t.sub.empty() ? t.name : t.sub;
  bool compound = !t.id.empty() && !second.empty();
  at(kind, Shape::listAll) = select + fixedWhere + tail;
  at(kind, Shape::listAllAfter) =
      fmt::format("{} WHERE {}{}{}", select, fixedAnd, compound ? fmt::format("({}) > (?,?)", order) : order + " > ?", tail);
  if (!t.id.empty()) {
    at(kind, Shape::listId) = fmt::format("{} WHERE {}{}=?{}", select, fixedAnd, quoted(t.id), tail);
    if (compound)
      at(kind, Shape::listIdAfter) =
          fmt::format("{} WHERE {}{}=? AND {} > ?{}", select, fixedAnd, quoted(t.id), quoted(second), tail);
    at(kind, Shape::exists) = fmt::format("SELECT 1 FROM {} WHERE {}{}=? LIMIT 1", name, fixedAnd, quoted(t.id));
  }
}

std::string Statements::nodeList(std::string_view alias) const {
  std::string out;
  for (int i = 0; i < kNodeColumnCount; ++i)
    append(out, ",", nodeColumns_[static_cast<size_t>(i)] ? fmt::format("{}.`{}`", alias, kNodeColumns[i]) : "0");
  return out;
}

void Statements::makeNames() {
  auto edge = table("edge"), node = table("node");
  auto nodes = nodeList("n");
  at(Special::lookup) = fmt::format(
      "SELECT e.`inode`, e.`type`, n.`inode`, {} FROM {} e LEFT JOIN {} n ON n.`inode`=e.`inode` WHERE e.`parent`=? AND "
      "e.`name`=?",
      nodes, edge, node);
  at(Special::listDir) =
      fmt::format("SELECT `name`, `inode`, `type` FROM {} WHERE `parent`=? AND `name` > ? ORDER BY `name` LIMIT ?", edge);
  at(Special::listDirPlus) = fmt::format(
      "SELECT e.`name`, e.`inode`, e.`type`, n.`inode`, {} FROM {} e LEFT JOIN {} n ON n.`inode`=e.`inode` "
      "WHERE e.`parent`=? AND e.`name` > ? ORDER BY e.`name` LIMIT ?",
      nodes, edge, node);
  at(Special::parentGet) = fmt::format("SELECT count(*) FROM {} WHERE `inode`=? AND `parent`=?", edge);
  at(Special::parentList) =
      fmt::format("SELECT `parent`, count(*) FROM {} WHERE `inode`=? GROUP BY `parent` ORDER BY `parent`", edge);
  at(Special::parentListAll) = fmt::format(
      "SELECT e.`inode`, e.`parent`, count(*) FROM {} e JOIN {} n ON n.`inode`=e.`inode` WHERE n.`parent`=0 AND e.`inode` >= ? "
      "GROUP BY e.`inode`, e.`parent` ORDER BY e.`inode`, e.`parent`",
      edge, node);
  at(Special::parentExists) = fmt::format("SELECT 1 FROM {} WHERE `inode`=? LIMIT 1", edge);
}

void Statements::makeVerbs() {
  at(Special::addCounter) = fmt::format("UPDATE {} SET `value`=`value`+? WHERE `name`=?", table("counter"));
  at(Special::initCounter) = fmt::format("INSERT INTO {} (`name`,`value`) VALUES (?,?)", table("counter"));
  at(Special::addNlink) = fmt::format("UPDATE {} SET `nlink`=`nlink`+? WHERE `inode`=?", table("node"));
  bool nanos = layout_.hasColumn("node", "mtimensec");
  at(Special::touch) =
      nanos
          ? fmt::format(
                "UPDATE {} SET `mtime`=?1, `ctime`=?1, `mtimensec`=?2, `ctimensec`=?2 WHERE `inode`=?3 AND "
                "`mtime`*1000+coalesce(`mtimensec`,0) <= ?4",
                table("node"))
          : fmt::format("UPDATE {} SET `mtime`=?1, `ctime`=?1 WHERE `inode`=?3 AND ?2=?2 AND `mtime`*1000 <= ?4", table("node"));
  // The concatenation of blobs is text in SQLite's eyes; cast back, so that the column keeps its declared type.
  at(Special::appendChunk) = fmt::format(
      "UPDATE {} SET `slices`=CAST(`slices`||? AS BLOB) WHERE `inode`=? AND `indx`=? RETURNING length(CAST(`slices` AS BLOB))",
      table("chunk"));
  at(Special::addRef) = fmt::format("UPDATE {} SET `refs`=`refs`+? WHERE `chunkid`=? AND `size`=?", table("chunk_ref"));
  at(Special::addDirStat) = fmt::format(
      "UPDATE {} SET `data_length`=`data_length`+?, `used_space`=`used_space`+?, `used_inodes`=`used_inodes`+? WHERE `inode`=?",
      table("dir_stats"));
  at(Special::addDirQuota) =
      fmt::format("UPDATE {} SET `used_space`=`used_space`+?, `used_inodes`=`used_inodes`+? WHERE `inode`=?", table("dir_quota"));
  for (int type : {1, 2}) {
    auto users = table("user_group_quota");
    at(type == 1 ? Special::addUserQuota : Special::addGroupQuota) = fmt::format(
        "UPDATE {} SET `used_space`=`used_space`+?, `used_inodes`=`used_inodes`+? WHERE `qtype`={} AND `qkey`=?", users, type);
    at(type == 1 ? Special::initUserQuota : Special::initGroupQuota) =
        fmt::format("INSERT INTO {} (`qtype`,`qkey`,`max_space`,`max_inodes`,`used_space`,`used_inodes`) VALUES ({},?,-1,-1,?,?)",
                    users, type);
  }
  at(Special::log) = fmt::format("INSERT INTO {} (`entry`) VALUES (?)", table("change_log"));
  at(Special::unusedSlices) = fmt::format("SELECT `chunkid`, `size` FROM {} WHERE `refs` <= 0 LIMIT ?", table("chunk_ref"));
  // SQL databases number ACL rules by the table's own sequence; the counter that operations see is that sequence.
  at(Special::aclMaxGet) = fmt::format("SELECT `seq` FROM sqlite_sequence WHERE `name`='{}acl'", prefix_);
  at(Special::aclMaxPut) = fmt::format("UPDATE sqlite_sequence SET `seq`=? WHERE `name`='{}acl'", prefix_);
  at(Special::aclMaxInit) = fmt::format("INSERT INTO sqlite_sequence (`seq`,`name`) VALUES (?,'{}acl')", prefix_);
}

void Statements::makeLocks() {
  struct Names {
    std::string_view table, value;
    Special list, listAll, erase, insert, exists;
  };
  for (auto& n : {Names{"flock", "ltype", Special::flockList, Special::flockListAll, Special::flockErase, Special::flockInsert,
                        Special::flockExists},
                  Names{"plock", "records", Special::plockList, Special::plockListAll, Special::plockErase, Special::plockInsert,
                        Special::plockExists}}) {
    auto name = table(n.table);
    auto select = fmt::format("SELECT `inode`, `sid`, `owner`, `{}` FROM {}", n.value, name);
    at(n.list) = fmt::format("{} WHERE `inode`=? ORDER BY `sid`,`owner`", select);
    at(n.listAll) = fmt::format("{} WHERE `inode` > ? ORDER BY `inode`,`sid`,`owner`", select);
    at(n.erase) = fmt::format("DELETE FROM {} WHERE `inode`=?", name);
    at(n.insert) = fmt::format("INSERT INTO {} (`inode`,`sid`,`owner`,`{}`) VALUES (?,?,?,?)", name, n.value);
    at(n.exists) = fmt::format("SELECT 1 FROM {} WHERE `inode`=? LIMIT 1", name);
  }
}

void Statements::makeSessions() {
  if (!layout_.hasTable("session")) return;
  auto now = table("session2"), legacy = table("session");
  at(Special::legacySessionGet) = fmt::format("SELECT `heartbeat`, `info` FROM {} WHERE `sid`=?", legacy);
  at(Special::legacySessionErase) = fmt::format("DELETE FROM {} WHERE `sid`=?", legacy);
  auto old = fmt::format("SELECT `sid`, `heartbeat`, `info`, 1 FROM {} WHERE `sid` > ?1", legacy);
  at(Special::sessionListBoth) = layout_.hasTable("session2") ? fmt::format(
                                                                    "SELECT `sid`, `expire`, `info`, 0 FROM {0} WHERE `sid` > ?1 "
                                                                    "UNION ALL {1} AND `sid` NOT IN (SELECT `sid` FROM {0}) "
                                                                    "ORDER BY 1 LIMIT ?2",
                                                                    now, old)
                                                              : old + " ORDER BY 1 LIMIT ?2";
}

}  // namespace aquifer::meta::sql
