#include "meta/store/password.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/text.h"
#include "base/text_file.h"

namespace aquifer::meta {

namespace {
constexpr size_t kMaxPasswordFile = 4096;
}

std::string passwordFromEnvironment(bool redis) {
  if (redis)
    if (auto p = environment("REDIS_PASSWORD"); !p.empty()) return p;
  if (auto p = environment("META_PASSWORD"); !p.empty()) return p;
  auto path = environment("META_PASSWORD_FILE");
  if (path.empty()) return {};
  auto text = readText(path, kMaxPasswordFile);
  if (!text) {
    LOG_ERROR("cannot read the password file {} (META_PASSWORD_FILE)", path);
    return {};
  }
  return std::string(trimmed(*text));
}

}  // namespace aquifer::meta
