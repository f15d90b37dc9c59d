#include "meta/jobs/heartbeat.h"

#include "base/log.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr int kNewestMetaVersion = 1;

}  // namespace

Status reloadFormat(MetaImpl& meta) {
  std::optional<std::string> json;
  TRY(meta.read("reload", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(json, tx.find<std::string>(key::setting()));
    return {};
  }));
  if (!json) return Status(Code::config, "the volume has been removed from the database");
  TRY_ASSIGN(auto format, parseFormat(*json));
  const auto known = meta.formatNow();
  if (format.metaVersion > kNewestMetaVersion)
    return Status(Code::config, "the volume was upgraded to metadata version " + std::to_string(format.metaVersion));
  if (!known->uuid.empty() && format.uuid != known->uuid)
    return Status(Code::config, "the volume was replaced: UUID " + known->uuid + " has become " + format.uuid);
  // Secrets that cannot be read now do not stop a client that has working ones.
  if (auto s = decryptSecrets(format); !s) {
    LOG_WARN("reload volume setting: {}", s.text());
    return {};
  }
  meta.setFormat(std::move(format));
  return {};
}

void heartbeat(MetaImpl& meta) {
  const auto warn = [](const char* what, const Status& s) {
    if (!s) LOG_WARN("{}: {}", what, s.text());
  };
  if (auto s = reloadFormat(meta); s.is(Code::config))
    meta.fatal(s.text());
  else
    warn("reload volume setting", s);
  if (!meta.config().readOnly) warn("refresh session", meta.refreshSession());
  warn("refresh usage", meta.refreshUsage());
}

}  // namespace aquifer::meta
