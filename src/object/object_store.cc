#include "object/object_store.h"

namespace aquifer::object {

Result<std::string> ObjectStore::getAll(std::string_view key, uint64_t limit) {
  TRY_ASSIGN(const ObjectInfo info, head(key));
  if (info.size > limit) return Status(Code::tooBig, std::string(key) + " has more bytes than are wanted in memory");
  std::string bytes(info.size, '\0');
  TRY_ASSIGN(const size_t n, get(key, 0, std::as_writable_bytes(std::span(bytes))));
  // Replaced by a shorter object between the two requests.
  bytes.resize(n);
  return bytes;
}

Status ObjectStore::removeMany(std::span<const std::string> keys) {
  Status result;
  for (const auto& key : keys)
    if (Status one = remove(key); !one && result) result = std::move(one);
  return result;
}

}  // namespace aquifer::object
