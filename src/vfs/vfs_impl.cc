#include "vfs/vfs_impl.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/metrics.h"

namespace aquifer::vfs {

VfsImpl::VfsImpl(meta::Meta& meta, chunk::BlockStore& blocks, const VfsConfig& config)
    : meta_(meta), blocks_(blocks), config_(config), special_(config.prefixInternal, !config.subdirMount), blockCounts_(meta.store()) {
  compactor_ = std::make_unique<Compactor>(meta_, [this](Ino ino, uint32_t index) {
    data_->invalidate(ino, uint64_t{index} << meta::kChunkBits, meta::kChunkSize);
  });
  compactor_->setReadOnly(config_.readOnly);
  // Bytes that others appended before ours: the kernel's pages hold ours at the wrong place.
  source_ = std::make_unique<MetaSource>(meta_, inodes_, changes_, *compactor_, [this](Ino ino) { notify_.inode(ino, 0, 0); });
  data_ = chunk::makeFileData(blocks_, *source_);
  metrics::gaugeCallback("fuse_open_handlers", "number of inodes with open handles.", [weak = std::weak_ptr(table_)] {
    auto table = weak.lock();
    return table ? static_cast<double>(table->size()) : 0.0;
  });
  if (config_.coherentAttr.count() > 0 || config_.coherentEntry.count() > 0 || config_.coherentDirEntry.count() > 0 ||
      config_.coherentNegative.count() > 0)
    coherence_.watch(meta_.store(), meta_.rootIno());
  control_ = std::make_unique<ControlRunner>(ControlEnv{meta_, blocks_, *data_, notify_, config_.mountPoint});
}

VfsImpl::~VfsImpl() {
  control_->stop();
  if (auto s = flushAll(); !s) LOG_ERROR("unwritten bytes are lost: {}", s.text());
  compactor_->stop();
  for (auto& file : handles_.takeAll()) closeFile(*file);
  control_.reset();
  data_.reset();   // its threads use the source, the source the compactor
}

void VfsImpl::setNotifier(Notifier* notifier) {
  notifier_ = notifier;
  notify_.setNotifier(notifier);
  coherence_.setNotifier(notifier);
}

Status VfsImpl::flushAll() { return data_->flushAll(); }

Result<meta::StatFs> VfsImpl::statfs(const Context& ctx, Ino ino) {
  auto o = op(ctx, OpKind::statfs);
  return o.done(meta_.statfs(ctx, isSpecial(ino) ? meta::kRootIno : ino), [&](auto& r) {
    if (!r) return fmt::format("({})", ino);
    return fmt::format("({}): ({},{},{},{})", ino, r->totalSpace - r->availSpace, r->availSpace, r->totalInodes - r->availInodes, r->availInodes);
  });
}

Status VfsImpl::syncfs(const Context& ctx, Ino ino) {
  auto o = op(ctx, OpKind::syncfs);
  auto s = data_->flushAll();
  if (auto durable = meta_.store().sync(); s && !durable) s = durable;
  return o.done(s, [&](auto&) { return fmt::format("({})", ino); });
}

std::unique_ptr<Vfs> makeVfs(meta::Meta& meta, chunk::BlockStore& blocks, const VfsConfig& config) {
  return std::make_unique<VfsImpl>(meta, blocks, config);
}

}  // namespace aquifer::vfs
