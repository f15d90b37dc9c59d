// Open files and directories. Numbers grow; odd ones are read-only, directories or virtual files, even ones are writable, so that
// a number alone says how an unknown handle (from before a restart) may be opened again. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "chunk/file_data.h"
#include "vfs/access_log.h"
#include "vfs/control/channel.h"
#include "vfs/dir_cursor.h"
#include "vfs/inode_state.h"
#include "vfs/vfs.h"

namespace aquifer::vfs {

struct OpenFile {
  OpenFile(Handle fh, Ino ino) : fh(fh), ino(ino) {}
  const Handle fh;
  const Ino ino;
  uint8_t tier = 0;                     // of the file; set before others see it
  InodeRef inode;                       // files only
  std::atomic<bool> lost{false};        // bytes written through it died with a process: fsync and close say so
  std::atomic<uint64_t> flockOwner{0};  // who took a whole-file lock through it
  bool counted = false;                 // metadata counts it as open

  std::mutex mu;                        // guards what follows
  std::unique_ptr<chunk::FileReader> reader;
  std::shared_ptr<chunk::FileWriter> writer;
  std::unique_ptr<DirCursor> dir;
  Ino dirParent = 0;
  std::string content;                  // of a virtual file, as it was on open
  std::shared_ptr<AccessLog::Reader> log;
  std::shared_ptr<ControlChannel> control;
};
using FileRef = std::shared_ptr<OpenFile>;

inline bool isWritable(Handle fh) { return fh % 2 == 0; }

class Handles {
 public:
  Handle number(bool writable) {
    uint64_t n = next_.fetch_add(1, std::memory_order_relaxed);
    return 2 * n + (writable ? 2 : 1);
  }
  Handle next() const { return 2 * next_.load(std::memory_order_relaxed) + 1; }
  void startFrom(Handle fh) {
    uint64_t n = fh / 2 + 1, old = next_.load();
    while (old < n && !next_.compare_exchange_weak(old, n)) {}
  }
  // False if the number is taken (then *file is the one that has it).
  bool add(FileRef& file);
  FileRef find(Handle fh) const;
  FileRef remove(Handle fh);
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  std::vector<FileRef> takeAll();

 private:
  struct Shard {
    mutable std::shared_mutex mu;
    std::unordered_map<Handle, FileRef> files;
  };
  // Neighbouring numbers go to different shards.
  Shard& shard(Handle fh) { return shards_[fh / 2 % shards_.size()]; }
  const Shard& shard(Handle fh) const { return shards_[fh / 2 % shards_.size()]; }
  std::array<Shard, 32> shards_;
  std::atomic<uint64_t> next_{0};
  std::atomic<size_t> size_{0};
};

}  // namespace aquifer::vfs
