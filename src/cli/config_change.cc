#include "cli/config_change.h"

#include <fmt/core.h>

#include <array>

#include "cli/values.h"
#include "cli/volume_options.h"

namespace aquifer::cli {

namespace {

constexpr int64_t kDefaultChangeLogAge = 7200;   // seconds

// Collects the lines of one run; each setter knows how its kind of value is shown.
class Changer {
 public:
  Changer(const Args& args, ConfigChange& change) : args_(args), change_(change) {}

  void line(std::string_view name, const std::string& before, const std::string& after) {
    change_.lines.push_back(fmt::format("{:>10}: {} -> {}", name, before, after));
  }
  bool text(std::string_view name, std::string& field, const std::string& value) {
    if (field == value) return false;
    line(name, field, value);
    field = value;
    return true;
  }
  bool text(std::string_view name, std::string& field) { return args_.isSet(name) && text(name, field, args_.text(name)); }
  bool secret(std::string_view name, std::string& field) {
    if (!args_.isSet(name)) return false;
    field = args_.text(name);
    change_.lines.push_back(fmt::format("{:>10}: updated", name));
    return true;
  }
  bool flag(std::string_view name, bool& field) {
    if (!args_.isSet(name) || args_.flag(name) == field) return false;
    line(name, field ? "true" : "false", field ? "false" : "true");
    field = !field;
    return true;
  }
  template <class T, class Show>
  bool number(std::string_view name, T& field, T value, Show show) {
    if (!args_.isSet(name) || field == value) return false;
    line(name, show(field), show(value));
    field = value;
    return true;
  }

 private:
  const Args& args_;
  ConfigChange& change_;
};

Status version(Changer& to, const Args& args, const char* name, std::string& field, bool onlyUp, bool* changed) {
  if (!args.isSet(name)) return {};
  auto value = args.text(name);
  if (!value.empty() && !meta::compareVersions(value, value)) return {Code::config, fmt::format("Invalid version string: {}", value)};
  if (onlyUp && !field.empty()) {
    auto order = value.empty() ? Result<int>(-1) : meta::compareVersions(value, field);
    if (order && *order < 0) return {Code::config, fmt::format("cannot lower {} from {} to {}", name, field, value)};
  }
  *changed |= to.text(name, field, value);
  return {};
}

Status tiers(meta::Format& f, const Args& args, ConfigChange& change, Changer& to) {
  TRY(checkTag(args.text("tag")));
  int id = static_cast<int>(args.integer("tier"));
  bool known = f.tiers.count(id) != 0;
  auto& tier = f.tiers[id];
  tier.id = id;
  if (id == 0) {
    if (to.text("storage-class", tier.storageClass)) change.storage = true;
    if (to.text("tag", tier.tag)) change.storage = true;
    return {};
  }
  auto one = [&](const char* name, std::string& field) {
    if (!args.isSet(name) || (known && field == args.text(name))) return;
    change.replacesTier |= known;
    field = args.text(name);
    change.lines.push_back(fmt::format("set tier {} {}: {}", id, name, field));
    change.storage = true;
  };
  one("storage-class", tier.storageClass);
  one("tag", tier.tag);
  return {};
}

std::string seconds(int64_t s) { return durationText(s * 1'000'000'000); }
std::string plain(int64_t n) { return std::to_string(n); }

}  // namespace

bool anyChangeAsked(const Args& args) {
  return !args.given().empty();
}

Result<ConfigChange> applyConfigFlags(meta::Format& f, const Args& args) {
  ConfigChange change;
  Changer to(args, change);
  change.storage |= to.text("access-key", f.accessKey);
  if (args.isSet("storage") || args.isSet("bucket")) {
    auto storage = args.isSet("storage") ? args.text("storage") : f.storage;
    auto bucket = absoluteBucket(storage, args.isSet("bucket") ? args.text("bucket") : f.bucket);
    change.storage |= to.text("bucket", f.bucket, bucket);
  }
  change.limits |= to.number("capacity", f.capacity, args.size("capacity", 'G'), shortSize);
  bool hadChangeLog = f.changeLog;
  to.flag("changelog", f.changeLog);
  if (args.isSet("changelog-max-age") && args.durationNanos("changelog-max-age") < 0)
    return Status(Code::config, "changelog-max-age cannot be negative");
  to.number("changelog-max-age", f.changeLogMaxAge, args.durationNanos("changelog-max-age") / 1'000'000'000, seconds);
  if (f.changeLog && !hadChangeLog && f.changeLogMaxAge == 0 && f.changeLogMaxLines == 0 && !args.isSet("changelog-max-age") &&
      !args.isSet("changelog-max-lines")) {
    f.changeLogMaxAge = kDefaultChangeLogAge;
    to.line("changelog-max-age", seconds(0), seconds(kDefaultChangeLogAge) + " (default)");
  }
  if (args.integer("changelog-max-lines") < 0) return Status(Code::config, "changelog-max-lines cannot be negative");
  to.number("changelog-max-lines", f.changeLogMaxLines, args.integer("changelog-max-lines"), plain);
  to.flag("dir-stats", f.dirStats);
  to.number("download-limit", f.downloadLimit, args.rateMbps("download-limit"), rateText);
  if (args.isSet("enable-acl") && f.enableAcl && !args.flag("enable-acl")) return Status(Code::config, "cannot disable acl");
  to.flag("enable-acl", f.enableAcl);
  change.encrypt = args.flag("encrypt-secret");
  change.limits |= to.number("inodes", f.inodes, args.uinteger("inodes"), [](uint64_t n) { return withThousands(static_cast<int64_t>(n)); });
  if (args.isSet("kerberos-config-file")) {
    TRY_ASSIGN(auto text, readTextFile(args.text("kerberos-config-file"), "Kerberos configuration"));
    if (f.kerbConf != text) {
      f.kerbConf = text;
      change.lines.push_back("kerberos-config-file: updated");
    }
  }
  TRY(version(to, args, "max-client-version", f.maxClientVersion, false, &change.clientVersions));
  TRY(version(to, args, "min-client-version", f.minClientVersion, true, &change.clientVersions));
  to.text("ranger-rest-url", f.rangerRestUrl);
  to.text("ranger-service", f.rangerService);
  change.storage |= to.secret("secret-key", f.secretKey);
  change.storage |= to.secret("session-token", f.sessionToken);
  change.storage |= to.text("storage", f.storage);
  if (args.isSet("storage-class") || args.isSet("tag")) TRY(tiers(f, args, change, to));
  if (args.isSet("trash-days")) {
    auto days = args.integer("trash-days");
    if (days < 0 || days > 36'500) return Status(Code::config, fmt::format("Invalid trash days: {}", days));
    change.trash |= to.number("trash-days", f.trashDays, static_cast<int>(days), plain);
  }
  to.number("upload-limit", f.uploadLimit, args.rateMbps("upload-limit"), rateText);
  to.flag("user-group-quota", f.userGroupQuota);
  auto minVersion = f.minClientVersion;
  if (!change.lines.empty() && raiseMinClientVersion(f)) to.line("min-client-version", minVersion, f.minClientVersion);
  return change;
}

}  // namespace aquifer::cli
