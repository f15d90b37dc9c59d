// Whole volumes as files: the JSON dump and the binary backup that JuiceFS reads and writes (docs/formats/metadata.md §14), from any
// store into any other. Memory does not grow with the volume but for hard-linked files, owners and ACL rules. Thread-safe functions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "meta/ops/meta.h"

namespace aquifer::meta {

// Takes the next bytes of a dump; a failure ends it.
using DumpSink = std::function<Status(std::string_view bytes)>;
// Fills at most `size` bytes; 0 at the end.
using DumpSource = std::function<Result<size_t>(char* buffer, size_t size)>;
// Now and then: records read or written so far. false: stop (Code::interrupted).
using DumpProgress = std::function<bool(uint64_t records)>;

// What a dump holds in place of a secret.
inline constexpr char kRemovedSecret[] = "removed";

struct DumpOptions {
  Ino root = kRootIno;        // JSON: the dump is of this directory; loaded, it is the root of a volume of its own
  bool keepSecrets = false;   // else secrets become kRemovedSecret
  bool skipTrash = false;
};

// One consistent view where the store has one (embedded); else records as they are when they are read.
Status dumpJson(Meta& meta, const DumpOptions& options, const DumpSink& sink, const DumpProgress& progress);
Status dumpBinary(Meta& meta, const DumpOptions& options, const DumpSink& sink, const DumpProgress& progress);

struct LoadReport {
  Format format;              // as stored, secrets sealed
  uint64_t records = 0;
  bool secretRemoved = false; // has to be set again before the volume can be used
};
// The database must hold nothing (Code::exists). After a failure it holds a part and no setting: not a volume yet.
Result<LoadReport> loadJson(Meta& meta, const DumpSource& source, const DumpProgress& progress);
Result<LoadReport> loadBinary(Meta& meta, const DumpSource& source, const DumpProgress& progress);

// What a binary backup says of itself.
struct BackupSummary {
  uint32_t version = 0;
  struct Kind {
    std::vector<uint64_t> offsets;   // of its segments
    uint64_t records = 0;
  };
  std::map<std::string, Kind> kinds;
};
// `tail`: the last bytes of the file (at most 1 MiB are needed); `size`: of the whole file.
Result<BackupSummary> parseBackupFooter(std::string_view tail, uint64_t size);

}  // namespace aquifer::meta
