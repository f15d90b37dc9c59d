// What a store can tell about commits of others, so that somebody may trust what was read for as long as nothing is told.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "meta/store/record.h"

namespace aquifer::meta {

// Hears of commits. Called by one thread at a time, perhaps with a store's locks held: it must be quick and must not call the
// store. A commit is told within milliseconds of being visible, never before; one that nobody would notice may be told too.
class ChangeSink {
 public:
  virtual ~ChangeSink() = default;
  // These nodes and dentries. A dentry without a name stands for all names of that directory.
  virtual void changed(std::span<const Key> keys) = 0;
  virtual void allChanged() = 0;                      // anything may have changed
  virtual void live() = 0;                            // from now on commits are told
  virtual void lost(std::string_view why) = 0;        // no more, until live()
};

// Open while somebody listens; the sink is not called any more when the destructor has returned. Must not outlive its store.
class ChangeFeed {
 public:
  virtual ~ChangeFeed() = default;
};

// While one lives, the commits of this thread need not be told to the sinks of this process: whoever caused them knows, since he
// asked for them. A store that cannot tell its own commits from others ignores it.
class CallerKnows {
 public:
  CallerKnows() { ++depth(); }
  ~CallerKnows() { --depth(); }
  CallerKnows(const CallerKnows&) = delete;
  CallerKnows& operator=(const CallerKnows&) = delete;
  static bool now() { return depth() > 0; }

 private:
  static int& depth() {
    static thread_local int n = 0;
    return n;
  }
};

}  // namespace aquifer::meta
