// Command info (1005, and 1003 for old tools): size, paths, slices or objects, and locks of one inode.
#include <fmt/format.h>

#include <algorithm>

#include "meta/model/json_text.h"
#include "meta/model/slices.h"
#include "vfs/control/runner.h"

namespace aquifer::vfs {

namespace {
struct Row {
  uint64_t chunk;
  std::string key;   // of the object; raw rows have the id
  uint64_t id, size, off, len;
};

struct Info {
  meta::Summary summary;
  std::vector<std::string> paths;
  std::vector<Row> rows;
  meta::Attr attr;
  std::string storageClass;
};

// The blocks that bytes [off, off+len) of a slice stand in.
void addBlocks(std::vector<Row>& rows, uint64_t chunk, const meta::Slice& s, const chunk::BlockConfig& config) {
  if (s.id == 0) {
    rows.push_back({chunk, "", 0, s.size, s.off, s.len});
    return;
  }
  if (s.len == 0 || uint64_t{s.off} + s.len > s.size) return;
  const uint64_t block = config.blockSize, end = uint64_t{s.off} + s.len;
  for (uint64_t i = s.off / block; i * block < end; i++) {
    uint64_t size = std::min(block, s.size - i * block);
    uint64_t from = std::max<uint64_t>(s.off, i * block) - i * block, to = std::min(end - i * block, size);
    rows.push_back({chunk, chunk::blockKey(s.id, static_cast<uint32_t>(i), static_cast<uint32_t>(size), config.hashPrefix), s.id, size, from,
                    to - from});
  }
}

// What the store says of the class of the last object, for people who wonder whether a tier took hold.
std::string storageClassOf(ControlCall& call, const Info& info) {
  auto row = std::find_if(info.rows.rbegin(), info.rows.rend(), [](auto& r) { return !r.key.empty(); });
  if (row == info.rows.rend()) return info.rows.empty() ? "" : "actual()";
  auto head = call.env.blocks.objects().head(row->key);
  std::string actual = head ? head->storageClass : "";
  auto format = call.env.meta.format();
  auto tier = format.tiers.find(info.attr.tier);
  std::string expected = tier == format.tiers.end() ? "" : tier->second.storageClass;
  if (!expected.empty() && expected != actual) return fmt::format("expected({}),actual({})", expected, actual);
  return fmt::format("actual({})", actual);
}

Result<Info> collect(ControlCall& call, Ino ino, bool recursive, bool raw, bool strict) {
  Info info;
  auto& env = call.env;
  TRY(env.data.flush(ino, call.ctx.interrupted));   // what was written here is part of the answer
  TRY_ASSIGN(info.attr, env.meta.getattr(call.ctx, ino));
  TRY_ASSIGN(info.summary, env.meta.summary(call.ctx, ino, recursive, strict, call.progress()));
  call.progress()(info.summary.files, info.summary.size);
  TRY_ASSIGN(info.paths, env.meta.paths(ino));
  if (info.summary.files != 1 || info.summary.dirs != 0) return info;
  constexpr size_t kMaxRows = 1u << 20;   // the reply is held in memory
  for (uint64_t i = 0; i << meta::kChunkBits < info.attr.length && info.rows.size() < kMaxRows; i++) {
    TRY_ASSIGN(auto records, env.meta.readChunk(ino, static_cast<uint32_t>(i)));
    for (auto& s : meta::paint(records)) {
      if (raw) info.rows.push_back({i, "", s.id, s.size, s.off, s.len});
      else addBlocks(info.rows, i, s, env.blocks.config());
    }
    if (call.ctx.isInterrupted()) return Code::interrupted;
  }
  if (!raw) {
    info.storageClass = storageClassOf(call, info);
    std::string prefix = env.meta.format().name + "/";
    for (auto& r : info.rows)
      if (!r.key.empty()) r.key = prefix + r.key;
  }
  return info;
}

std::string humanBytes(uint64_t n) {
  if (n < 1024) return fmt::format("{} Bytes", n);
  double v = static_cast<double>(n);
  int unit = -1;
  while (v >= 1024 && unit < 5) {
    v /= 1024;
    unit++;
  }
  return fmt::format("{:.2f} {}iB ({} Bytes)", v, "KMGTPE"[unit], n);
}
}  // namespace

void controlInfo(ControlCall& call) {
  auto ino = call.body.big<uint64_t>();
  bool recursive = call.byteOr(1), raw = call.byteOr(0), strict = call.byteOr(0);
  if (!call.body.ok()) return call.finishCode(Code::invalid);
  auto info = collect(call, ino, recursive, raw, strict);
  using meta::Json;
  Json j;
  j["Ino"] = ino;
  j["Failed"] = !info.isOk();
  j["Reason"] = info ? std::string() : std::string(codeText(static_cast<Code>(toErrno(info.code()))));
  meta::Summary none;
  const auto& sum = info ? info->summary : none;
  j["Summary"] = {{"Length", sum.length}, {"Size", sum.size}, {"Files", sum.files}, {"Dirs", sum.dirs}};
  for (auto* key : {"Paths", "Chunks", "Objects", "PLocks", "FLocks"}) j[key] = nullptr;   // tools see keys in this order
  std::string storageClass, tag;
  int tier = 0;
  if (info) {
    j["Paths"] = info->paths;
    Json rows = Json::array();
    for (auto& r : info->rows) {
      if (raw) rows.push_back({{"ChunkIndex", r.chunk}, {"Id", r.id}, {"Size", r.size}, {"Off", r.off}, {"Len", r.len}});
      else rows.push_back({{"ChunkIndex", r.chunk}, {"Key", r.key}, {"Size", r.size}, {"Off", r.off}, {"Len", r.len}});
    }
    if (!rows.empty()) j[raw ? "Chunks" : "Objects"] = std::move(rows);
    Json plocks = Json::array(), flocks = Json::array();
    if (auto locks = call.env.meta.locks(ino)) {
      for (auto& f : locks->first) flocks.push_back({{"Sid", f.sid}, {"Owner", f.owner}, {"Type", std::string(1, f.type)}});
      for (auto& p : locks->second)
        for (auto& r : p.ranges)
          plocks.push_back({{"Sid", p.sid}, {"Owner", p.owner}, {"Type", r.type}, {"Pid", r.pid}, {"Start", r.start}, {"End", r.end}});
    }
    j["PLocks"] = std::move(plocks);
    j["FLocks"] = std::move(flocks);
    tier = info->attr.tier;
    storageClass = info->storageClass;
    auto tiers = call.env.meta.format().tiers;
    if (auto it = tiers.find(tier); tier != 0 && it != tiers.end()) tag = it->second.tag;
  }
  j["Tier"] = {{"ID", tier}, {"StorageClass", storageClass}, {"Tag", tag}};
  j["RestoreStatus"] = "";
  call.finishData(meta::jsonText(j, -1));
}

void controlLegacyInfo(ControlCall& call) {
  auto ino = call.body.big<uint64_t>();
  bool recursive = call.byteOr(1), raw = call.byteOr(0);
  if (!call.body.ok()) return call.finishCode(Code::invalid);
  auto info = collect(call, ino, recursive, raw, false);
  // Old readers know no progress items.
  call.channel->progress(0, 0);
  if (!info) return call.finishText(codeText(static_cast<Code>(toErrno(info.code()))));
  std::string t = fmt::format("  inode: {}\n  files: {}\n   dirs: {}\n length: {}\n   size: {}\n", ino, info->summary.files, info->summary.dirs,
                              humanBytes(info->summary.length), humanBytes(info->summary.size));
  if (info->paths.empty()) t += "   path: unknown\n";
  else if (info->paths.size() == 1) t += "   path: " + info->paths[0] + "\n";
  else {
    t += "  paths:\n";
    for (auto& p : info->paths) t += "\t" + p + "\n";
  }
  if (!info->rows.empty()) {
    t += raw ? " chunks:\n" : "objects:\n";
    for (auto& r : info->rows) t += fmt::format("\t{}:\t{}\t{}\t{}\t{}\n", r.chunk, raw ? std::to_string(r.id) : r.key, r.size, r.off, r.len);
  }
  call.finishText(t);
}

}  // namespace aquifer::vfs
