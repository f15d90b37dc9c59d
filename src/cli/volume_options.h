// What `format` and `config` share: storage endpoints, tags, version gates. Functions without state.
#pragma once

#include <string>

#include "base/status.h"
#include "meta/model/format.h"
#include "object/object_store.h"

namespace aquifer::cli {

// `file` and `sqlite3` buckets as absolute, cleaned paths; `file` ends in one '/'. Others come back unchanged.
std::string absoluteBucket(const std::string& storage, const std::string& bucket);
Status checkTag(const std::string& tag);   // key=value, both not empty; "" is fine
// Raises minClientVersion as the enabled features demand; never lowers it. True if it changed.
bool raiseMinClientVersion(meta::Format& format);
Result<std::string> readTextFile(const std::string& path, const std::string& what);
// Puts, reads and deletes a probe object; the message says what to look at.
Status checkStorage(object::ObjectStore& store);
// Anything below the volume's prefix but probes and empty folders?
Result<bool> storageIsEmpty(object::ObjectStore& store);

}  // namespace aquifer::cli
