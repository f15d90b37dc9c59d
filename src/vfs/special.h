// The virtual files at the root of a mount: names, inodes, attributes. Immutable after construction, so thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "meta/model/types.h"

namespace aquifer::vfs {

using meta::Attr;
using meta::Ino;

inline constexpr Ino kLogIno = meta::kSpecialIno + 1, kControlIno = meta::kSpecialIno + 2, kStatsIno = meta::kSpecialIno + 3,
                     kConfigIno = meta::kSpecialIno + 4;
inline constexpr bool isSpecialFile(Ino ino) { return ino >= meta::kSpecialIno && ino < meta::kTrashIno; }
inline constexpr bool isSpecial(Ino ino) { return ino >= meta::kSpecialIno; }

class SpecialFiles {
 public:
  struct Name {
    std::string name;
    Ino ino = 0;
  };
  SpecialFiles(bool prefixNames, bool withTrash);
  // The virtual inode behind (parent, name), 0 if it is an ordinary name. `.control` answers in every directory, the rest in the root.
  Ino find(Ino parent, std::string_view name) const;
  // May the name not be created, removed or replaced in this directory?
  bool reserved(Ino parent, std::string_view name) const { return parent == meta::kRootIno && find(parent, name) != 0; }
  // What a listing of the root shows when internal names are not hidden: all but the control file.
  const std::vector<Name>& listed() const { return listed_; }
  Attr attr(Ino ino) const;   // of the files (not the trash directory)

 private:
  std::vector<Name> all_, listed_;
  std::string control_;
  meta::Time start_;
  uint32_t uid_, gid_;
};

}  // namespace aquifer::vfs
