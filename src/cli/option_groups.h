// Option groups that several commands share. Each call builds a fresh table; thread-safe.
#pragma once

#include "cli/options.h"

namespace aquifer::cli {

// Title META: --subdir, --backup-meta, --heartbeat, --read-only ...
OptionGroup metaOptions();
// Title META CACHE. Services (gateway, webdav) keep file entries for 0 s by default, mounts for 1 s.
OptionGroup metaCacheOptions(bool service);
// Title DATA STORAGE: what a client may override of the volume's storage.
OptionGroup dataStorageOptions();
// Title DATA CACHE.
OptionGroup dataCacheOptions();
// Title METRICS.
OptionGroup metricsOptions();

// format and config. `limits` adds --upload-limit and --download-limit (config only).
OptionGroup volumeStorageOptions(bool limits);
OptionGroup volumeFormatOptions();
OptionGroup volumeManagementOptions();

std::string defaultCacheDir();   // /var/jfsCache, or $HOME/.juicefs/cache for ordinary users
std::string defaultBucket();     // /var/jfs, or $HOME/.juicefs/local
std::string defaultLogFile(const std::string& fileName);  // /var/log/<fileName>, or $HOME/.juicefs/<fileName>

}  // namespace aquifer::cli
