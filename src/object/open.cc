// Where drivers are registered and layers are stacked.
#include <array>

#include "object/drivers/drivers.h"
#include "object/layers/layers.h"
#include "object/shard_pattern.h"

namespace aquifer::object {

namespace {

struct Driver {
  const char* name;
  Result<std::unique_ptr<ObjectStore>> (*open)(const StoreConfig&);
};

constexpr std::array kDrivers = {
    Driver{"file", openFileDriver},
    Driver{"mem", openMemDriver},
    Driver{"s3", openS3Driver},
    Driver{"minio", openS3Driver},
    Driver{"oss", openS3Driver},
    Driver{"cos", openS3Driver},
    Driver{"obs", openS3Driver},
    Driver{"tos", openS3Driver},
    Driver{"bos", openS3Driver},
    Driver{"ks3", openS3Driver},
    Driver{"qiniu", openS3Driver},
    Driver{"qingstor", openS3Driver},
    Driver{"scw", openS3Driver},
    Driver{"space", openS3Driver},
    Driver{"wasabi", openS3Driver},
    Driver{"oos", openS3Driver},
    Driver{"eos", openS3Driver},
};

// The driver, or all the shards' drivers as one.
Result<std::unique_ptr<ObjectStore>> openShards(const StoreConfig& config) {
  if (config.shards <= 1) return openDriver(config);
  if (config.shards > kMaxShards)
    return Status(Code::config, "too many shards: " + std::to_string(config.shards) + ", the limit is 256");
  std::vector<std::unique_ptr<ObjectStore>> shards;
  for (int i = 0; i < config.shards; i++) {
    StoreConfig one = config;
    TRY_ASSIGN(one.bucket, shardBucket(config.bucket, i));
    TRY_ASSIGN(auto store, openDriver(one));
    shards.push_back(std::move(store));
  }
  return joinShards(std::move(shards));
}

}  // namespace

std::vector<std::string> driverNames() {
  std::vector<std::string> names;
  for (const auto& driver : kDrivers) names.emplace_back(driver.name);
  return names;
}

Result<std::unique_ptr<ObjectStore>> openDriver(const StoreConfig& given) {
  StoreConfig config = given;
  for (char& c : config.storage)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  std::string known;
  for (const auto& driver : kDrivers) {
    if (config.storage == driver.name) return driver.open(config);
    known += (known.empty() ? "" : ", ") + std::string(driver.name);
  }
  return Status(Code::config, "unknown object storage `" + config.storage + "`; this program knows: " + known);
}

Result<std::unique_ptr<ObjectStore>> openObjectStore(const StoreConfig& config) {
  TRY_ASSIGN(auto store, openShards(config));
  if (!config.volumeName.empty()) store = addPrefix(std::move(store), config.volumeName + "/");
  if (!config.encryptKeyPem.empty()) {
    TRY_ASSIGN(auto encryptor, makeEncryptor(config.encryptKeyPem, config.encryptPassphrase, config.encryptAlgo));
    store = addEncryption(std::move(store), std::move(encryptor));
  }
  if (config.metrics) store = addMetrics(std::move(store));
  // Outermost, so that waiting for bandwidth is not measured as a slow store. Always there: limits change while mounted.
  return addThrottle(std::move(store), config.uploadLimitBps, config.downloadLimitBps);
}

}  // namespace aquifer::object
