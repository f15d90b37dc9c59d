// The volume setting ("format"): one JSON object shared with JuiceFS. Keys that we do not understand are kept.
// Source of the format: docs/formats/metadata.md §2. Plain value, no locks.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"

namespace aquifer::meta {

struct Tier {
  int id = 0;
  std::string storageClass, tag;
  bool operator==(const Tier&) const = default;
};

struct Format {
  std::string name, uuid, storage = "file", storageClass, bucket, accessKey, secretKey, sessionToken;
  int blockSizeKiB = 4096;
  std::string compression = "none";
  int shards = 0;
  bool hashPrefix = false;
  uint64_t capacity = 0, inodes = 0;  // bytes, count; 0 = unlimited
  std::string encryptKey, encryptAlgo = "aes256gcm-rsa";
  bool keyEncrypted = false;
  int64_t uploadLimit = 0, downloadLimit = 0;  // Mbps
  int trashDays = 1;
  int metaVersion = 1;
  std::string minClientVersion = "1.1.0-A", maxClientVersion;
  bool dirStats = true, userGroupQuota = false, enableAcl = false;
  std::string rangerRestUrl, rangerService;
  bool changeLog = false;
  int64_t changeLogMaxAge = 0, changeLogMaxLines = 0;
  std::string kerbConf;
  std::map<int, Tier> tiers;   // always has 0 after parse
  std::string unknownJson;     // the keys that we do not know, as a JSON object text; written back unchanged
  bool operator==(const Format&) const = default;

  uint64_t blockSize() const { return static_cast<uint64_t>(blockSizeKiB) << 10; }
  bool encrypted() const { return !encryptKey.empty(); }
};

// Case-insensitive on keys. Damage or wrong types: Code::corrupt naming the key.
Result<Format> parseFormat(const std::string& json);
// JSON for the database: JuiceFS's key order and omission rules. indent < 0: the writer's compact-with-newlines form.
std::string formatToJson(const Format& format, int indent = -1);
// The same with every secret replaced by `removed` (what people and logs may see).
std::string formatToJsonNoSecrets(const Format& format, int indent);

// Secrets are stored as base64(nonce ‖ AEAD) with a key derived from the UUID. Both are idempotent through keyEncrypted.
// A stored `removed` is Code::config with the advice to set the secret again.
Status encryptSecrets(Format& format);
Status decryptSecrets(Format& format);

// "1.4.2-beta+build": numeric compare, then pre-release rules of metadata.md §2.2. <0, 0, >0. Unparsable: Code::invalid.
Result<int> compareVersions(const std::string& a, const std::string& b);
// MetaVersion and Min/MaxClientVersion against ours (base/version.h). Code::config with the way out when refused.
Status checkCompatible(const Format& format, const std::string& ourVersion);

Status validateVolumeName(const std::string& name);

}  // namespace aquifer::meta
