// The hour directories of the trash.
#include "base/clock.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

std::string MetaImpl::trashName(Ino parent, Ino ino, std::string_view name) {
  auto full = std::to_string(parent) + "-" + std::to_string(ino) + "-";
  full += name;
  if (full.size() > kMaxName) full.resize(kMaxName);  // by bytes, even inside a character
  return full;
}

Key MetaImpl::subTrashKey(Time now) { return key::dentry(kTrashIno, hourNameUtc(now.sec)); }

Result<Ino> MetaImpl::subTrash(MetaTxn& tx, Time now, Charge& charge) {
  auto place = subTrashKey(now);
  TRY_ASSIGN(auto entry, tx.find<Dentry>(place));
  if (entry) return entry->ino;
  TRY_ASSIGN(auto last, tx.find<int64_t>(key::counter(counter::kNextTrash)));
  auto number = last.value_or(0) + 1;
  auto ino = kTrashIno + static_cast<Ino>(number);
  tx.put(key::counter(counter::kNextTrash), number);
  Attr attr;
  attr.type = FileType::directory;
  attr.mode = 0555;
  attr.atime = attr.mtime = attr.ctime = now;
  attr.nlink = 2;
  attr.length = 4096;
  attr.parent = kTrashIno;
  tx.insert(key::node(ino), attr);
  tx.insert(place, Dentry{FileType::directory, ino});
  if (formatNow()->dirStats) tx.insert(key::dirStat(ino), DirStat{});
  TRY(charge.volume(tx, 4096, 1, false));
  return ino;
}

}  // namespace aquifer::meta
