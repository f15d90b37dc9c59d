// What nearly every command does first: open the metadata by URL, read the setting, open the object storage.
// Thread-safe functions without state.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "chunk/block_store.h"
#include "cli/options.h"
#include "meta/model/format.h"
#include "meta/ops/meta.h"
#include "object/object_store.h"

namespace aquifer::cli {

struct OpenMetaOptions {
  bool create = false;         // format and load: the database may be empty
  bool powerSafe = false;      // every commit survives power loss
  uint64_t cacheBytes = 0;     // see StoreOptions
  bool announce = true;        // log the address
  meta::MetaConfig config;     // hostName, version and ioRetries are filled in when empty
};
// Logs `Meta address: <masked>`; the store may not be a volume yet. Code::config for an URL that a person has to correct.
Result<std::unique_ptr<meta::Meta>> openMeta(const std::string& url, const OpenMetaOptions& options = {});

// openMeta and load; every failure ends the program with a FATAL that says what to do.
struct Volume {
  std::unique_ptr<meta::Meta> meta;
  meta::Format format;
};
Volume openVolumeOrDie(const std::string& url, const OpenMetaOptions& options = {}, bool checkVersion = true);
// The message of a failed openMeta() or load(): says what to do about a database without a volume. The second puts
// `load setting: ` in front.
std::string volumeProblem(const Status& status);
std::string loadFailure(const Status& status);

// The storage of a volume: driver, keys, prefix, encryption (passphrase from JFS_RSA_PASSPHRASE), limits.
// `args` may hold the DATA STORAGE group; null, or without the group: the volume's own values.
Result<object::StoreConfig> storeConfig(const meta::Format& format, const Args* args);
// openObjectStore(storeConfig()) and the line `Data use <store>`.
Result<std::unique_ptr<object::ObjectStore>> openStorage(const meta::Format& format, const Args* args);

// Blocks as the volume defines them, cached as the DATA CACHE and DATA STORAGE groups say. Bad values end the program.
// Without the groups (args null): no cache, defaults else.
chunk::BlockConfig blockConfig(const meta::Format& format, const Args* args);
// MetaConfig from the META, META CACHE and DATA STORAGE groups; mountPoint and subdir as given.
meta::MetaConfig metaConfig(const Args& args, const std::string& mountPoint);

// META_PASSWORD and friends put into the URL where the engine takes a password; other URLs come back unchanged.
Result<std::string> withEnvironmentPassword(const std::string& url);
// Adds redis:// where no scheme is given.
std::string normalizedUrl(const std::string& url);

std::string hostName();
std::vector<std::string> localAddresses(const std::string& interfaces);  // comma list, "" = all; loopback left out

}  // namespace aquifer::cli
