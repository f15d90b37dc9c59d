// Ordered listing of a folder tree, for the file driver. A folder counts as its name with '/', so "a.b" comes before "a/".
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "object/object_store.h"

namespace aquifer::object {

// Errors from system calls as the object layer knows them; `what` names call and path.
Status statusOfErrno(int error, std::string_view what);

// Regular files and folders whose path starts with bucket+prefix, in byte order of paths, after bucket+startAfter. Keys are
// paths without `bucket`. Memory: `batch` names per level of the tree, whatever the number of files in a folder; a larger
// folder is read again for every further batch. Links are followed, except into a folder that is being listed already.
Status listTree(const std::string& bucket, std::string_view prefix, std::string_view startAfter,
                const std::function<bool(const ObjectInfo&)>& visit, size_t batch);

}  // namespace aquifer::object
