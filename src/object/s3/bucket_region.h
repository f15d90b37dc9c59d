// The region of a bucket that was given as a bare name.
#pragma once

#include "object/s3/endpoint.h"
#include "object/s3/sign.h"

namespace aquifer::object::s3 {

// Asks the service, first in AWS_DEFAULT_REGION or us-east-1, then in cn-north-1, and sets it. Errors: config.
Status findRegion(Endpoint* endpoint, const Credentials& credentials, const Environment& environment);
// The region in the answer to ?location; "us-east-1" for the empty one. Errors: io.
Result<std::string> parseLocation(std::string_view xml);

}  // namespace aquifer::object::s3
