// For the tests of this folder: metadata in memory, an object store that counts and fails on demand, a folder that goes away.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "chunk/file_data.h"
#include "object/object_store.h"

namespace aquifer::chunk::testing {

// Records like a volume's, one lock around everything.
class FakeMeta : public SliceSource {
 public:
  Result<std::vector<meta::Slice>> readChunk(meta::Ino ino, uint32_t index) override {
    std::lock_guard lock(mu_);
    ++reads;
    return chunks_[{ino, index}];
  }
  Result<meta::SliceId> newSliceId() override { return next_.fetch_add(1); }
  Result<Committed> commitWrite(meta::Ino ino, uint32_t index, const meta::Slice& s, meta::Time) override {
    std::lock_guard lock(mu_);
    if (fail.load() != Code::ok) return fail.load();
    ++commits;
    const uint64_t at = (uint64_t{index} << meta::kChunkBits) + s.pos;
    auto& list = chunks_[{ino, index}];
    list.push_back(s);
    auto& length = lengths_[ino];
    length = std::max(length, at + s.len);
    return Committed{length, at, static_cast<uint32_t>(list.size())};
  }
  Result<Committed> commitAppend(meta::Ino ino, meta::SliceId id, uint32_t size, uint32_t off, uint32_t len, meta::Time) override {
    std::lock_guard lock(mu_);
    if (fail.load() != Code::ok) return fail.load();
    ++commits;
    auto& length = lengths_[ino];
    const uint64_t start = length;
    for (uint32_t done = 0; done < len;) {
      const uint64_t at = start + done;
      const auto pos = static_cast<uint32_t>(at & (meta::kChunkSize - 1));
      const auto n = static_cast<uint32_t>(std::min<uint64_t>(len - done, meta::kChunkSize - pos));
      chunks_[{ino, static_cast<uint32_t>(at >> meta::kChunkBits)}].push_back({pos, id, size, off + done, n});
      done += n;
    }
    length = start + len;
    return Committed{length, start, 1};
  }
  void committed(meta::Ino, uint32_t, const Committed&, bool moved) override { movedCount += moved; }

  uint64_t length(meta::Ino ino) {
    std::lock_guard lock(mu_);
    return lengths_[ino];
  }
  // What a truncate leaves: shrinking cuts with a hole to the old end, growing adds nothing.
  void truncate(meta::Ino ino, uint64_t length) {
    std::lock_guard lock(mu_);
    const uint64_t old = lengths_[ino];
    for (uint64_t at = length; at < old;) {
      const auto pos = static_cast<uint32_t>(at & (meta::kChunkSize - 1));
      const auto n = static_cast<uint32_t>(std::min<uint64_t>(old - at, meta::kChunkSize - pos));
      chunks_[{ino, static_cast<uint32_t>(at >> meta::kChunkBits)}].push_back({pos, 0, n, 0, n});
      at += n;
    }
    lengths_[ino] = length;
  }
  std::vector<meta::Slice>& chunk(meta::Ino ino, uint32_t index) { return chunks_[{ino, index}]; }

  std::atomic<int> reads{0}, commits{0}, movedCount{0};
  std::atomic<Code> fail{Code::ok};

 private:
  std::mutex mu_;
  std::atomic<meta::SliceId> next_{1};
  std::map<std::pair<meta::Ino, uint32_t>, std::vector<meta::Slice>> chunks_;
  std::map<meta::Ino, uint64_t> lengths_;
};

struct ObjectCounts {
  std::atomic<int> gets{0}, rangeGets{0}, puts{0}, removes{0};
  std::atomic<bool> failGets{false}, failPuts{false};
  std::function<void()> beforePut, beforeGet;
};

class CountingStore : public object::ObjectStore {
 public:
  CountingStore(std::unique_ptr<object::ObjectStore> below, std::shared_ptr<ObjectCounts> counts)
      : below_(std::move(below)), counts_(std::move(counts)) {}
  std::string describe() const override { return below_->describe(); }
  object::Capabilities capabilities() const override { return below_->capabilities(); }
  Result<size_t> get(std::string_view key, uint64_t off, object::MutableBytes out) override {
    ++counts_->gets;
    if (off > 0) ++counts_->rangeGets;
    if (counts_->beforeGet) counts_->beforeGet();
    if (counts_->failGets) return Code::io;
    return below_->get(key, off, out);
  }
  Status put(std::string_view key, object::Bytes data, uint8_t tier) override {
    ++counts_->puts;
    if (counts_->beforePut) counts_->beforePut();
    if (counts_->failPuts) return Code::io;
    return below_->put(key, data, tier);
  }
  Status remove(std::string_view key) override {
    ++counts_->removes;
    return below_->remove(key);
  }
  Result<object::ObjectInfo> head(std::string_view key) override { return below_->head(key); }
  Status list(std::string_view prefix, std::string_view after, const std::function<bool(const object::ObjectInfo&)>& visit) override {
    return below_->list(prefix, after, visit);
  }

 private:
  const std::unique_ptr<object::ObjectStore> below_;
  const std::shared_ptr<ObjectCounts> counts_;
};

// Buckets of the mem driver live as long as the process, so a store can be opened again on the same objects.
inline std::unique_ptr<object::ObjectStore> memObjects(const std::string& bucket) {
  object::StoreConfig c;
  c.storage = "mem";
  c.bucket = bucket;
  auto s = object::openDriver(c);
  return s ? *std::move(s) : nullptr;
}

class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/aquifer-chunk-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline object::Bytes bytesOf(const std::string& s) { return {reinterpret_cast<const std::byte*>(s.data()), s.size()}; }
inline object::MutableBytes spanOf(std::string& s) { return {reinterpret_cast<std::byte*>(s.data()), s.size()}; }

inline std::string pattern(size_t n, uint64_t seed) {
  std::string out(n, '\0');
  uint64_t x = seed * 2654435761u + 1;
  for (auto& c : out) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    c = static_cast<char>(x);
  }
  return out;
}

// Waits for what happens in the background; false after ten seconds.
inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    ::usleep(10'000);
  }
  return condition();
}

}  // namespace aquifer::chunk::testing
