// `fsck`: are all blocks that files refer to in the object storage, and (with --path) is the tree itself sound?
#include <fmt/core.h>

#include <map>
#include <unordered_set>

#include "base/log.h"
#include "chunk/block_store.h"
#include "cli/block_scan.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/values.h"
#include "cli/volume.h"

namespace aquifer::cli {

namespace {

constexpr size_t kMostPathsShown = 10'000;

class Checker {
 public:
  Checker(Volume& volume, object::ObjectStore& store) : volume_(volume), meta_(*volume.meta), store_(store) {}

  void checkAll();
  void checkTree(const std::string& path, bool recursive);
  int report();

 private:
  void checkSlice(meta::Ino ino, const meta::Slice& slice, const BlockSet* listed);
  void checkFile(meta::Ino ino, const meta::Attr& attr);
  void walk(meta::Ino dir);
  std::string pathOf(meta::Ino ino);

  Volume& volume_;
  meta::Meta& meta_;
  object::ObjectStore& store_;
  Progress progress_;
  ProgressBar& slices_ = progress_.counter("Scanned slices");
  uint64_t sliceBytes_ = 0, found_ = 0, foundBytes_ = 0, lost_ = 0, lostBytes_ = 0, unknown_ = 0;
  std::unordered_set<meta::Ino> dying_;        // deleted, their blocks may be half gone
  std::unordered_set<meta::Ino> linked_;       // files with several names that were checked already
  std::map<meta::Ino, std::string> broken_;
};

std::string Checker::pathOf(meta::Ino ino) {
  auto paths = meta_.paths(ino);
  return paths && !paths->empty() ? paths->front() : fmt::format("inode:{}", ino);
}

void Checker::checkSlice(meta::Ino ino, const meta::Slice& slice, const BlockSet* listed) {
  if (slice.id == 0 || slice.size == 0) return;
  slices_.add();
  sliceBytes_ += slice.size;
  auto blockSize = volume_.format.blockSize();
  for (uint32_t i = 0; i < blockCount(slice.size, blockSize); ++i) {
    auto length = blockLength(slice.size, blockSize, i);
    if (listed && listed->has(slice.id, i, length)) continue;
    auto key = chunk::blockKey(slice.id, i, length, volume_.format.hashPrefix);
    auto head = store_.head(key);
    if (head) {
      if (!listed) {
        ++found_;
        foundBytes_ += head->size;
      }
      continue;
    }
    auto path = broken_.count(ino) ? broken_[ino] : pathOf(ino);
    auto name = key.substr(key.find('/') + 1);
    if (!head.is(Code::notFound)) {
      LOG_WARN("cannot tell whether block {} for file {} is there: {}", name, path, head.status().text());
      ++unknown_;
      continue;
    }
    LOG_ERROR("can't find block {} for file {}: {}", name, path, head.status().text());
    broken_[ino] = path;
    ++lost_;
    lostBytes_ += length;
  }
}

void Checker::checkAll() {
  BlockSet listed;
  auto& bar = progress_.counter("Found blocks");
  auto scan = forEachBlock(store_, [&](const BlockObject& block) {
    if (block.leftover) return Status();
    bar.add();
    ++found_;
    foundBytes_ += block.bytes;
    listed.add(block.id, block.index, block.size);
    return Status();
  });
  if (!scan) LOG_FATAL("list all blocks: {}", scan.text());
  listed.sort();
  auto deleted = meta_.listDelFiles([&](meta::Ino ino, uint64_t, int64_t) {
    dying_.insert(ino);
    return Status();
  });
  if (!deleted) LOG_FATAL("list deleted files: {}", deleted.text());
  auto all = meta_.listSlices([&](meta::Ino ino, const meta::Slice& slice) {
    if (!dying_.count(ino)) checkSlice(ino, slice, &listed);
    return Status();
  });
  if (!all) LOG_FATAL("list all slices: {}", all.text());
  // Slices that compaction replaced: counted, but no file misses them.
  auto old = meta_.listTrashSlices([&](meta::SliceId, uint32_t size, int64_t) {
    slices_.add();
    sliceBytes_ += size;
    return Status();
  });
  if (!old) LOG_FATAL("list slices in the trash: {}", old.text());
}

void Checker::checkFile(meta::Ino ino, const meta::Attr& attr) {
  if (attr.length == 0 || (attr.nlink > 1 && !linked_.insert(ino).second)) return;
  for (uint64_t index = 0; index <= (attr.length - 1) >> meta::kChunkBits; ++index) {
    auto slices = meta_.readChunk(ino, static_cast<uint32_t>(index));
    if (slices.is(Code::notFound)) return;
    if (!slices) LOG_FATAL("read the slices of {}: {}", pathOf(ino), slices.status().text());
    for (auto& slice : *slices) checkSlice(ino, slice, nullptr);
  }
}

void Checker::walk(meta::Ino dir) {
  std::vector<meta::Ino> todo{dir};
  while (!todo.empty()) {
    auto at = todo.back();
    todo.pop_back();
    std::string after;
    for (bool more = true; more;) {
      auto batch = meta_.readdir(meta::Context::root(), at, after, 1000, true);
      if (batch.is(Code::notFound)) break;
      if (!batch) LOG_FATAL("list {}: {}", pathOf(at), batch.status().text());
      more = batch->size() == 1000;
      if (more) after = batch->back().name;
      for (auto& entry : *batch) {
        if (entry.dentry.type == meta::FileType::directory) todo.push_back(entry.dentry.ino);
        else if (entry.attr && entry.attr->isRegular()) checkFile(entry.dentry.ino, *entry.attr);
      }
    }
  }
}

void Checker::checkTree(const std::string& path, bool recursive) {
  auto entry = meta_.resolve(meta::Context::root(), path);
  if (!entry) LOG_FATAL("check: {}: {}", path, entry.status().text());
  if (entry->attr.isRegular()) checkFile(entry->ino, entry->attr);
  else if (recursive && entry->attr.isDir()) walk(entry->ino);
}

int Checker::report() {
  progress_.finish();
  if (!progress_.shown()) {
    LOG_INFO("Found {} blocks ({} bytes)", found_, foundBytes_);
    LOG_INFO("Used by {} slices ({} bytes)", slices_.current(), sliceBytes_);
  }
  if (lost_) {
    auto message = fmt::format("{} objects are lost ({} bytes), {} broken files:\n        INODE: PATH", lost_, lostBytes_, broken_.size());
    size_t shown = 0;
    for (auto& [ino, path] : broken_) {
      if (++shown > kMostPathsShown) {
        message += fmt::format("\n        and {} more", broken_.size() - kMostPathsShown);
        break;
      }
      message += fmt::format("\n{:>13}: {}", ino, path);
    }
    LOG_FATAL("{}", message);
  }
  if (unknown_) LOG_FATAL("{} blocks could not be looked for because of errors of the object storage; nothing is known to be lost", unknown_);
  return 0;
}

bool checkMetadata(meta::Meta& meta, const Args& args) {
  meta::FsckOptions options;
  options.path = args.text("path");
  options.repair = args.flag("repair");
  options.recursive = args.flag("recursive");
  options.syncDirStat = args.flag("sync-dir-stat");
  auto mode = parseOctal(args.text("repair-dir-mode"));
  if (!mode || *mode > 07777) LOG_FATAL("Invalid value \"{}\" for \"repair-dir-mode\": write an octal mode, as in 0755", args.text("repair-dir-mode"));
  options.repairDirMode = static_cast<uint16_t>(*mode);
  Progress progress;
  auto& bar = progress.counter("Checked nodes");
  auto report = meta.fsck(options, [&](uint64_t done, uint64_t) {
    bar.set(static_cast<int64_t>(done));
    return true;
  });
  progress.finish();
  if (!report) LOG_FATAL("check: {}", report.status().text());
  for (auto& problem : report->problems) LOG_ERROR("{}", problem);
  if (!progress.shown()) LOG_INFO("Checked {} nodes", report->checked);
  if (report->repaired) LOG_INFO("Repaired {} nodes", report->repaired);
  if (report->broken > report->repaired) {
    LOG_ERROR("{} nodes are broken{}", report->broken - report->repaired, options.repair ? "" : "; run again with `--repair` to repair them");
    return false;
  }
  return true;
}

int run(const Args& args) {
  if (args.flag("repair") && args.text("path").empty()) LOG_FATAL("Please provide the path to repair with `--path` option");
  auto volume = openVolumeOrDie(args.at(0));
  auto path = args.text("path");
  bool sound = true;
  if (!path.empty()) {
    if (path[0] != '/') LOG_FATAL("Invalid value \"{}\" for \"path\": it starts at the root of the volume, as in /dir", path);
    sound = checkMetadata(*volume.meta, args);
  }
  auto store = openStorage(volume.format, nullptr);
  if (!store) LOG_FATAL("object storage: {}", store.status().text());
  Checker checker(volume, **store);
  if (path.empty()) checker.checkAll();
  else checker.checkTree(path, args.flag("recursive"));
  int code = checker.report();
  return sound ? code : 1;
}

}  // namespace

Command fsckCommand() {
  using enum OptionType;
  return {"fsck",
          "ADMIN",
          "Check that a volume has all of its data",
          "META-URL",
          "Looks for every block that the metadata refers to. With --path it checks the directory tree there as well.\n\n"
          "Examples:\n"
          "$ juicefs fsck sqlite3://my.db\n"
          "$ juicefs fsck sqlite3://my.db --path /dir --recursive --repair",
          {{"",
            {
                {"path", text, "", "path inside the volume, from its root"},
                {"repair", flag, "", "repair what is broken there"},
                {"recursive,r", flag, "", "with everything below"},
                {"sync-dir-stat", flag, "", "count the statistics of all directories anew, broken or not"},
                {"repair-dir-mode", text, "0755", "mode of repaired directories, octal"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
