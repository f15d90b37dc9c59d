// The bytes of files: what write() buffers, what read() assembles. Knows slices and blocks, and metadata only through SliceSource.
//
// Writer: one per inode with open writable handles, shared by them. Write places bytes in slice buffers (per chunk, newest
// first), full blocks upload at once; flush freezes all slices, waits until they are stored, and commits them in order.
// Appended bytes (append = true) form slices whose place is chosen by the commit.
// Reader: one per handle. Read takes what its host has written and not yet committed from the inode's writer, fetches the slice
// list of a chunk (cached until invalidated) for the rest, paints it, and reads pieces from the block store; holes are zeros.
// Thread-safe. Errors: errno codes; a writer's failure is sticky and returned by every later write, flush and close of the inode.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "chunk/block_store.h"
#include "meta/model/types.h"

namespace aquifer::chunk {

struct Committed {
  uint64_t length = 0;       // of the file after the commit
  uint64_t offset = 0;       // where the bytes stand
  uint32_t recordCount = 0;  // records of the chunk
};

// What the data path needs of metadata; vfs implements it over meta::Meta. Thread-safe.
class SliceSource {
 public:
  virtual ~SliceSource() = default;
  virtual Result<std::vector<meta::Slice>> readChunk(meta::Ino ino, uint32_t index) = 0;
  virtual Result<meta::SliceId> newSliceId() = 0;
  virtual Result<Committed> commitWrite(meta::Ino ino, uint32_t index, const meta::Slice& slice, meta::Time mtime) = 0;
  virtual Result<Committed> commitAppend(meta::Ino ino, meta::SliceId id, uint32_t size, uint32_t off, uint32_t len, meta::Time mtime) = 0;
  // Told after each commit, without locks held: appended bytes may stand elsewhere than the kernel thought.
  virtual void committed(meta::Ino ino, uint32_t index, const Committed& result, bool moved) = 0;
};

class FileWriter {
 public:
  virtual ~FileWriter() = default;
  // `off` is ignored when append. Blocks while buffers are at their bound; interruptible.
  virtual Status write(uint64_t off, object::Bytes data, bool append, const std::function<bool()>& interrupted) = 0;
  virtual Status flush(const std::function<bool()>& interrupted) = 0;   // everything written so far is stored and committed
  virtual bool dirty() const = 0;
  virtual bool appending() const = 0;           // holds appended bytes: the file's length is known after a flush only
  virtual uint64_t length() const = 0;          // max(length known to metadata, end of what is buffered)
  virtual void truncated(uint64_t length) = 0;  // metadata says so (after flush, under the caller's lock)
};

class FileReader {
 public:
  virtual ~FileReader() = default;
  // Up to out.size() bytes from off, cut at fileLength. Returns the count.
  virtual Result<size_t> read(uint64_t off, object::MutableBytes out, uint64_t fileLength, const std::function<bool()>& interrupted) = 0;
};

class FileData {
 public:
  virtual ~FileData() = default;
  // The writer of the inode: the live one or a new one that starts at `length`. It lives as long as someone holds it or it is dirty.
  virtual std::shared_ptr<FileWriter> writer(meta::Ino ino, uint64_t length, uint8_t tier) = 0;
  virtual std::shared_ptr<FileWriter> existingWriter(meta::Ino ino) = 0;  // or nullptr
  virtual std::unique_ptr<FileReader> reader(meta::Ino ino) = 0;
  virtual Status flush(meta::Ino ino, const std::function<bool()>& interrupted) = 0;  // ok without a writer
  virtual Status flushAll() = 0;
  // The slices of these bytes changed (commit, truncate, compaction, or another client): forget slice lists and read buffers.
  virtual void invalidate(meta::Ino ino, uint64_t off, uint64_t len) = 0;
  virtual size_t usedBuffers() const = 0;
};

std::unique_ptr<FileData> makeFileData(BlockStore& blocks, SliceSource& meta);

}  // namespace aquifer::chunk
