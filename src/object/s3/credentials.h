// Keys for a storage: those of the volume; else the service's own environment variables; for S3 then AWS_* and the profile file.
// Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "object/object_store.h"
#include "object/s3/endpoint.h"
#include "object/s3/sign.h"

namespace aquifer::object::s3 {

// Errors: config when there are none. Access key `anonymous`: requests go unsigned.
Result<Credentials> findCredentials(const StoreConfig& config, const Environment& environment);
// The keys of a profile in the text of a credentials file; empty keys if it is not there.
Credentials profileCredentials(std::string_view text, std::string_view profile);

}  // namespace aquifer::object::s3
