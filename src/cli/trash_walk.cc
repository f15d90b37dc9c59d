#include "cli/trash_walk.h"

namespace aquifer::cli {

namespace {
constexpr size_t kBatch = 1000;
}  // namespace

Status forEachEntry(meta::Meta& meta, meta::Ino dir, const std::function<Status(const meta::DirEntry&)>& visit) {
  std::string after;
  while (true) {
    TRY_ASSIGN(auto batch, meta.readdir(meta::Context::root(), dir, after, kBatch, true));
    for (auto& entry : batch) TRY(visit(entry));
    if (batch.size() < kBatch) return {};
    after = batch.back().name;
  }
}

Status forEachTrashHour(meta::Meta& meta, const std::function<Status(const meta::DirEntry&)>& visit) {
  auto s = forEachEntry(meta, meta::kTrashIno, [&](const meta::DirEntry& hour) {
    return hour.dentry.type == meta::FileType::directory ? visit(hour) : Status();
  });
  return s.is(Code::notFound) ? Status() : s;
}

Status forEachTrashEntry(meta::Meta& meta, const std::function<Status(const meta::DirEntry&)>& visit) {
  return forEachTrashHour(meta, [&](const meta::DirEntry& hour) -> Status {
    auto inner = forEachEntry(meta, hour.dentry.ino, visit);
    return inner.is(Code::notFound) ? Status() : inner;   // emptied while we looked
  });
}

}  // namespace aquifer::cli
