#include "cli/mount_config_json.h"

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/version.h"
#include "cli/values.h"
#include "cli/volume.h"

namespace aquifer::cli {
namespace {

using Json = nlohmann::ordered_json;

int64_t nanos(vfs::Seconds s) { return std::chrono::duration_cast<std::chrono::nanoseconds>(s).count(); }

Json metaPart(const Args& a, const MountPlan& p, const ConfigFacts& f) {
  Json j;
  j["Retries"] = a.integer("io-retries");
  j["MaxDeletes"] = a.integer("max-deletes");
  j["SkipDirNlink"] = a.integer("skip-dir-nlink");
  j["CaseInsensi"] = false;
  j["ReadOnly"] = p.readOnly;
  j["NoBGJob"] = a.flag("no-bgjob");
  j["OpenCache"] = a.durationNanos("open-cache");
  j["OpenCacheLimit"] = a.uinteger("open-cache-limit");
  j["Heartbeat"] = a.durationNanos("heartbeat");
  j["MountPoint"] = p.mountPoint;
  j["Subdir"] = a.text("subdir");
  j["AtimeMode"] = a.text("atime-mode");
  j["DirStatFlushPeriod"] = 1'000'000'000;
  j["SkipDirMtime"] = a.durationNanos("skip-dir-mtime");
  j["Sid"] = f.sid;
  j["SortDir"] = a.flag("sort-dir");
  j["FastStatfs"] = a.flag("fast-statfs");
  j["NetworkInterfaces"] = nullptr;
  if (const auto names = a.text("network-interfaces"); !names.empty()) j["NetworkInterfaces"] = Json::array({names});
  return j;
}

Json chunkPart(const Args& a, const chunk::BlockConfig& b, const ConfigFacts& f) {
  constexpr int64_t kMs = 1'000'000;
  Json j;
  j["CacheDir"] = f.cacheDirs;
  j["CacheMode"] = b.cacheMode;
  j["CacheSize"] = b.cacheSize;
  j["CacheItems"] = b.cacheItems;
  j["CacheChecksum"] = a.text("verify-cache-checksum");
  j["CacheEviction"] = a.text("cache-eviction");
  j["CacheScanInterval"] = a.durationNanos("cache-scan-interval");
  j["CacheExpire"] = a.durationNanos("cache-expire");
  j["OSCache"] = getenv("JFS_DROP_OSCACHE") == nullptr;
  j["FreeSpace"] = b.freeSpaceRatio;
  j["AutoCreate"] = true;
  j["Compress"] = b.compression;
  j["MaxUpload"] = b.maxUploads;
  j["MaxDownload"] = b.maxDownloads;
  j["MaxStageWrite"] = b.maxStageWrite;
  j["MaxRetries"] = b.ioRetries;
  j["UploadLimit"] = a.rateMbps("upload-limit") * 125'000;
  j["DownloadLimit"] = a.rateMbps("download-limit") * 125'000;
  j["Writeback"] = b.writeback;
  j["WritebackThresholdSize"] = b.writebackThreshold;
  j["UploadDelay"] = a.durationNanos("upload-delay");
  j["UploadHours"] = a.text("upload-hours");
  j["HashPrefix"] = b.hashPrefix;
  j["BlockSize"] = b.blockSize;
  j["GetTimeout"] = b.getTimeoutMs * kMs;
  j["PutTimeout"] = b.putTimeoutMs * kMs;
  j["CacheFullBlock"] = !b.cachePartialOnly;
  j["CacheLargeWrite"] = b.cacheLargeWrite;
  j["BufferSize"] = b.bufferSize;
  j["Readahead"] = b.maxReadahead ? b.maxReadahead : 8 * b.blockSize;
  j["Prefetch"] = b.prefetch;
  return j;
}

// The option set that a client compares before it takes a mount over; not what the handshake used.
Json fusePart(const MountPlan& p) {
  Json options = Json::array();
  for (const auto& w : p.mount.extra) options.push_back(w);
  if (p.readOnly) options.push_back("ro");
  if (p.mount.defaultPermissions) options.push_back("default_permissions");
  const char* prefix = getenv("FSTAB_NAME_PREFIX");
  std::string name = p.mount.fsName;
  if (prefix && name.starts_with("JuiceFS:")) name = prefix + name.substr(8);
  Json j;
  j["AllowOther"] = p.mount.allowOther;
  j["Options"] = options;
  j["MaxBackground"] = 200;
  j["MaxWrite"] = p.server.maxWrite;
  j["MaxReadAhead"] = 1048576;
  j["IgnoreSecurityLabels"] = false;
  j["RememberInodes"] = false;
  j["FsName"] = name;
  j["Name"] = "juicefs";
  j["SingleThreaded"] = false;
  j["DisableXAttrs"] = !p.vfs.enableXattr;
  j["Debug"] = p.server.debug;
  j["EnableLocks"] = true;
  j["EnableSymlinkCaching"] = true;
  j["ExplicitDataCacheControl"] = false;
  j["DirectMount"] = true;
  j["DirectMountFlags"] = 0;
  j["EnableAcl"] = p.server.posixAcl;
  j["EnableReadDirPlusAuto"] = true;
  j["EnableWriteback"] = p.server.writebackCache;
  j["DontUmask"] = true;
  j["OtherCaps"] = 0;
  j["NoAllocForRead"] = false;
  j["Timeout"] = 900'000'000'000;
  return j;
}

}  // namespace

std::string mountConfigJson(const Args& a, const MountPlan& p, const meta::Format& format, const chunk::BlockConfig& blocks,
                            const ConfigFacts& f) {
  Json j;
  j["Meta"] = metaPart(a, p, f);
  j["Format"] = Json::parse(meta::formatToJsonNoSecrets(format, 1), nullptr, false);
  j["Chunk"] = chunkPart(a, blocks, f);
  j["Security"] = {{"EnableCap", p.vfs.enableCap}, {"EnableSELinux", p.vfs.enableSelinux}};
  j["Port"] = Json::object();
  if (!f.metricsAddress.empty()) j["Port"]["PrometheusAgent"] = f.metricsAddress;
  if (!f.debugAddress.empty()) j["Port"]["DebugAgent"] = f.debugAddress;
  if (a.isSet("consul")) j["Port"]["ConsulAddr"] = a.text("consul");
  j["Version"] = kVersion;
  j["AttrTimeout"] = nanos(p.vfs.attrTimeout);
  j["DirEntryTimeout"] = nanos(p.vfs.dirEntryTimeout);
  j["NegEntryTimeout"] = nanos(p.vfs.negativeTimeout);
  j["EntryTimeout"] = nanos(p.vfs.entryTimeout);
  j["ReaddirCache"] = p.vfs.readdirCache;
  j["BackupMeta"] = p.backupMetaNanos;
  j["BackupSkipTrash"] = p.backupSkipTrash;
  if (p.vfs.subdirMount) j["Subdir"] = a.text("subdir");
  j["PrefixInternal"] = p.vfs.prefixInternal;
  j["HideInternal"] = p.vfs.hideInternal;
  const auto& s = p.server;
  if (s.allSquash)
    j["AllSquash"] = {{"Uid", s.squashUid}, {"Gid", s.squashGid}};
  else if (s.rootSquash)
    j["RootSquash"] = {{"Uid", s.rootSquashUid}, {"Gid", s.rootSquashGid}};
  if (!p.mount.defaultPermissions) j["NonDefaultPermission"] = true;
  j["UMask"] = p.vfs.umask < 0 ? 65535 : p.vfs.umask;
  j["Pid"] = f.pid;
  j["PPid"] = f.ppid;
  if (!f.commPath.empty()) j["CommPath"] = f.commPath;
  if (!f.statePath.empty()) j["StatePath"] = f.statePath;
  j["FuseOpts"] = fusePart(p);
  j["Mountpoint"] = "";
  return j.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace aquifer::cli
