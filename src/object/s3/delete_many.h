// The request that deletes many objects at once, and its answer. Pure, thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace aquifer::object::s3 {

std::string deleteRequest(std::span<const std::string> keys);
// Of a Content-MD5 header, which the service demands for this request.
std::string contentMd5(std::string_view body);
// Ok if every object is gone; the first error otherwise.
Status parseDeleteAnswer(std::string_view xml);

}  // namespace aquifer::object::s3
