#include "cli/volume.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "base/encode.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/version.h"
#include "cli/option_groups.h"
#include "cli/values.h"
#include "meta/store/password.h"
#include "meta/store/registry.h"

namespace aquifer::cli {

namespace {

constexpr int64_t kNanosPerMs = 1'000'000, kNanosPerSec = 1'000'000'000;

int64_t bytesPerSecond(int64_t mbps) { return mbps * 1'000'000 / 8; }

// A limit of this client if it was given, else the volume's.
int64_t limitOf(const Args* args, const char* option, int64_t volumeMbps) {
  return bytesPerSecond(args && args->isSet(option) ? args->rateMbps(option) : volumeMbps);
}

int boundedInt(const Args& args, const char* option, int64_t least) {
  return static_cast<int>(std::clamp<int64_t>(args.integer(option), least, 1'000'000));
}

int timeoutMs(const Args& args, const char* option) {
  return static_cast<int>(std::clamp<int64_t>(args.durationNanos(option) / kNanosPerMs, 1, INT32_MAX));
}

template <class Enum, size_t N>
Enum choice(const Args& args, const char* option, const std::array<std::pair<const char*, Enum>, N>& values, const char* list) {
  auto text = args.text(option);
  for (auto& [name, value] : values)
    if (text == name) return value;
  LOG_FATAL("Invalid value \"{}\" for \"{}\": it may be {}", text, option, list);
}

}  // namespace

std::string normalizedUrl(const std::string& url) { return url.find("://") == std::string::npos ? "redis://" + url : url; }

Result<std::string> withEnvironmentPassword(const std::string& given) {
  auto url = normalizedUrl(given);
  auto schemeEnd = url.find("://");
  auto scheme = url.substr(0, schemeEnd);
  bool redis = scheme == "redis" || scheme == "rediss" || scheme == "unix";
  if (!redis && scheme != "mysql" && scheme != "postgres") return url;
  auto at = url.rfind('@');
  auto start = schemeEnd + 3;
  auto colon = url.find(':', start);
  bool hasPassword = at != std::string::npos && colon != std::string::npos && colon + 1 < at;
  if (hasPassword) return url;
  auto password = meta::passwordFromEnvironment(redis);
  if (password.empty()) return url;
  if (at == std::string::npos) {
    if (!redis) return Status(Code::config, "invalid uri: " + url + ": write user:@ in front of the host, so that META_PASSWORD can be used");
    return url.substr(0, start) + ":" + percentEncode(password) + "@" + url.substr(start);
  }
  auto user = url.substr(start, std::min(colon, at) - start);
  return url.substr(0, start) + user + ":" + percentEncode(password) + url.substr(at);
}

std::string hostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::vector<std::string> localAddresses(const std::string& interfaces) {
  std::vector<std::string> out, wanted;
  std::stringstream list(interfaces);
  for (std::string name; std::getline(list, name, ',');)
    if (!name.empty()) wanted.push_back(name);
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (auto* i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || (i->ifa_flags & IFF_LOOPBACK) || !(i->ifa_flags & IFF_UP)) continue;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), i->ifa_name) == wanted.end()) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* raw = nullptr;
    if (i->ifa_addr->sa_family == AF_INET) {
      raw = &reinterpret_cast<sockaddr_in*>(i->ifa_addr)->sin_addr;
    } else if (i->ifa_addr->sa_family == AF_INET6) {
      auto* six = &reinterpret_cast<sockaddr_in6*>(i->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(six)) continue;
      raw = six;
    }
    if (raw && ::inet_ntop(i->ifa_addr->sa_family, raw, text.data(), text.size())) out.emplace_back(text.data());
  }
  ::freeifaddrs(all);
  return out;
}

Result<std::unique_ptr<meta::Meta>> openMeta(const std::string& given, const OpenMetaOptions& options) {
  auto url = normalizedUrl(given);
  if (options.announce) LOG_INFO("Meta address: {}", maskUrl(url));
  TRY_ASSIGN(auto full, withEnvironmentPassword(url));
  meta::StoreOptions storeOptions;
  storeOptions.readOnly = options.config.readOnly;
  storeOptions.create = options.create;
  storeOptions.powerSafeCommits = options.powerSafe;
  storeOptions.cacheBytes = options.cacheBytes;
  storeOptions.ioRetries = options.config.ioRetries;
  TRY_ASSIGN(auto store, meta::openStore(full, storeOptions));
  auto config = options.config;
  if (config.hostName.empty()) config.hostName = hostName();
  if (config.version.empty()) config.version = kVersion;
  return meta::makeMeta(std::move(store), config);
}

Volume openVolumeOrDie(const std::string& url, const OpenMetaOptions& options, bool checkVersion) {
  auto meta = openMeta(url, options);
  if (meta.is(Code::notFormatted)) LOG_FATAL("{}", loadFailure(meta.status()));
  if (!meta) LOG_FATAL("{}", meta.status().text());
  auto format = (*meta)->load(checkVersion);
  if (!format) LOG_FATAL("{}", loadFailure(format.status()));
  return {*std::move(meta), *std::move(format)};
}

std::string volumeProblem(const Status& status) {
  return status.is(Code::notFormatted) ? "database is not formatted, please run `juicefs format ...` first" : status.text();
}
std::string loadFailure(const Status& status) { return "load setting: " + volumeProblem(status); }

Result<object::StoreConfig> storeConfig(const meta::Format& format, const Args* args) {
  object::StoreConfig c;
  c.storage = format.storage;
  c.bucket = format.bucket;
  if (args && args->isSet("storage")) c.storage = args->text("storage");
  if (args && args->isSet("bucket")) c.bucket = args->text("bucket");
  c.accessKey = format.accessKey;
  c.secretKey = format.secretKey;
  c.sessionToken = format.sessionToken;
  for (const auto& [id, tier] : format.tiers)
    if (id >= 0 && static_cast<size_t>(id) < c.tiers.size()) c.tiers[static_cast<size_t>(id)] = {tier.storageClass, tier.tag};
  c.shards = format.shards;
  c.volumeName = format.name;
  if (format.encrypted()) {
    c.encryptKeyPem = format.encryptKey;
    c.encryptAlgo = format.encryptAlgo;
    c.encryptPassphrase = environment("JFS_RSA_PASSPHRASE");
  }
  c.uploadLimitBps = limitOf(args, "upload-limit", format.uploadLimit);
  c.downloadLimitBps = limitOf(args, "download-limit", format.downloadLimit);
  if (args && args->has("get-timeout")) c.getTimeoutMs = timeoutMs(*args, "get-timeout");
  if (args && args->has("put-timeout")) c.putTimeoutMs = timeoutMs(*args, "put-timeout");
  return c;
}

Result<std::unique_ptr<object::ObjectStore>> openStorage(const meta::Format& format, const Args* args) {
  TRY_ASSIGN(auto config, storeConfig(format, args));
  TRY_ASSIGN(auto store, object::openObjectStore(config));
  LOG_INFO("Data use {}", store->describe());
  return store;
}

chunk::BlockConfig blockConfig(const meta::Format& format, const Args* args) {
  chunk::BlockConfig c;
  c.blockSize = format.blockSize();
  c.compression = format.compression;
  c.hashPrefix = format.hashPrefix;
  c.uuid = format.uuid;
  if (!args || !args->has("cache-dir")) {
    c.cacheSize = 0;
    return c;
  }
  const Args& a = *args;
  c.cacheDirs = a.text("cache-dir");
  if (c.cacheDirs.find(':') == std::string::npos) std::replace(c.cacheDirs.begin(), c.cacheDirs.end(), ',', ':');
  c.cacheSize = a.size("cache-size", 'M');
  c.cacheItems = static_cast<uint64_t>(std::max<int64_t>(a.integer("cache-items"), 0));
  c.freeSpaceRatio = a.real("free-space-ratio");
  if (!(c.freeSpaceRatio >= 0 && c.freeSpaceRatio <= 1))
    LOG_FATAL("Invalid value \"{}\" for \"free-space-ratio\": it lies between 0 and 1", a.text("free-space-ratio"));
  if (auto mode = parseOctal(a.text("cache-mode"))) {
    c.cacheMode = *mode & 0777;
  } else {
    LOG_WARN("Invalid cache mode {}, using 0600", a.text("cache-mode"));
    c.cacheMode = 0600;
  }
  c.cachePartialOnly = a.flag("cache-partial-only");
  c.cacheLargeWrite = a.flag("cache-large-write");
  c.checksum = choice<chunk::Checksum, 4>(a, "verify-cache-checksum",
                                          {{{"none", chunk::Checksum::none},
                                            {"full", chunk::Checksum::full},
                                            {"shrink", chunk::Checksum::shrink},
                                            {"extend", chunk::Checksum::extend}}},
                                          "none, full, shrink or extend");
  c.eviction = choice<chunk::Eviction, 3>(
      a, "cache-eviction",
      {{{"none", chunk::Eviction::none}, {"2-random", chunk::Eviction::twoRandom}, {"lru", chunk::Eviction::lru}}},
      "none, 2-random or lru");
  c.cacheScanIntervalSec = a.durationNanos("cache-scan-interval") / kNanosPerSec;
  c.cacheExpireSec = a.durationNanos("cache-expire") / kNanosPerSec;
  c.bufferSize = a.size("buffer-size", 'M');
  c.maxReadahead = a.size("max-readahead", 'M');
  c.prefetch = boundedInt(a, "prefetch", 0);
  c.maxUploads = boundedInt(a, "max-uploads", 1);
  c.maxDownloads = boundedInt(a, "max-downloads", 1);
  c.maxStageWrite = boundedInt(a, "max-stage-write", 0);
  c.ioRetries = boundedInt(a, "io-retries", 0);
  c.getTimeoutMs = timeoutMs(a, "get-timeout");
  c.putTimeoutMs = timeoutMs(a, "put-timeout");
  c.writeback = a.flag("writeback");
  c.writebackThreshold = a.size("writeback-threshold-size", 'B');
  c.uploadDelaySec = a.durationNanos("upload-delay") / kNanosPerSec;
  auto hours = parseHours(a.text("upload-hours"));
  if (!hours) LOG_FATAL("{}", hours.status().text());
  c.uploadHourFrom = hours->first;
  c.uploadHourTo = hours->second;
  return c;
}

meta::MetaConfig metaConfig(const Args& a, const std::string& mountPoint) {
  meta::MetaConfig c;
  c.readOnly = a.flag("read-only");
  c.noBgJob = a.flag("no-bgjob") || c.readOnly;
  c.fastStatfs = a.flag("fast-statfs");
  auto heartbeat = a.durationNanos("heartbeat") / kNanosPerMs;
  if (heartbeat < 1000 || heartbeat > 600'000) {
    LOG_WARN("heartbeat should be between 1s and 10m, not {}", a.text("heartbeat"));
    heartbeat = std::clamp<int64_t>(heartbeat, 1000, 600'000);
  }
  c.heartbeat = std::chrono::milliseconds(heartbeat);
  auto atime = a.text("atime-mode");
  if (atime == "relatime") c.atimeMode = meta::AtimeMode::relatime;
  else if (atime == "strictatime") c.atimeMode = meta::AtimeMode::strictatime;
  else if (atime != "noatime") LOG_WARN("unknown atime-mode \"{}\", using noatime", atime);
  if (a.isSet("skip-dir-mtime")) c.skipDirMtime = std::chrono::nanoseconds(a.durationNanos("skip-dir-mtime"));
  c.subdir = a.text("subdir");
  c.mountPoint = mountPoint;
  c.hostName = hostName();
  c.version = kVersion;
  c.ipAddrs = localAddresses(a.text("network-interfaces"));
  c.maxDeletes = static_cast<int>(std::clamp<int64_t>(a.integer("max-deletes"), 0, 10'000));
  if (c.maxDeletes == 0) LOG_WARN("max-deletes is 0: this client deletes no objects");
  c.ioRetries = boundedInt(a, "io-retries", 0);
  return c;
}

}  // namespace aquifer::cli
