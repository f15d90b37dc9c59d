#include "meta/model/format.h"

#include <limits>

#include "meta/model/json_text.h"

namespace aquifer::meta {
namespace {

constexpr const char* kRemoved = "removed";
constexpr int kMaxBlockKiB = 64 << 10;  // a block never spans chunks
constexpr size_t kMaxTiers = 256;

// One table names every key once, in the order in which the Go client writes them; reading and writing both walk it.
// visit(key, field, omittedWhenZero).
template <class F, class Visit>
void eachField(F& f, Visit&& visit) {
  visit("Name", f.name, false);
  visit("UUID", f.uuid, false);
  visit("Storage", f.storage, false);
  visit("StorageClass", f.storageClass, true);
  visit("Tiers", f.tiers, false);
  visit("Bucket", f.bucket, false);
  visit("AccessKey", f.accessKey, true);
  visit("SecretKey", f.secretKey, true);
  visit("SessionToken", f.sessionToken, true);
  visit("BlockSize", f.blockSizeKiB, false);
  visit("Compression", f.compression, true);
  visit("Shards", f.shards, true);
  visit("HashPrefix", f.hashPrefix, true);
  visit("Capacity", f.capacity, true);
  visit("Inodes", f.inodes, true);
  visit("EncryptKey", f.encryptKey, true);
  visit("EncryptAlgo", f.encryptAlgo, true);
  visit("KeyEncrypted", f.keyEncrypted, true);
  visit("UploadLimit", f.uploadLimit, true);
  visit("DownloadLimit", f.downloadLimit, true);
  visit("TrashDays", f.trashDays, false);
  visit("MetaVersion", f.metaVersion, true);
  visit("MinClientVersion", f.minClientVersion, true);
  visit("MaxClientVersion", f.maxClientVersion, true);
  visit("DirStats", f.dirStats, true);
  visit("UserGroupQuota", f.userGroupQuota, true);
  visit("EnableACL", f.enableAcl, false);
  visit("RangerRestUrl", f.rangerRestUrl, true);
  visit("RangerService", f.rangerService, true);
  visit("ChangeLog", f.changeLog, true);
  visit("ChangeLogMaxAge", f.changeLogMaxAge, true);
  visit("ChangeLogMaxLines", f.changeLogMaxLines, true);
  visit("KerbConf", f.kerbConf, true);
}

Format zeroFormat() {  // a key that is absent means zero, not the default of a new volume
  Format f;
  eachField(f, [](const char*, auto& field, bool) { field = {}; });
  return f;
}

bool read(const Json& v, std::string& out) {
  if (!v.is_string()) return false;
  out = v.get_ref<const std::string&>();
  return true;
}
bool read(const Json& v, bool& out) {
  if (!v.is_boolean()) return false;
  out = v.get<bool>();
  return true;
}
bool read(const Json& v, uint64_t& out) {
  if (!v.is_number_unsigned()) return false;
  out = v.get<uint64_t>();
  return true;
}
bool read(const Json& v, int64_t& out) {
  if (!v.is_number_integer()) return false;
  if (v.is_number_unsigned() && v.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
  out = v.get<int64_t>();
  return true;
}
bool read(const Json& v, int& out) {
  int64_t wide = 0;
  if (!read(v, wide) || wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) return false;
  out = static_cast<int>(wide);
  return true;
}
bool read(const Json& v, std::map<int, Tier>& out) {
  if (!v.is_object() || v.size() > kMaxTiers) return false;
  for (const auto& [text, value] : v.items()) {
    if (text.empty() || text.size() > 3 || text.find_first_not_of("0123456789") != std::string::npos || !value.is_object())
      return false;
    Tier t;
    t.id = std::stoi(text);
    bool good = true;
    for (const auto& [key, field] : value.items()) {
      if (sameKey(key, "StorageClass"))
        good = good && read(field, t.storageClass);
      else if (sameKey(key, "Tag"))
        good = good && read(field, t.tag);
    }
    if (!good) return false;
    out[t.id] = t;
  }
  return true;
}

template <class T>
Json toJson(const T& v) {
  return v;
}
Json toJson(const std::map<int, Tier>& tiers) {
  Json j = Json::object();
  for (const auto& [id, t] : tiers) j[std::to_string(id)] = {{"ID", t.id}, {"StorageClass", t.storageClass}, {"Tag", t.tag}};
  return j;
}

Json document(const Format& f) {
  Json j = Json::object();
  eachField(f, [&](const char* key, const auto& field, bool omitZero) {
    if (!omitZero || field != std::decay_t<decltype(field)>{}) j[key] = toJson(field);
  });
  if (!f.unknownJson.empty())
    if (auto extra = parseJsonObject(f.unknownJson)) j.update(*extra);
  return j;
}

}  // namespace

Result<Format> parseFormat(const std::string& text) {
  auto json = parseJsonObject(text);
  if (!json) return json.status().annotate("volume setting");
  Format f = zeroFormat();
  Json unknown = Json::object();
  std::string bad;
  for (const auto& [key, value] : json->items()) {
    bool known = false;
    eachField(f, [&, &name = key, &v = value](const char* k, auto& field, bool) {
      if (!sameKey(k, name)) return;
      known = true;
      if (!v.is_null() && !read(v, field)) bad = k;
    });
    if (!known) unknown[key] = value;
  }
  if (f.blockSizeKiB < 1 || f.blockSizeKiB > kMaxBlockKiB) bad = "BlockSize";
  if (f.shards < 0) bad = "Shards";
  if (f.trashDays < 0) bad = "TrashDays";
  if (!bad.empty()) return Status(Code::corrupt, "volume setting: bad value of " + bad);
  if (f.storage.empty()) f.storage = "file";
  if (!f.tiers.count(0)) f.tiers[0] = {0, f.storageClass, ""};
  if (!unknown.empty()) f.unknownJson = jsonText(unknown, -1);
  return f;
}

// Newlines without indentation is what Go's indenting printer gives for an empty indent.
std::string formatToJson(const Format& f, int indent) { return jsonText(document(f), indent < 0 ? 0 : indent); }

std::string formatToJsonNoSecrets(const Format& format, int indent) {
  Format f = format;
  for (std::string* secret : {&f.secretKey, &f.sessionToken, &f.encryptKey})
    if (!secret->empty()) *secret = kRemoved;
  return formatToJson(f, indent);
}

}  // namespace aquifer::meta
