// The words of one commit: what has to hold, and what is then written (the language of commitScript in scripts.h). Plain value.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meta/store/redis/cells.h"
#include "meta/store/redis/client.h"
#include "meta/store/write_set.h"

namespace aquifer::meta::redis {

inline constexpr OverlayRules kRedisRules{false, true};

class CommitPlan {
 public:
  // ---- what has to hold ----
  void expectCell(const Cell& cell, const CellValue& seen);
  void expectAbsent(const Cell& cell);
  // The node's bytes, as far as `fields` look at them.
  void expectNode(const Cell& cell, std::string_view seen, uint32_t fields);
  void expectNoKey(std::string key);
  void expectField(std::string key, std::string field, std::string value);
  void expectHash(std::string key, std::span<const std::string> fieldsAndValues);
  void expectHashSize(std::string key, size_t fields);
  void expectSet(std::string key, std::span<const std::string> members);
  void expectLogStart(uint64_t version);

  // ---- what is written ----
  Status write(const Key& key, const Change& change);
  Status writeLog(const std::vector<std::string>& entries);
  // Versions that the change log loses: they have to be its oldest ones.
  Status trimLog(const std::vector<uint64_t>& versions);

  bool empty() const { return checks_ == 0 && writes_ == 0; }
  bool changes() const { return writes_ > 0; }
  // Sends it. conflict, maybeCommitted, unavailable, or an error of the server; nothing was written then (maybeCommitted:
  // unknown).
  Status commit(Client& client);

 private:
  void check(std::initializer_list<std::string_view> words);
  void command(std::initializer_list<std::string_view> words);
  void writeNode(const Key& key, const Change& change);
  void writeChunk(const Key& key, const Change& change);
  void push(const std::string& key, const SliceList& slices, const std::vector<uint32_t*>& counts);
  void writeCounter(const Key& key, const Change& change);
  void writeSliceRef(const Key& key, const Change& change);
  void writeSession(const Key& key, const Change& change);
  void writeDirStat(const Key& key, const Change& change);
  void writeQuota(const Key& key, const Change& change);
  void writeLocks(const Key& key, const Change& change);
  void writeField(const std::string& key, std::string_view field, const Change& change, std::string_view value);
  void writeScore(std::string_view key, std::string_view member, const Change& change);

  struct Count {
    std::vector<uint32_t*> to;
    std::optional<uint32_t> known;  // else the server tells
  };
  std::vector<std::string> checkWords_, writeWords_;
  std::set<std::string, std::less<>> keys_;
  size_t checks_ = 0, writes_ = 0;
  std::vector<Count> counts_;
};

}  // namespace aquifer::meta::redis
