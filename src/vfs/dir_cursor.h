// The position of one open directory. Listing goes by name ("strictly after"), so what others create or delete meanwhile neither
// skips nor doubles an entry that stays. The kernel wants numbers: every entry that is listed gets a cookie that is never used
// again by this handle, and recent cookies are kept with their names. In bounded memory (below 1 MiB) older pages shrink to one
// name each, from which a seek counts on; that is exact as long as the directory does not change in between.
// One thread at a time.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "meta/store/txn.h"

namespace aquifer::vfs {

class DirCursor {
 public:
  using List = std::function<Result<std::vector<meta::DirEntry>>(std::string_view after, size_t limit, bool plus)>;
  static constexpr uint64_t kStart = 16;   // cookies below are the caller's ("." and so on); kStart = before the first entry

  explicit DirCursor(List list) : list_(std::move(list)) {}
  // Go behind the entry with this cookie (kStart: to the front, where everything is listed anew). plus: attributes are wanted.
  Status seek(uint64_t cookie, bool plus);
  // The entry at the position, nullptr at the end. The pointer is good until the next call.
  Result<const meta::DirEntry*> peek();
  uint64_t cookie() const;   // of the entry that peek gave: where the caller stands after it
  void advance() { index_++; }
  // List again from here on, about as much as was used of the last page: its attributes are older than a change.
  Status relist(bool plus);
  int64_t listedAt() const { return listedAt_; }   // monotonic ns, before the page was read
  bool hasAttrs() const { return plus_; }
  const std::vector<meta::DirEntry>& page() const { return page_; }
  size_t memory() const;

 private:
  struct Names {
    uint64_t first;   // cookie of names[0]
    std::vector<std::string> names;
  };
  struct Checkpoint {
    uint64_t cookie;
    std::string name;
  };
  Status load(std::string after, uint64_t startCookie, size_t limit);
  void retire();
  void trim();
  static constexpr size_t kMinPage = 64, kMaxPage = 1024, kNamesBytes = 384 << 10, kCheckpointBytes = 128 << 10;
  List list_;
  std::vector<meta::DirEntry> page_;
  std::string after_;                 // the page lists names after this one
  uint64_t startCookie_ = 0, firstCookie_ = kStart + 1;   // position before the page; cookie of its first entry
  uint64_t nextCookie_ = kStart + 1;  // never given out yet
  size_t index_ = 0, from_ = 0, limit_ = 256;             // position; where the last seek put it
  bool loaded_ = false, end_ = false, plus_ = false, wantPlus_ = false;
  int64_t listedAt_ = 0;
  std::deque<Names> history_;
  size_t historyBytes_ = 0, checkpointBytes_ = 0;
  std::deque<Checkpoint> checkpoints_;
};

}  // namespace aquifer::vfs
