// The bytes of one inode on their way to storage: slices in the order of their creation, committed in that order, so that a file
// never grows over bytes that are not stored yet. Thread-safe; see file_data_impl.h for the lock order.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "chunk/file_data.h"

namespace aquifer::chunk {

class FileDataImpl;

struct ByteRange {
  uint64_t begin = 0, end = 0;
};

class FileWriterImpl final : public FileWriter, public std::enable_shared_from_this<FileWriterImpl> {
 public:
  FileWriterImpl(FileDataImpl& data, meta::Ino ino, uint64_t length, uint8_t tier);
  ~FileWriterImpl() override;
  Status write(uint64_t off, object::Bytes bytes, bool append, const std::function<bool()>& interrupted) override;
  Status flush(const std::function<bool()>& interrupted) override;
  bool dirty() const override;
  bool appending() const override;
  uint64_t length() const override;
  void truncated(uint64_t length) override;

  meta::Ino ino() const { return ino_; }
  void opened(uint64_t length);                          // a new handle saw this length in metadata
  // What of [off, off+out.size()) is still only here, copied into `out`; `covered` says which bytes those are (of the file, sorted,
  // disjoint). What is committed meanwhile is found in the metadata by whoever looks there afterwards. False: `out` is undefined,
  // the range can only be read after a flush (appended bytes, whose place the commit decides; blocks that have left memory).
  Result<bool> overlay(uint64_t off, object::MutableBytes out, std::vector<ByteRange>& covered, const std::function<bool()>& interrupted);
  void freezeOld(int64_t nowNanos);                      // the background rule: idle or old slices
  void freezeAndDrain();                                 // memory is short

 private:
  struct Slice {
    uint32_t chunk = 0, pos = 0;        // unless append
    bool append = false;
    uint64_t expectedOff = 0;           // append: where the bytes stand if nobody else appends
    std::unique_ptr<SliceWriter> out;
    bool frozen = false;                // takes no more bytes (see freeze)
    bool taken = false;                 // the drainer owns `out`
    bool keepBlocks = false;            // the outcome of its commit is unknown: somebody may refer to the blocks
    int64_t startedNanos = 0, modifiedNanos = 0;
    meta::Time mtime;
    uint64_t begin() const { return append ? expectedOff : (uint64_t{chunk} << meta::kChunkBits) + pos; }
    uint64_t end() const { return begin() + out->length(); }
  };
  using SliceRef = std::shared_ptr<Slice>;

  Status writeAt(uint64_t off, object::Bytes piece, const std::function<bool()>& interrupted);
  Status writeAppend(object::Bytes piece, const std::function<bool()>& interrupted);
  // Runs `put` under the lock; when memory was short it waits outside and repeats. `put` changes nothing when it fails.
  Status withMemory(size_t bytes, const std::function<bool()>& interrupted, const std::function<Status(std::unique_lock<std::mutex>&)>& put);
  // All hold mu_.
  void freeze(Slice& s);
  bool frozenMeets(uint64_t begin, uint64_t end, const Slice* youngerThan) const;
  SliceRef place(uint64_t off, uint64_t len);
  SliceRef create(bool append);
  void join(const SliceRef& s);                          // holds mu_
  void wrote(std::unique_lock<std::mutex>& lock, const SliceRef& s, bool fresh);
  Status throttle(const std::function<bool()>& interrupted);
  void freezeAll();                                      // holds mu_
  void kick();                                           // holds mu_: drain in the background if the head is frozen
  // Stores and commits frozen slices from the head on, until `target` slices are finished. One thread at a time (draining_).
  void drain(std::unique_lock<std::mutex>& lock, uint64_t target);
  Status store(Slice& s);
  Result<Committed> commit(Slice& s);
  void committed(const SliceRef& s, const Committed& result);   // holds mu_
  void fail(std::unique_lock<std::mutex>& lock, Status s);

  FileDataImpl& data_;
  const meta::Ino ino_;
  const uint8_t tier_;
  mutable std::mutex mu_;
  std::condition_variable changed_;
  std::deque<SliceRef> slices_;         // oldest first
  // Those that still take bytes, by where they begin. They never overlap each other, nor a frozen one that is younger than they are:
  // then bytes may join them although the order of commits is that of creation.
  std::map<uint64_t, SliceRef> open_;
  size_t frozen_ = 0;                   // of slices_
  uint64_t created_ = 0, finished_ = 0; // slices so far; finished: committed or given up
  bool draining_ = false, kicked_ = false;
  bool readBack_ = false;               // bytes were read before they were committed: from then on whole blocks do not leave early
  uint64_t length_;
  Status error_;                        // sticky
};

}  // namespace aquifer::chunk
