// Where each record lies: the keys and fields that JuiceFS uses (docs/formats/metadata.md), as "cells", each of which is one
// string, hash field, list, set member … of the server. Reading a record reads its cells; checking that it still holds checks its
// cells.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meta/store/record.h"
#include "meta/store/redis/connection.h"

namespace aquifer::meta::redis {

struct Cell {
  enum class Type : uint8_t {
    string,  // key
    field,   // key, field
    hash,    // key, with all its fields
    list,    // key, with all its elements
    score,   // key, field = member of a sorted set
    member,  // key, field = member of a set
  };
  Type type = Type::string;
  std::string key, field;
};

// What a cell was seen to hold. Lists and hashes that are empty are absent, as on the server.
struct CellValue {
  bool present = false;
  std::string bytes;               // string, field, score; a list's elements one behind the other
  std::vector<std::string> items;  // hash: field, value, field, value …
};

// First the cell that decides whether the record exists. Code::invalid for a key that has no place here.
Result<std::vector<Cell>> cellsOf(const Key& key);
Command readCommand(const Cell& cell);
Result<CellValue> decodeCell(const Cell& cell, View reply);
// `cells` as cellsOf() lists them. Code::corrupt for bytes that do not decode.
Result<std::optional<Value>> decodeRecord(const Key& key, const std::vector<CellValue>& cells);

// ---- names ----
std::string decimal(uint64_t n);
std::string numbered(std::string_view prefix, uint64_t n);  // i1, d1, session7 …
std::string chunkKey(Ino ino, uint64_t index);              // c1_0
std::string counterKey(std::string_view name);
bool holdsLastUsed(std::string_view counter);                  // such a counter is stored one lower than the record says
std::string pairName(uint64_t a, char separator, uint64_t b);  // 1:4096, 9_1700000000
std::string sliceField(SliceId id, uint64_t size);             // k9_4096
std::string ownerField(SessionId sid, uint64_t owner);         // 1_2BAE072AC35148D8
struct QuotaNames {
  std::string limits, space, inodes;
};
const QuotaNames& quotaNames(Kind kind);

// The numbers in a name, strictly: nullopt for anything else.
std::optional<uint64_t> parseNumbered(std::string_view name, std::string_view prefix);
std::optional<std::pair<uint64_t, uint64_t>> parsePair(std::string_view name, std::string_view prefix, char separator);

}  // namespace aquifer::meta::redis
