#include "cli/mount_metrics.h"

#include "base/metrics.h"

namespace aquifer::cli {
namespace {

struct QuotaFamily {
  meta::Kind kind;
  const char* prefix;
  const char* label;
};
constexpr QuotaFamily kFamilies[] = {
    {meta::Kind::dirQuota, "dir_quota", "inode"}, {meta::Kind::userQuota, "user_quota", "uid"}, {meta::Kind::groupQuota, "group_quota", "gid"}};

void emitQuotas(const meta::KnownUsage& usage, const QuotaFamily& family, const metrics::Emit& emit) {
  const std::string prefix = family.prefix;
  for (const auto& [key, quota] : usage.quotas) {
    if (key.kind != family.kind) continue;
    const metrics::Labels labels{{family.label, std::to_string(key.id)}};
    emit(prefix + "_max_space_bytes", "Maximum space of the quota in bytes.", labels, static_cast<double>(quota.maxSpace));
    emit(prefix + "_max_inodes", "Maximum inodes of the quota.", labels, static_cast<double>(quota.maxInodes));
    emit(prefix + "_used_space_bytes", "Used space of the quota in bytes.", labels, static_cast<double>(quota.usedSpace));
    emit(prefix + "_used_inodes", "Used inodes of the quota.", labels, static_cast<double>(quota.usedInodes));
  }
}

}  // namespace

void registerMountMetrics(meta::Meta& meta, const std::string& subdir) {
  metrics::registerProcessMetrics();
  metrics::gauge("subdir_info", "The sub-directory that this mount shows.", {{"subdir", subdir}}).set(1);
  metrics::collector([&meta](const metrics::Emit& emit) {
    const meta::KnownUsage usage = meta.knownUsage();
    emit("used_space", "Total used space in bytes.", {}, static_cast<double>(usage.usedSpace));
    emit("used_inodes", "Total used number of inodes.", {}, static_cast<double>(usage.usedInodes));
    emit("total_space", "Total space in bytes.", {}, static_cast<double>(usage.volume.totalSpace));
    emit("total_inodes", "Total number of inodes.", {}, static_cast<double>(usage.volume.totalInodes));
    for (const QuotaFamily& family : kFamilies) emitQuotas(usage, family, emit);
  });
}

}  // namespace aquifer::cli
