#include "cli/option_groups.h"

#include <unistd.h>

#include <cstdlib>

namespace aquifer::cli {

namespace {
using enum OptionType;

std::string home() {
  const char* h = std::getenv("HOME");
  return h && *h ? h : "/tmp";
}
bool isRoot() { return ::geteuid() == 0; }
}  // namespace

std::string defaultCacheDir() { return isRoot() ? "/var/jfsCache" : home() + "/.juicefs/cache"; }
std::string defaultBucket() { return isRoot() ? "/var/jfs" : home() + "/.juicefs/local"; }
std::string defaultLogFile(const std::string& name) { return isRoot() ? "/var/log/" + name : home() + "/.juicefs/" + name; }

OptionGroup metaOptions() {
  return {"META",
          {
              {"subdir", text, "", "present this directory of the volume as the root"},
              {"backup-meta", text, "1h", "how often the metadata is dumped into the object storage (0: never)"},
              {"backup-skip-trash", flag, "", "leave the trash out of these dumps"},
              {"heartbeat", text, "12s", "interval between session refreshes; use the same for all clients of a volume"},
              {"read-only", flag, "", "lookups and reads only"},
              {"no-bgjob", flag, "", "run no background jobs (clean-up, backup)"},
              {"atime-mode", text, "noatime", "when access times are written: noatime, relatime, strictatime"},
              {"skip-dir-nlink", integer, "20", "key-value engines: retries after which a directory's nlink is left alone (0: never)"},
              {"skip-dir-mtime", text, "100ms", "leave a directory's mtime alone if it would move by less than this"},
              {"sort-dir", flag, "", "list directories sorted by name"},
              {"fast-statfs", flag, "", "answer statfs from local counters"},
              {"network-interfaces", text, "", "comma-separated interfaces whose addresses the session shows (default: all)"},
          }};
}

OptionGroup metaCacheOptions(bool service) {
  return {"META CACHE",
          {
              {"attr-cache", text, "1.0s", "how long attributes stay cached"},
              {"entry-cache", text, service ? "0.0s" : "1.0s", "how long file entries stay cached"},
              {"dir-entry-cache", text, "1.0s", "how long directory entries stay cached"},
              {"negative-entry-cache", text, "", "how long it is remembered that a name does not exist"},
              {"readdir-cache", flag, "", "let the kernel cache listings, as long as attr-cache says (Linux 4.20 or newer)"},
              {"open-cache", text, "0s", "how long an open file's attributes are used without asking again (0: never)"},
              {"open-cache-limit", uinteger, "10000", "open files that are remembered, a soft limit (0: no limit)"},
          }};
}

OptionGroup dataStorageOptions() {
  return {"DATA STORAGE",
          {
              {"storage", text, "", "object storage type for this client, instead of the volume's"},
              {"bucket", text, "", "endpoint for this client, instead of the volume's"},
              {"storage-class", text, "", "storage class of objects that this client writes"},
              {"tag", text, "", "tag of objects that this client writes (key=value)"},
              {"get-timeout", text, "60s", "longest time for one download"},
              {"put-timeout", text, "60s", "longest time for one upload"},
              {"io-retries", integer, "10", "tries after a network failure"},
              {"max-uploads", integer, "20", "uploads at a time"},
              {"max-downloads", integer, "200", "downloads at a time"},
              {"max-stage-write", integer, "1000", "staged writes at a time with writeback; further blocks are uploaded directly"},
              {"max-deletes", integer, "10", "deletions at a time (0: this client deletes no objects)"},
              {"upload-limit", text, "", "upload bandwidth in Mbps"},
              {"download-limit", text, "", "download bandwidth in Mbps"},
              {"check-storage", flag, "", "put, read and delete an object before mounting"},
          }};
}

OptionGroup dataCacheOptions() {
  return {"DATA CACHE",
          {
              {"buffer-size", text, "300M", "memory for reading and writing, in MiB"},
              {"max-readahead", text, "", "read-ahead of one reader, in MiB"},
              {"prefetch", integer, "1", "blocks fetched side by side on random reads"},
              {"writeback", flag, "", "write to the local disk first, upload later"},
              {"writeback-threshold-size", text, "0", "only blocks smaller than this are staged (0: all)"},
              {"upload-delay", text, "0s", "how long staged blocks wait"},
              {"upload-hours", text, "", "hours of the day in which waiting blocks are uploaded (from,to)"},
              {"cache-dir", text, defaultCacheDir(), "directories of the local cache, separated by colons"},
              {"cache-mode", text, "0600", "permissions of cached blocks"},
              {"cache-size", text, "100G", "size of the read cache, in MiB"},
              {"cache-items", integer, "0", "number of cached blocks (0: as many as the disk's free inodes allow)"},
              {"free-space-ratio", real, "0.1", "part of the disk that stays free"},
              {"cache-partial-only", flag, "", "cache small and random reads only"},
              {"cache-large-write", flag, "", "cache whole blocks after their upload"},
              {"verify-cache-checksum", text, "extend", "when cached bytes are verified: none, full, shrink, extend"},
              {"cache-eviction", text, "2-random", "what makes room in the cache: none, 2-random, lru"},
              {"cache-scan-interval", text, "1h", "how often cache directories are scanned for the index in memory"},
              {"cache-expire", text, "0s", "drop blocks that were not read for this long (0: never)"},
          }};
}

OptionGroup metricsOptions() {
  return {"METRICS",
          {
              {"metrics", text, "127.0.0.1:9567", "address where metrics are served"},
              {"custom-labels", text, "", "labels for all metrics (key:value;key:value)"},
              {"consul", text, "127.0.0.1:8500", "Consul agent to register at"},
              {"no-usage-report", flag, "", "accepted; no usage report is ever sent"},
          }};
}

OptionGroup volumeStorageOptions(bool limits) {
  OptionGroup group{"DATA STORAGE",
                    {
                        {"storage", text, "file", "object storage type (s3, minio, oss, file, ...)"},
                        {"bucket", text, defaultBucket(), "endpoint of the object storage: a bucket URL or a directory"},
                        {"access-key", text, "", "access key of the object storage (or ACCESS_KEY in the environment)"},
                        {"secret-key", text, "", "secret key of the object storage (or SECRET_KEY in the environment)"},
                        {"session-token", text, "", "session token of the object storage (or SESSION_TOKEN in the environment)"},
                        {"storage-class", text, "", "storage class of new objects"},
                        {"tag", text, "", "tag of new objects (key=value)"},
                    }};
  if (limits) {
    group.options.push_back({"upload-limit", text, "", "upload bandwidth of each client in Mbps"});
    group.options.push_back({"download-limit", text, "", "download bandwidth of each client in Mbps"});
  }
  return group;
}

OptionGroup volumeFormatOptions() {
  return {"DATA FORMAT",
          {
              {"block-size", text, "4M", "size of a block, in KiB"},
              {"compress", text, "none", "compression of blocks: lz4, zstd, none"},
              {"encrypt-rsa-key", text, "", "file with the RSA private key (PEM) that protects the data"},
              {"encrypt-algo", text, "aes256gcm-rsa", "cipher of the data: aes256gcm-rsa, chacha20-rsa"},
              {"hash-prefix", flag, "", "start object names with a hash"},
              {"shards", integer, "0", "spread the blocks over N buckets by a hash of their names"},
          }};
}

OptionGroup volumeManagementOptions() {
  return {"MANAGEMENT",
          {
              {"capacity", text, "", "space that the volume may use, in GiB"},
              {"inodes", uinteger, "0", "inodes that the volume may have"},
              {"trash-days", integer, "1", "days that removed files stay in the trash"},
              {"enable-acl", flag, "", "POSIX ACLs; they cannot be turned off again"},
              {"ranger-rest-url", text, "", "URL of the Ranger administration server"},
              {"ranger-service", text, "", "name of the service in Ranger"},
              {"kerberos-config-file", text, "", "file with the Kerberos configuration"},
          }};
}

}  // namespace aquifer::cli
