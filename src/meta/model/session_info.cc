#include "meta/model/codec.h"
#include "meta/model/json_text.h"

namespace aquifer::meta {
namespace {

// Session records are for people's eyes: a field of a wrong type is left empty rather than hiding the whole session.
void readText(const Json& v, std::string& out) {
  if (v.is_string()) out = v.get_ref<const std::string&>();
}

}  // namespace

std::string encodeSessionInfo(const SessionInfo& info) {
  Json j = Json::object();
  j["Version"] = info.version;
  j["HostName"] = info.hostName;
  if (!info.ipAddrs.empty()) j["IPAddrs"] = info.ipAddrs;
  j["MountPoint"] = info.mountPoint;
  j["MountTime"] = info.mountTime;
  j["ProcessID"] = info.processId;
  return jsonText(j, -1);
}

Result<SessionInfo> decodeSessionInfo(std::string_view json) {
  TRY_ASSIGN(const Json j, parseJsonObject(json));
  SessionInfo info;
  for (const auto& [key, value] : j.items()) {
    if (sameKey(key, "Version"))
      readText(value, info.version);
    else if (sameKey(key, "HostName"))
      readText(value, info.hostName);
    else if (sameKey(key, "MountPoint"))
      readText(value, info.mountPoint);
    else if (sameKey(key, "MountTime"))
      readText(value, info.mountTime);
    else if (sameKey(key, "ProcessID") && value.is_number_integer())
      info.processId = value.get<int64_t>();
    else if (sameKey(key, "IPAddrs") && value.is_array())
      for (const auto& a : value)
        if (a.is_string()) info.ipAddrs.push_back(a.get<std::string>());
  }
  return info;
}

}  // namespace aquifer::meta
