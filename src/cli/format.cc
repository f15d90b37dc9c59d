// `format`: make a volume, or apply the given flags to the one that is there.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/log.h"
#include "base/uuid.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/meta_read.h"
#include "cli/option_groups.h"
#include "cli/values.h"
#include "cli/volume.h"
#include "cli/volume_options.h"

namespace aquifer::cli {

namespace {

constexpr const char* kUuidObject = "juicefs_uuid";
constexpr uint64_t kLeastBlock = 64u << 10, kMostBlock = 16u << 20;

int blockSizeKiB(const Args& args) {
  auto bytes = args.size("block-size", 'K');
  auto size = bytes == 0 ? 0 : std::bit_floor(bytes);
  if (size < kLeastBlock) {
    LOG_WARN("block size is too small: {}, use {} instead", shortSize(size), shortSize(kLeastBlock));
    size = kLeastBlock;
  } else if (size > kMostBlock) {
    LOG_WARN("block size is too large: {}, use {} instead", shortSize(size), shortSize(kMostBlock));
    size = kMostBlock;
  }
  return static_cast<int>(size >> 10);
}

// A secret from its flag, or for new volumes from the environment; it does not stay there for processes started later.
std::string secret(const Args& args, const char* option, const char* variable) {
  auto value = args.text(option);
  if (const char* v = std::getenv(variable); value.empty() && v) {
    value = v;
    ::unsetenv(variable);
  }
  return value;
}

void checkNumbers(const Args& args) {
  auto compress = args.text("compress");
  std::transform(compress.begin(), compress.end(), compress.begin(), [](unsigned char c) { return std::tolower(c); });
  if (compress != "none" && compress != "lz4" && compress != "zstd" && !compress.empty())
    LOG_FATAL("Unsupported compress algorithm: \"{}\"; it may be none, lz4 or zstd", args.text("compress"));
  if (args.integer("trash-days") < 0) LOG_FATAL("Invalid trash days: {}", args.integer("trash-days"));
  if (args.integer("trash-days") > 36'500) LOG_FATAL("Invalid trash days: {}; at most 36500", args.integer("trash-days"));
  if (args.integer("shards") > 256) LOG_FATAL("too many shards: {}; at most 256", args.integer("shards"));
  if (args.integer("shards") < 0) LOG_FATAL("Invalid shards: {}", args.integer("shards"));
  if (auto s = checkTag(args.text("tag")); !s) LOG_FATAL("{}", s.text());
}

void readKey(meta::Format& format, const Args& args) {
  auto path = args.text("encrypt-rsa-key");
  if (path.empty()) return;
  auto pem = readTextFile(path, "RSA key");
  if (!pem) LOG_FATAL("{}", pem.status().text());
  format.encryptKey = *pem;
}

void readKerberos(meta::Format& format, const Args& args) {
  auto path = args.text("kerberos-config-file");
  if (path.empty()) return;
  auto text = readTextFile(path, "Kerberos configuration");
  if (!text) LOG_FATAL("{}", text.status().text());
  format.kerbConf = *text;
}

meta::Format newFormat(const Args& args) {
  meta::Format f;
  f.name = args.at(1);
  f.uuid = randomUuid();
  f.storage = args.text("storage");
  f.storageClass = args.text("storage-class");
  f.tiers[0] = {0, f.storageClass, args.text("tag")};
  f.bucket = absoluteBucket(f.storage, args.text("bucket"));
  f.accessKey = secret(args, "access-key", "ACCESS_KEY");
  f.secretKey = secret(args, "secret-key", "SECRET_KEY");
  f.sessionToken = secret(args, "session-token", "SESSION_TOKEN");
  f.blockSizeKiB = blockSizeKiB(args);
  f.compression = args.text("compress");
  f.shards = static_cast<int>(args.integer("shards"));
  f.hashPrefix = args.flag("hash-prefix");
  f.capacity = args.size("capacity", 'G');
  f.inodes = args.uinteger("inodes");
  f.encryptAlgo = args.text("encrypt-algo");
  f.trashDays = static_cast<int>(args.integer("trash-days"));
  f.dirStats = true;
  f.enableAcl = args.flag("enable-acl");
  f.rangerRestUrl = args.text("ranger-rest-url");
  f.rangerService = args.text("ranger-service");
  f.minClientVersion = "1.1.0-A";
  readKey(f, args);
  readKerberos(f, args);
  raiseMinClientVersion(f);
  return f;
}

// The given flags over the stored setting. What may not change is refused later by Meta::init, which names both values.
void applyFlags(meta::Format& f, const Args& args) {
  f.name = args.at(1);
  if (args.isSet("capacity")) f.capacity = args.size("capacity", 'G');
  if (args.isSet("inodes")) f.inodes = args.uinteger("inodes");
  if (args.isSet("storage")) f.storage = args.text("storage");
  if (args.isSet("bucket")) f.bucket = args.text("bucket");
  if (args.isSet("storage") || args.isSet("bucket")) f.bucket = absoluteBucket(f.storage, f.bucket);
  if (args.isSet("access-key")) f.accessKey = args.text("access-key");
  if (args.isSet("secret-key")) f.secretKey = args.text("secret-key");
  if (args.isSet("session-token")) f.sessionToken = args.text("session-token");
  if (args.isSet("storage-class")) f.storageClass = f.tiers[0].storageClass = args.text("storage-class");
  if (args.isSet("tag")) f.tiers[0].tag = args.text("tag");
  if (args.isSet("trash-days")) f.trashDays = static_cast<int>(args.integer("trash-days"));
  if (args.isSet("block-size")) f.blockSizeKiB = blockSizeKiB(args);
  if (args.isSet("compress")) f.compression = args.text("compress");
  if (args.isSet("shards")) f.shards = static_cast<int>(args.integer("shards"));
  if (args.isSet("hash-prefix")) f.hashPrefix = args.flag("hash-prefix");
  if (args.isSet("ranger-rest-url")) f.rangerRestUrl = args.text("ranger-rest-url");
  if (args.isSet("ranger-service")) f.rangerService = args.text("ranger-service");
  if (args.isSet("enable-acl")) {
    if (f.enableAcl && !args.flag("enable-acl")) LOG_FATAL("cannot disable acl");
    f.enableAcl = args.flag("enable-acl");
  }
  for (auto option : {"encrypt-rsa-key", "encrypt-algo"})
    if (args.isSet(option)) LOG_WARN("--{} is ignored: the encryption of an existing volume cannot change", option);
  readKerberos(f, args);
  raiseMinClientVersion(f);
}

// The store answers, and nobody else's objects are in the way of a new volume.
void checkStore(object::ObjectStore& store, bool fresh) {
  if (auto s = checkStorage(store); !s) LOG_FATAL("{}", s.text());
  if (!fresh) return;
  auto empty = storageIsEmpty(store);
  if (!empty) LOG_FATAL("list {}: {}", store.describe(), empty.status().text());
  if (!*empty) LOG_FATAL("Storage {} is not empty; please clean it up or pick another volume name", store.describe());
}

int run(const Args& args) {
  // A database is made last, when everything else has been checked: a refused command leaves nothing behind.
  OpenMetaOptions options;
  auto opened = openMeta(args.at(0), options);
  if (!opened && !opened.is(Code::notFormatted)) LOG_FATAL("{}", opened.status().text());

  if (auto s = meta::validateVolumeName(args.at(1)); !s) LOG_FATAL("{}", s.text());
  checkNumbers(args);
  auto loaded = opened ? (*opened)->load(false) : Result<meta::Format>(Code::notFormatted);
  bool fresh = loaded.is(Code::notFormatted);
  if (!loaded && !fresh) LOG_FATAL("Load metadata: {}", loaded.status().text());
  if (!fresh && args.flag("no-update")) return 0;

  meta::Format format = fresh ? newFormat(args) : *loaded;
  if (!fresh) applyFlags(format, args);

  const char* skip = std::getenv("JFS_NO_CHECK_OBJECT_STORAGE");
  bool checking = !skip || !*skip;
  auto store = openStorage(format, nullptr);
  if (!store) LOG_FATAL("object storage: {}", store.status().text());
  if (!opened) {
    options.create = true;
    options.announce = false;
    opened = openMeta(args.at(0), options);
    if (!opened) LOG_FATAL("{}", opened.status().text());
  }
  auto& meta = **opened;
  bool wroteUuid = false;
  if (checking) {
    checkStore(**store, fresh);
    if (fresh) {
      auto s = (*store)->put(kUuidObject, std::as_bytes(std::span(format.uuid)));
      wroteUuid = s.isOk();
      if (!s) LOG_WARN("put object {}: {}", kUuidObject, s.text());
    }
  }
  if (auto s = meta.init(format, args.flag("force")); !s) {
    if (wroteUuid && fresh) (void)(*store)->remove(kUuidObject);
    LOG_FATAL("format: {}", s.text());
  }
  auto stored = storedFormat(meta);
  LOG_INFO("Volume is formatted as {}", meta::formatToJsonNoSecrets(stored ? *stored : format, 2));
  return 0;
}

}  // namespace

Command formatCommand() {
  return {"format",
          "ADMIN",
          "Make a volume",
          "META-URL NAME",
          "META-URL names the metadata engine, NAME the volume; objects are stored below NAME/.\n"
          "On an existing volume the flags that are given change its setting; `config` is the better place for that.\n\n"
          "Examples:\n"
          "$ juicefs format sqlite3://my.db my-volume\n"
          "$ juicefs format sqlite3://my.db my-volume --capacity 100 --inodes 1000000 --trash-days 0",
          {{"",
            {
                {"force", OptionType::flag, "", "overwrite a setting that differs in what cannot change"},
                {"no-update", OptionType::flag, "", "leave an existing volume as it is"},
            }},
           volumeStorageOptions(false),
           volumeFormatOptions(),
           volumeManagementOptions()},
          2,
          2,
          run};
}

}  // namespace aquifer::cli
