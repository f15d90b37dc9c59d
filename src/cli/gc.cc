// `gc`: compares the objects in storage with the slices that the metadata knows; compacts and deletes on request.
#include <fmt/core.h>

#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "cli/block_scan.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/trash_walk.h"
#include "cli/volume.h"
#include "vfs/data_hooks.h"

namespace aquifer::cli {

namespace {

constexpr int64_t kYoungSeconds = 3600;   // objects of running uploads are not in the metadata yet

struct Pile {
  uint64_t count = 0, bytes = 0;
  void add(uint64_t size) { ++count, bytes += size; }
};

struct Known {
  std::unordered_map<meta::SliceId, uint32_t> used, pending, trash;   // slice -> size
  uint64_t bytes = 0;               // of all records
};

class Collector {
 public:
  Collector(Volume& volume, const Args& args) : volume_(volume), meta_(*volume.meta), args_(args), deleting_(args.flag("delete")) {}

  void run();

 private:
  void cleanMetadata();
  void cleanTrash();
  void compact();
  void readSlices();
  void scanObjects();
  void classify(const BlockObject& block, int64_t youngest);
  void job(const char* name, const char* what);
  template <class T>
  T must(Result<T> r, const char* what) {
    if (!r) LOG_FATAL("{}: {}", what, r.status().text());
    return *std::move(r);
  }
  void must(const Status& s, const char* what) {
    if (!s) LOG_FATAL("{}: {}", what, s.text());
  }

  Volume& volume_;
  meta::Meta& meta_;
  const Args& args_;
  const bool deleting_;
  Progress progress_;
  std::unique_ptr<chunk::BlockStore> blocks_;
  std::unique_ptr<ThreadPool> deleters_;
  std::mutex failureMu_;
  uint64_t failures_ = 0;   // guarded by failureMu_
  Known known_;
  Pile valid_, pending_, compacted_, leaked_, skipped_, delSlices_, delFiles_;
  uint64_t scanned_ = 0;
};

void Collector::job(const char* name, const char* what) {
  uint64_t removed = 0;
  must(meta_.runJob(name, &removed), what);
  if (removed) LOG_INFO("{}: {} removed", what, removed);
}

// Folders of hours that began more than TrashDays ago. Mounts wait two hours longer; who runs this wants the space now.
void Collector::cleanTrash() {
  auto edge = unixSeconds() - int64_t{volume_.format.trashDays} * 86400;
  std::vector<std::string> expired;
  must(forEachTrashHour(meta_, [&](const meta::DirEntry& hour) {
    int64_t began = 0;
    if (parseHourNameUtc(hour.name, &began) && began < edge) expired.push_back(hour.name);
    return Status();
  }), "list the trash");
  auto& bar = progress_.counter("Cleaned trash");
  for (auto& hour : expired) {
    auto before = bar.current();
    auto s = meta_.removeAll(meta::Context::root(), meta::kTrashIno, hour, true, static_cast<int>(args_.integer("threads")), [&](uint64_t done, uint64_t) {
      bar.set(before + static_cast<int64_t>(done));
      return true;
    });
    // The folder itself, empty now, goes with the mounts' next round: nobody else may change the trash's root.
    if (!s && !s.is(Code::notFound) && !s.is(Code::notPermitted)) LOG_WARN("clean trash {}: {}", hour, s.text());
  }
}

void Collector::cleanMetadata() {
  if (deleting_) {
    cleanTrash();
    job("trash", "clean the trash");
    job("detached", "clean detached nodes");
  }
  must(meta_.listDelFiles([&](meta::Ino, uint64_t length, int64_t) {
    delFiles_.add(length);
    return Status();
  }), "list deleted files");
  if (deleting_) job("files", "clean deleted files");
}

// Every chunk with more than one record. Files are found through the slices, chunks through the length.
void Collector::compact() {
  std::unordered_map<meta::Ino, uint32_t> records;
  must(meta_.listSlices([&](meta::Ino ino, const meta::Slice&) {
    ++records[ino];
    return Status();
  }), "list slices");
  auto& bar = progress_.counter("Compacted chunks");
  Pile slices;
  uint64_t chunks = 0;
  for (auto& [ino, count] : records) {
    if (count < 2) continue;
    auto attr = meta_.getattr(meta::Context::root(), ino);
    if (!attr) continue;   // removed meanwhile
    auto last = attr->length == 0 ? 0 : (attr->length - 1) >> meta::kChunkBits;
    for (uint64_t index = 0; index <= last; ++index) {
      auto before = meta_.readChunk(ino, static_cast<uint32_t>(index));
      if (!before || before->size() < 2) continue;
      if (auto s = meta_.compactChunk(ino, static_cast<uint32_t>(index)).status(); !s) {
        LOG_WARN("compact chunk {} of inode {}: {}", index, ino, s.text());
        continue;
      }
      auto after = meta_.readChunk(ino, static_cast<uint32_t>(index));
      if (!after || after->size() >= before->size()) continue;
      ++chunks;
      bar.add();
      for (auto& slice : *before) slices.add(slice.len);
    }
  }
  if (!progress_.shown()) LOG_INFO("Compacted {} chunks ({} slices, {} bytes).", chunks, slices.count, slices.bytes);
}

void Collector::readSlices() {
  auto& bar = progress_.counter("Listed slices");
  must(meta_.listSlices([&](meta::Ino, const meta::Slice& slice) {
    if (slice.id == 0) return Status();
    bar.add();
    known_.used.emplace(slice.id, slice.size);
    known_.bytes += slice.size;
    return Status();
  }), "list slices");
  for (auto& [id, size] : must(meta_.pendingSlices(), "list pending slices")) known_.pending.emplace(id, size);
  if (deleting_) {
    uint64_t removed = 0;
    must(meta_.runJob("slices", &removed), "clean slices in the trash");
    delSlices_.count = removed;
  }
  must(meta_.listTrashSlices([&](meta::SliceId id, uint32_t size, int64_t) {
    known_.trash.emplace(id, size);
    known_.bytes += size;
    return Status();
  }), "list slices in the trash");
  if (!progress_.shown())
    LOG_INFO("using {} slices ({} bytes)", known_.used.size() + known_.trash.size(), known_.bytes);
}

void Collector::classify(const BlockObject& block, int64_t youngest) {
  ++scanned_;
  if (block.mtime > youngest) return skipped_.add(block.bytes);
  const auto find = [&](const auto& map) { return map.find(block.id); };
  Pile* pile = nullptr;
  uint32_t size = 0;
  if (block.leftover) pile = nullptr;
  else if (auto used = find(known_.used); used != known_.used.end()) pile = &valid_, size = used->second;
  else if (auto waiting = find(known_.pending); waiting != known_.pending.end()) pile = &pending_, size = waiting->second;
  else if (auto old = find(known_.trash); old != known_.trash.end()) pile = &compacted_, size = old->second;
  auto blockSize = volume_.format.blockSize();
  bool fits = pile && block.index < blockCount(size, blockSize) && block.size == blockLength(size, blockSize, block.index);
  if (fits) return pile->add(block.bytes);
  leaked_.add(block.bytes);
  if (!deleting_) return;
  deleters_->submit([this, key = block.key] {
    auto s = blocks_->objects().remove(key);
    if (s) return;
    LOG_WARN("delete {}: {}", key, s.text());
    std::lock_guard lock(failureMu_);
    ++failures_;
  });
}

void Collector::scanObjects() {
  int64_t young = kYoungSeconds;
  if (const char* v = std::getenv("JFS_GC_SKIPPEDTIME"); v && *v) {
    char* end = nullptr;
    young = std::strtoll(v, &end, 10);
    // Negative: objects of the future are old enough as well (stores without times report "now").
    if (*end) LOG_FATAL("JFS_GC_SKIPPEDTIME is \"{}\"; it takes a number of seconds", v);
  }
  auto& bar = progress_.counter("Scanned objects");
  auto youngest = unixSeconds() - young;
  must(forEachBlock(blocks_->objects(), [&](const BlockObject& block) {
    classify(block, youngest);
    bar.add();
    return Status();
  }), "list objects");
  if (deleters_) deleters_->stop();
}

void Collector::run() {
  auto store = openStorage(volume_.format, nullptr);
  if (!store) LOG_FATAL("object storage: {}", store.status().text());
  auto threads = static_cast<int>(std::min<uint64_t>(std::max<int64_t>(args_.integer("threads"), 1), 256));
  auto config = blockConfig(volume_.format, nullptr);
  config.maxUploads = threads;
  blocks_ = must(chunk::openBlockStore(*std::move(store), config), "object storage");
  vfs::wireDataHooks(meta_, *blocks_);
  if (deleting_) deleters_ = std::make_unique<ThreadPool>("gc-delete", threads, 1000);

  cleanMetadata();
  if (args_.flag("compact")) compact();
  // Slices first would miss what is written meanwhile, objects first would show it as lost: young objects are skipped for that.
  readSlices();
  if (deleting_) {
    uint64_t removed = 0;
    if (!known_.pending.empty()) must(meta_.runJob("slices", &removed), "delete pending slices");
  }
  scanObjects();
  progress_.finish();
  if (deleting_ || args_.flag("compact")) LOG_INFO("Deleted {} pending slices", deleting_ ? known_.pending.size() : 0);
  LOG_INFO(
      "scanned {} objects, {} valid, {} pending delete ({} bytes), {} compacted ({} bytes), {} leaked ({} bytes), {} delslices ({} bytes), "
      "{} delfiles ({} bytes), {} skipped ({} bytes)",
      scanned_, valid_.count, pending_.count, pending_.bytes, compacted_.count, compacted_.bytes, leaked_.count, leaked_.bytes,
      delSlices_.count, delSlices_.bytes, delFiles_.count, delFiles_.bytes, skipped_.count, skipped_.bytes);
  if (leaked_.count && !deleting_) LOG_INFO("Please add `--delete` to clean leaked objects");
  meta_.setDataHooks({});
  if (auto s = blocks_->close(); !s) LOG_WARN("close the object storage: {}", s.text());
  if (failures_) LOG_FATAL("{} objects could not be deleted", failures_);
}

int run(const Args& args) {
  auto volume = openVolumeOrDie(args.at(0));
  Collector(volume, args).run();
  return 0;
}

}  // namespace

Command gcCommand() {
  using enum OptionType;
  return {"gc",
          "ADMIN",
          "Find, and on request remove, what nothing refers to any more",
          "META-URL",
          "Compares the objects in storage with the slices in the metadata. Changes nothing unless told to. Objects younger\n"
          "than an hour are left alone: their files may just be being written (JFS_GC_SKIPPEDTIME: other seconds).\n\n"
          "Examples:\n"
          "$ juicefs gc sqlite3://my.db\n"
          "$ juicefs gc sqlite3://my.db --compact --delete",
          {{"",
            {
                {"compact", flag, "", "merge the small slices of each chunk"},
                {"delete", flag, "", "delete leaked objects, expired trash, and what waits for its deletion"},
                {"threads,p", integer, "10", "deletions at a time"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
