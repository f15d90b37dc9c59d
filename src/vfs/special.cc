#include "vfs/special.h"

#include <unistd.h>

#include "base/clock.h"

namespace aquifer::vfs {

SpecialFiles::SpecialFiles(bool prefixNames, bool withTrash) : uid_(getuid()), gid_(getgid()) {
  int64_t now = unixNanos();
  start_ = {now / 1'000'000'000, static_cast<uint32_t>(now % 1'000'000'000)};
  const std::string prefix = prefixNames ? ".jfs" : "";
  control_ = prefix + ".control";
  listed_ = {{prefix + ".accesslog", kLogIno}, {prefix + ".stats", kStatsIno}, {prefix + ".config", kConfigIno}};
  if (withTrash) listed_.push_back({prefix + std::string(meta::kTrashName), meta::kTrashIno});
  all_ = listed_;
  all_.push_back({control_, kControlIno});
}

Ino SpecialFiles::find(Ino parent, std::string_view name) const {
  // Nearly every name of a volume fails this test, so it comes first.
  if (name.empty() || name[0] != '.') return 0;
  if (name == control_) return kControlIno;
  if (parent != meta::kRootIno) return 0;
  for (auto& n : all_)
    if (n.name == name) return n.ino;
  return 0;
}

Attr SpecialFiles::attr(Ino ino) const {
  Attr a;
  a.type = meta::FileType::regular;
  a.mode = ino == kControlIno ? 0666 : ino == kStatsIno ? 0444 : 0400;
  a.uid = uid_;
  a.gid = gid_;
  a.atime = a.mtime = a.ctime = start_;
  a.nlink = 1;
  a.parent = meta::kRootIno;
  return a;
}

}  // namespace aquifer::vfs
