#include <array>
#include <charconv>

#include "meta/model/format.h"

namespace aquifer::meta {
namespace {

constexpr int kNewestMetaVersion = 1;

struct Version {
  std::array<uint64_t, 3> number{};
  std::string pre;
};

Result<Version> parseVersion(const std::string& text) {
  const auto bad = [&] { return Status(Code::invalid, "not a version: " + text.substr(0, 64)); };
  Version v;
  std::string core = text.substr(0, text.find('+'));
  if (const auto dash = core.find('-'); dash != std::string::npos) {
    v.pre = core.substr(dash + 1);
    core.resize(dash);
  }
  const char *p = core.data(), *const end = p + core.size();
  for (size_t i = 0; i < v.number.size(); ++i) {
    const auto r = std::from_chars(p, end, v.number[i]);
    if (r.ec != std::errc()) return bad();
    p = r.ptr;
    if (p == end) return v;
    if (*p++ != '.') return bad();
  }
  return bad();
}

}  // namespace

Result<int> compareVersions(const std::string& a, const std::string& b) {
  TRY_ASSIGN(const Version x, parseVersion(a));
  TRY_ASSIGN(const Version y, parseVersion(b));
  if (x.number != y.number) return x.number < y.number ? -1 : 1;
  if (x.pre.empty() != y.pre.empty()) return x.pre.empty() ? 1 : -1;
  return x.pre.compare(y.pre);
}

Status checkCompatible(const Format& f, const std::string& ours) {
  if (f.metaVersion > kNewestMetaVersion)
    return Status(Code::config,
                  "incompatible metadata version: " + std::to_string(f.metaVersion) + "; please upgrade the client");
  if (!f.minClientVersion.empty()) {
    TRY_ASSIGN(const int c, compareVersions(ours, f.minClientVersion));
    if (c < 0)
      return Status(Code::config,
                    "allowed minimum version: " + f.minClientVersion + "; please upgrade the client (this is " + ours + ")");
  }
  if (!f.maxClientVersion.empty()) {
    TRY_ASSIGN(const int c, compareVersions(ours, f.maxClientVersion));
    if (c > 0)
      return Status(Code::config, "allowed maximum version: " + f.maxClientVersion + "; please use an older client (this is " +
                                      ours + ") or raise it with `config --max-client-version`");
  }
  return {};
}

Status validateVolumeName(const std::string& name) {
  const auto alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool good = name.size() >= 3 && name.size() <= 63 && alnum(name.front()) && alnum(name.back());
  for (const char c : name) good = good && (alnum(c) || c == '-');
  if (good) return {};
  return Status(Code::config,
                "invalid name: " + name.substr(0, 80) +
                    ", only lower-case letters, digits and - are allowed, and the length should be 3 to 63 characters");
}

}  // namespace aquifer::meta
