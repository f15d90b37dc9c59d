// Object storage: a narrow required core and stated capabilities. Drivers (drivers/, one file each) have no retry, no
// metrics, no prefix of their own: those are layers (layers/), stacked in one place (object/open.cc).
//
// Thread-safe. Keys are byte strings without a leading '/'. Errors: notFound, unsupported, accessDenied, noSpace, timedOut,
// unavailable (worth a retry), io, corrupt.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace aquifer::object {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

struct ObjectInfo {
  std::string key;
  uint64_t size = 0;
  int64_t mtime = 0;       // unix seconds; 0 = unknown
  bool isDir = false;      // a folder of a file-like driver, or a placeholder object: the key ends in '/'
  std::string storageClass;
};

struct Capabilities {
  bool rangeGet = true;      // get with an offset moves only what was asked for
  bool ordered = true;       // list is in byte order of keys
  bool tiers = false;        // storage classes
  bool multipart = false, copy = false;
  uint64_t maxObjectSize = UINT64_MAX;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  virtual std::string describe() const = 0;      // "file:///var/jfs/vol/": shown to people, without secrets
  virtual Capabilities capabilities() const = 0;
  virtual Status create() { return {}; }         // make the bucket / folder if missing
  // Up to out.size() bytes from `off`; returns how many there were (fewer only at the object's end; 0 past it).
  virtual Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) = 0;
  // Stores the whole object or nothing. tier: 0-3, ignored without the capability.
  virtual Status put(std::string_view key, Bytes data, uint8_t tier = 0) = 0;
  virtual Status remove(std::string_view key) = 0;  // missing: ok
  // All of them, as with remove; the first failure. Default: one by one.
  virtual Status removeMany(std::span<const std::string> keys);
  virtual Result<ObjectInfo> head(std::string_view key) = 0;
  // Every object whose key starts with `prefix` and sorts after `startAfter`. The visitor returns false to stop. File-like
  // drivers show folders too (isDir), before what is in them. A prefix without objects is an empty listing, not an error.
  virtual Status list(std::string_view prefix, std::string_view startAfter,
                      const std::function<bool(const ObjectInfo&)>& visit) = 0;
  // A whole object of unknown size (small ones: settings, dumps); at most `limit` bytes, else tooBig. Default: head + get.
  virtual Result<std::string> getAll(std::string_view key, uint64_t limit = 64u << 20);
  // New limits, in bytes per second and 0 for none, of the throttle layer; layers hand it down, drivers have none.
  virtual void setLimits(int64_t uploadBps, int64_t downloadBps) { (void)uploadBps, (void)downloadBps; }
};

// What a tier of a volume means to a storage that has classes.
struct Tier {
  std::string storageClass, tag;  // tag: "key=value"; both may be empty
};

struct StoreConfig {
  std::string storage = "file";   // driver name
  std::string bucket;             // endpoint string
  std::string accessKey, secretKey, sessionToken;
  std::array<Tier, 4> tiers;      // by id; an empty one stands for the first
  int shards = 0;
  std::string volumeName;         // prefix "<name>/" in front of every key; empty: none
  std::string encryptKeyPem, encryptPassphrase, encryptAlgo;  // empty key: no encryption layer
  int64_t uploadLimitBps = 0, downloadLimitBps = 0;           // bytes per second, 0 = none
  int getTimeoutMs = 60'000, putTimeoutMs = 60'000;
  bool metrics = true;
};

// The driver named by config.storage with all layers on top, outermost first:
//   throttle → metrics → encrypt → prefix → shard → driver.
// Timeouts are the network drivers' own: a blocked system call on a caller's buffer cannot be left behind by a layer.
// Unknown driver: Code::config with the list of known ones.
Result<std::unique_ptr<ObjectStore>> openObjectStore(const StoreConfig& config);
// Just the driver (sync, objbench, tests).
Result<std::unique_ptr<ObjectStore>> openDriver(const StoreConfig& config);
// Names of the drivers compiled in.
std::vector<std::string> driverNames();
// put/get/compare/delete of testing/<random>, the probe of format and --check-storage (3 rounds, 1 and 4 s apart).
Status probeStore(ObjectStore& store);

}  // namespace aquifer::object
