// FileData: the table of live writers, the thread that freezes what has waited long enough, and what readers share.
// Lock order: FileWriterImpl::mu_ before FileDataImpl::mu_.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/thread_pool.h"
#include "chunk/chunk_views.h"
#include "chunk/file_data.h"

namespace aquifer::chunk {

class FileWriterImpl;

class FileDataImpl final : public FileData {
 public:
  FileDataImpl(BlockStore& blocks, SliceSource& meta);
  ~FileDataImpl() override;
  std::shared_ptr<FileWriter> writer(meta::Ino ino, uint64_t length, uint8_t tier) override;
  std::shared_ptr<FileWriter> existingWriter(meta::Ino ino) override;
  std::unique_ptr<FileReader> reader(meta::Ino ino) override;
  Status flush(meta::Ino ino, const std::function<bool()>& interrupted) override;
  Status flushAll() override;
  void invalidate(meta::Ino ino, uint64_t off, uint64_t len) override { views_.invalidate(ino, off, len); }
  size_t usedBuffers() const override { return blocks_.buffers().used(); }
  bool anyDirty() const { return dirtyCount_.load(std::memory_order_acquire) > 0; }

  // For writers and readers.
  BlockStore& blocks() { return blocks_; }
  SliceSource& meta() { return meta_; }
  ChunkViews& views() { return views_; }
  ThreadPool& pool() { return pool_; }                  // pieces of one request, slices of one flush
  ThreadPool& background() { return background_; }      // flushes nobody waits for, read-ahead planning
  std::shared_ptr<FileWriterImpl> find(meta::Ino ino);
  void setDirty(const std::shared_ptr<FileWriterImpl>& writer);   // keeps it alive and in sight of the flusher
  void setClean(meta::Ino ino);
  void gone(meta::Ino ino);                             // a writer was destroyed
  void relieve();                                       // memory is at its bound: get everything on its way

 private:
  void flushLoop();
  std::vector<std::shared_ptr<FileWriterImpl>> dirtyWriters();
  BlockStore& blocks_;
  SliceSource& meta_;
  ChunkViews views_;
  std::mutex mu_;
  std::condition_variable tick_;
  std::unordered_map<meta::Ino, std::weak_ptr<FileWriterImpl>> writers_;
  std::unordered_map<meta::Ino, std::shared_ptr<FileWriterImpl>> dirty_;
  std::atomic<size_t> dirtyCount_{0};
  std::atomic<int64_t> relievedAt_{0};
  bool stop_ = false, asleep_ = false;
  ThreadPool pool_, background_;
  std::thread flusher_;
};

}  // namespace aquifer::chunk
