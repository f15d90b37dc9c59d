// What is noted about every operation before and while it is worked on, so that a request that comes again after the death of the
// process which had taken it is answered exactly once, and one that kills every process is found out. The server gives every
// thread a place for one operation; where nothing survives (no supervisor) the entry is memory of the thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "meta/model/types.h"

namespace aquifer::fuse {

// Lives in memory that the supervisor holds: plain words, written in the order that makes each state true when it is read.
struct JournalEntry {
  std::atomic<uint64_t> identity{0};  // of the request, 0 = free
  std::atomic<uint32_t> op{0};
  std::atomic<uint32_t> flags{0};   // kStarted …
  std::atomic<uint64_t> ino{0};     // made by the operation (create …) or about to be acted on by it (unlink, rename …)
  std::atomic<uint64_t> fh{0};      // of the handle that open or create made
  std::atomic<uint32_t> active{0};  // an orphan that is being worked on
  std::atomic<uint32_t> deaths{0};  // how many processes have crashed meanwhile
};
enum JournalFlag : uint32_t { kJournalStarted = 1, kJournalIntent = 2, kJournalOpened = 4 };

}  // namespace aquifer::fuse
