#include "cli/volume_options.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace aquifer::cli {

std::string absoluteBucket(const std::string& storage, const std::string& bucket) {
  if (storage != "file" && storage != "sqlite3") return bucket;
  std::string path = bucket;
  for (auto scheme : {"file://", "sqlite3://"})
    if (path.starts_with(scheme)) path.erase(0, std::strlen(scheme));
  std::error_code ignored;
  auto clean = std::filesystem::absolute(path, ignored).lexically_normal().string();
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  if (storage == "file" && !clean.ends_with('/')) clean += '/';
  return clean;
}

Status checkTag(const std::string& tag) {
  if (tag.empty()) return {};
  auto eq = tag.find('=');
  if (eq == std::string::npos || eq == 0 || eq + 1 == tag.size() || tag.find('=', eq + 1) != std::string::npos)
    return {Code::config, fmt::format("invalid tag \"{}\": write it as key=value", tag)};
  return {};
}

bool raiseMinClientVersion(meta::Format& f) {
  const char* needed = "1.1.0-A";
  if (f.enableAcl) needed = "1.2.0-A";
  if (!f.rangerRestUrl.empty() || !f.rangerService.empty()) needed = "1.3.0-A";
  bool tiers = false;
  for (auto& [id, tier] : f.tiers) tiers |= id > 0 || !tier.tag.empty();
  if (!f.kerbConf.empty() || tiers) needed = "1.4.0-A";
  auto order = f.minClientVersion.empty() ? Result<int>(-1) : meta::compareVersions(f.minClientVersion, needed);
  if (!order || *order >= 0) return false;
  f.minClientVersion = needed;
  return true;
}

Result<std::string> readTextFile(const std::string& path, const std::string& what) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(Code::config, fmt::format("load {} from \"{}\": {}", what, path, std::strerror(errno)));
  std::stringstream text;
  text << file.rdbuf();
  if (text.str().size() > (1u << 20)) return Status(Code::config, fmt::format("load {} from \"{}\": the file is larger than 1 MiB", what, path));
  return text.str();
}

Status checkStorage(object::ObjectStore& store) {
  if (auto s = object::probeStore(store); !s)
    return {Code::config, fmt::format("Storage {} is not configured correctly: {}", store.describe(), s.text())};
  return {};
}

Result<bool> storageIsEmpty(object::ObjectStore& store) {
  bool empty = true;
  TRY(store.list("", "", [&](const object::ObjectInfo& o) {
    if (o.isDir || o.size == 0 || o.key == "testing" || o.key.starts_with("testing/")) return true;
    return empty = false;
  }));
  return empty;
}

}  // namespace aquifer::cli
