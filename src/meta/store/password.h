// The password of a metadata engine that its URL does not hold.
#pragma once

#include <string>

namespace aquifer::meta {

// REDIS_PASSWORD (`redis`), META_PASSWORD, or what the file META_PASSWORD_FILE holds, without blanks around it; empty: none.
std::string passwordFromEnvironment(bool redis);

}  // namespace aquifer::meta
