// The automatic backup of the metadata: a JSON dump under meta/ of the object storage (docs/formats/metadata.md §14), by one of the
// clients of a volume, at most once an interval, with old ones rotated away. Runs on a thread of its own, in bounded memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "meta/ops/meta.h"
#include "object/object_store.h"

namespace aquifer::cli {

struct BackupConfig {
  int64_t intervalNanos = 0;
  bool skipTrash = false;
};

class MountBackup {
 public:
  // Both outlive this. Starts at once.
  MountBackup(meta::Meta& meta, object::ObjectStore& objects, const BackupConfig& config);
  ~MountBackup();   // gives a dump that is under way up

 private:
  void loop();
  bool stopping();
  // True if it is this client's turn: the time of the last backup is older than an interval and is now.
  Result<bool> myTurn();
  Status backUp();
  Status dumpTo(const std::string& path);
  Status rotate(int64_t now);

  meta::Meta& meta_;
  object::ObjectStore& objects_;
  const BackupConfig config_;
  std::mutex mu_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace aquifer::cli
