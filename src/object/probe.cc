// Can this store be used at all? Asked by format and config, and by mount on request.
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "object/object_store.h"

namespace aquifer::object {

namespace {

constexpr const char* kFolder = "testing/";
constexpr size_t kBytes = 100;
constexpr int kRounds = 3;

Status probeOnce(ObjectStore& store, const std::string& key, const std::string& data) {
  const auto bytes = std::as_bytes(std::span(data));
  if (Status first = store.put(key, bytes); !first) {
    if (first.is(Code::accessDenied)) return first.annotate("put");
    // Perhaps the bucket is not there yet.
    if (Status made = store.create(); !made) return made.annotate("create the bucket (" + first.text() + ")");
    if (Status second = store.put(key, bytes); !second) return second.annotate("put");
  }
  auto stored = store.getAll(key);
  if (!stored) return stored.status().annotate("get");
  if (*stored != data) return {Code::corrupt, "get returned other bytes than were put"};
  return store.remove(key).annotate("delete");
}

}  // namespace

Status probeStore(ObjectStore& store) {
  const std::string key = kFolder + randomText(10, kAlphanumeric);
  std::string data(kBytes, '\0');
  randomBytes(data.data(), data.size());
  Status result;
  for (int round = 0; round < kRounds; round++) {
    result = probeOnce(store, key, data);
    if (result) break;
    LOG_WARN("the object storage {} fails its test: {}", store.describe(), result.text());
    if (round + 1 < kRounds) sleepMs(1000 * (1 + 3 * round));
  }
  // File-like stores keep the folder otherwise. It is not ours to complain about when others test at the same time.
  if (Status removed = store.remove(kFolder); !removed) LOG_DEBUG("remove {}: {}", kFolder, removed.text());
  return result;
}

}  // namespace aquifer::object
