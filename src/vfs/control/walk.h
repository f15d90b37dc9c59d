// Visits the regular files below an inode, page by page: memory is bounded by depth, not by the size of the tree. One thread.
#pragma once

#include <functional>
#include <string_view>

#include "meta/ops/meta.h"

namespace aquifer::vfs {

using meta::Ino;

// The visitor's error ends the walk and is returned. Directories that vanish or may not be read are passed over.
Status walkFiles(meta::Meta& meta, const meta::Context& ctx, Ino top, const meta::Attr& attr,
                 const std::function<Status(Ino, const meta::Attr&)>& visit);
// A path as tools send it: relative to the mount root, or "inode:<n>". Symbolic links are followed, those that leave the mount are
// not found.
Result<meta::Entry> resolvePath(meta::Meta& meta, const meta::Context& ctx, std::string_view path, std::string_view mountPoint);

}  // namespace aquifer::vfs
