// The drivers compiled in, one file each. A driver knows its storage and nothing else: no retry, no prefix, no metrics.
// config: storage, bucket and keys count here; the rest belongs to layers. Errors: Code::config for a bucket string that
// means nothing to the driver.
#pragma once

#include <memory>

#include "base/status.h"
#include "object/object_store.h"

namespace aquifer::object {

Result<std::unique_ptr<ObjectStore>> openFileDriver(const StoreConfig& config);
Result<std::unique_ptr<ObjectStore>> openMemDriver(const StoreConfig& config);
Result<std::unique_ptr<ObjectStore>> openS3Driver(const StoreConfig& config);  // and everything that speaks its protocol

}  // namespace aquifer::object
