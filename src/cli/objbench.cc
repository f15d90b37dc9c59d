// `objbench`: does an object storage behave, and how fast is it.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "base/environment.h"
#include "base/log.h"
#include "base/random.h"
#include "cli/bench_cells.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/values.h"
#include "object/object_store.h"

namespace aquifer::cli {

namespace {

using object::Bytes;
using object::MutableBytes;
using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kErrorWidth = 45;
constexpr uint64_t kMostBuffers = 4ull << 30;   // memory of all threads together
constexpr size_t kBigObject = 5u << 20;         // of the functional tests

std::string environmentOr(const std::string& given, const char* name) { return given.empty() ? environment(name) : given; }

std::string randomString(size_t n) {
  std::string s(n, '\0');
  randomBytes(s.data(), n);
  return s;
}
Bytes bytesOf(const std::string& s) { return std::as_bytes(std::span(s.data(), s.size())); }

Status wrong(const std::string& what) { return Status(Code::io, what); }

// One short test of each promise of the interface, under a prefix of their own.
class Functional {
 public:
  Functional(object::ObjectStore& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  Rows run() {
    add("basic", "create a bucket", [&] { return store_.create(); });
    add("basic", "put an object", [&] { return store_.put(key("put"), bytesOf(body_)); });
    add("basic", "get an object", [&] { return same("put", body_); });
    add("basic", "get non-exist", [&] {
      auto got = store_.getAll(key("not_exists"));
      return got ? wrong("getting a missing object succeeds") : Status();
    });
    add("basic", "get partial object", [&] { return partial(); });
    add("basic", "head an object", [&] { return head(); });
    add("basic", "delete an object", [&] {
      TRY(store_.remove(key("put")));
      return store_.head(key("put")) ? wrong("the object is still there") : Status();
    });
    add("basic", "delete non-exist", [&] { return store_.remove(key("not_exists")); });
    add("basic", "list objects", [&] { return list(); });
    add("sync", "special key", [&] { return roundTrip("a b+c#%25&=\xE6\x96\x87", body_); });
    add("sync", "put a big object", [&] { return roundTrip("big", randomString(kBigObject)); });
    add("sync", "put an empty object", [&] { return roundTrip("empty", ""); });
    // Copies between storages that need these are no part of this interface.
    for (const char* name : {"multipart upload", "change owner/group", "change permission", "change mtime"})
      add("sync", name, [] { return Status(Code::unsupported); });
    return rows_;
  }

 private:
  std::string key(const std::string& name) const { return prefix_ + name; }
  template <class F>
  void add(const char* category, const char* name, F&& test) {
    const Status s = test();
    auto result = s ? std::string("pass") : s.is(Code::unsupported) ? "not support" : s.text().substr(0, kErrorWidth);
    rows_.push_back({category, name, result});
  }
  Status same(const std::string& name, const std::string& want) {
    TRY_ASSIGN(auto got, store_.getAll(key(name)));
    return got == want ? Status() : wrong("other bytes came back");
  }
  Status roundTrip(const std::string& name, const std::string& body) {
    TRY(store_.put(key(name), bytesOf(body)));
    auto s = same(name, body);
    (void)store_.remove(key(name));
    return s;
  }
  Status partial() {
    std::string out(3, '\0');
    for (size_t off : {size_t{0}, size_t{4}, body_.size() - 1}) {
      auto want = body_.substr(off, out.size());
      TRY_ASSIGN(size_t n, store_.get(key("put"), off, std::as_writable_bytes(std::span(out.data(), out.size()))));
      if (out.substr(0, n) != want) return wrong(fmt::format("other bytes at offset {}", off));
    }
    return {};
  }
  Status head() {
    TRY_ASSIGN(auto info, store_.head(key("put")));
    if (info.size != body_.size()) return wrong(fmt::format("size {} instead of {}", info.size, body_.size()));
    return {};
  }
  Status list() {
    for (int i = 0; i < 3; ++i) TRY(store_.put(fmt::format("{}list/{}", prefix_, i), bytesOf(body_)));
    std::vector<std::string> got;
    auto s = store_.list(prefix_ + "list/", "", [&](const object::ObjectInfo& info) {
      if (!info.isDir) got.push_back(info.key);
      return true;
    });
    for (int i = 0; i < 3; ++i) (void)store_.remove(fmt::format("{}list/{}", prefix_, i));
    TRY(s);
    if (got.size() != 3) return wrong(fmt::format("{} of 3 objects are listed", got.size()));
    return {};
  }

  object::ObjectStore& store_;
  const std::string prefix_, body_ = "some bytes of an object";
  Rows rows_;
};

class Speed {
 public:
  Speed(object::ObjectStore& store, std::string prefix, const Args& args)
      : store_(store),
        prefix_(std::move(prefix)),
        block_(args.size("block-size", 'K')),
        big_(args.size("big-object-size", 'M')),
        small_(args.size("small-object-size", 'K')),
        bigCount_((big_ + block_ - 1) / block_),
        smallCount_(args.uinteger("small-objects")),
        threads_(args.uinteger("threads")) {
    const auto widest = std::max<uint64_t>(std::min(bigCount_, smallCount_ ? smallCount_ : bigCount_), 1);
    const auto affordable = std::max<uint64_t>(kMostBuffers / std::max(block_, small_), 1);
    if (auto most = std::min(widest, affordable); threads_ > most) {
      threads_ = most;
      LOG_WARN("The number of threads was set too large and has been reduced to {}", threads_);
    }
    blockBody_ = randomString(block_);
    smallBody_ = randomString(small_);
  }

  Rows run() {
    bytes("upload objects", bigCount_, [&](uint64_t i, std::string&) { return store_.put(name("big", i), bytesOf(blockBody_).first(length(i))); });
    bytes("download objects", bigCount_, [&](uint64_t i, std::string& buffer) { return fetch(name("big", i), length(i), buffer); });
    objects("put small objects", smallCount_, [&](uint64_t i, std::string&) { return store_.put(name("small", i), bytesOf(smallBody_)); });
    objects("get small objects", smallCount_, [&](uint64_t i, std::string& buffer) { return fetch(name("small", i), small_, buffer); });
    list();
    const auto any = [&](uint64_t i) { return i < bigCount_ ? name("big", i) : name("small", i - bigCount_); };
    objects("head objects", bigCount_ + smallCount_, [&](uint64_t i, std::string&) { return store_.head(any(i)).status(); });
    objects("delete objects", bigCount_ + smallCount_, [&](uint64_t i, std::string&) { return store_.remove(any(i)); });
    for (const char* item : {"change permissions", "change owner/group", "update mtime"}) rows_.push_back({item, "not support", "not support"});
    progress_.finish();
    return rows_;
  }
  uint64_t threads() const { return threads_; }

 private:
  std::string name(const char* kind, uint64_t i) const { return fmt::format("{}{}.{}", prefix_, kind, i); }
  size_t length(uint64_t i) const { return static_cast<size_t>(std::min(block_, big_ - i * block_)); }
  Status fetch(const std::string& key, size_t size, std::string& buffer) {
    buffer.resize(std::max(block_, small_));
    TRY_ASSIGN(size_t n, store_.get(key, 0, std::as_writable_bytes(std::span(buffer.data(), size))));
    return n == size ? Status() : wrong(fmt::format("{}: {} of {} bytes", key, n, size));
  }

  // Seconds, or a negative number after a failure, which is logged.
  template <class F>
  double time(const char* item, uint64_t count, F&& one) {
    auto& bar = progress_.bar(item, static_cast<int64_t>(count));
    std::atomic<uint64_t> next{0};
    std::mutex mu;
    Status problem;
    auto seconds = onThreads(static_cast<int>(threads_), [&](int) {
      std::string buffer;
      for (uint64_t i; (i = next.fetch_add(1)) < count;) {
        if (auto s = one(i, buffer); !s) {
          std::lock_guard lock(mu);
          problem = s;
          next = count;
        }
        bar.add();
      }
    });
    bar.done();
    if (problem) return std::max(seconds, 1e-9);
    LOG_ERROR("{}: {}", item, problem.text());
    rows_.push_back({item, "failed", "failed"});
    return -1;
  }
  void row(const char* item, const std::string& value, uint64_t count, double seconds) {
    rows_.push_back({item, value, fmt::format("{:.2f} ms/object", seconds * 1000 * static_cast<double>(threads_) / static_cast<double>(count))});
  }
  template <class F>
  void bytes(const char* item, uint64_t count, F&& one) {
    auto seconds = time(item, count, one);
    if (seconds > 0) row(item, fmt::format("{:.2f} MiB/s", static_cast<double>(big_) / (1 << 20) / seconds), count, seconds);
  }
  template <class F>
  void objects(const char* item, uint64_t count, F&& one) {
    if (count == 0) return rows_.push_back({item, "skipped", "skipped"});
    auto seconds = time(item, count, one);
    if (seconds > 0) row(item, fmt::format("{:.2f} objects/s", static_cast<double>(count) / seconds), count, seconds);
  }
  void list() {
    uint64_t found = 0;
    auto start = monotonicNanos();
    auto s = store_.list(prefix_, "", [&](const object::ObjectInfo& info) {
      found += !info.isDir;
      return true;
    });
    auto seconds = std::max(static_cast<double>(monotonicNanos() - start) / 1e9, 1e-9);
    if (!s || found != bigCount_ + smallCount_) {
      LOG_ERROR("list objects: {}", s ? fmt::format("{} of {} objects", found, bigCount_ + smallCount_) : s.text());
      return rows_.push_back({"list objects", "failed", "failed"});
    }
    rows_.push_back({"list objects", fmt::format("{:.2f} objects/s", static_cast<double>(found) / seconds), fmt::format("{:.2f} ms/ {} objects", seconds * 1000, found)});
  }

  object::ObjectStore& store_;
  const std::string prefix_;
  const uint64_t block_, big_, small_, bigCount_, smallCount_;
  uint64_t threads_;
  std::string blockBody_, smallBody_;
  Progress progress_;
  Rows rows_{{"ITEM", "VALUE", "COST"}};
};

int run(const Args& args) {
  auto block = args.size("block-size", 'K'), big = args.size("big-object-size", 'M'), small = args.size("small-object-size", 'K');
  if (block == 0 || big == 0 || small == 0) LOG_FATAL("block-size, big-object-size and small-object-size should not be zero");
  if (block > (1u << 30) || small > (1u << 30)) LOG_FATAL("block-size and small-object-size are at most 1 GiB");
  if (args.uinteger("threads") == 0) LOG_FATAL("threads should be larger than 0");
  object::StoreConfig config;
  config.storage = args.text("storage");
  config.bucket = args.at(0);
  config.accessKey = environmentOr(args.text("access-key"), "ACCESS_KEY");
  config.secretKey = environmentOr(args.text("secret-key"), "SECRET_KEY");
  config.sessionToken = environmentOr(args.text("session-token"), "SESSION_TOKEN");
  config.shards = static_cast<int>(std::min<uint64_t>(args.uinteger("shards"), 1024));
  config.metrics = false;
  if (config.storage == "file" && !config.bucket.ends_with('/')) config.bucket += "/";
  auto store = object::openObjectStore(config);
  if (!store) LOG_FATAL("create storage failed: {}", store.status().text());
  const auto prefix = fmt::format("__juicefs_benchmark_{}__/", unixNanos());
  if (auto s = (*store)->create(); !s) LOG_FATAL("can't create bucket: {}", s.text());
  if (!args.flag("skip-functional-tests")) {
    std::printf("Start Functional Testing ...\n");
    Rows rows{{"CATEGORY", "TEST", "RESULT"}};
    for (auto& row : Functional(**store, prefix).run()) rows.push_back(row);
    std::printf("%s\n", renderTable(rows, -1).c_str());
  }
  Speed speed(**store, prefix, args);
  std::printf("Start Performance Testing ...\n");
  std::fflush(stdout);
  auto rows = speed.run();
  std::printf("Benchmark finished! block-size: %s, big-object-size: %s, small-object-size: %s, small-objects: %ju, NumThreads: %ju\n%s", shortSize(block).c_str(),
              shortSize(big).c_str(), shortSize(small).c_str(), static_cast<uintmax_t>(args.uinteger("small-objects")),
              static_cast<uintmax_t>(speed.threads()), renderTable(rows, -1).c_str());
  if (config.storage == "file") {   // folders that are empty now
    std::error_code ignored;
    std::filesystem::remove_all(config.bucket + prefix, ignored);
  }
  return 0;
}

}  // namespace

Command objbenchCommand() {
  using enum OptionType;
  return {"objbench",
          "TOOL",
          "Test and measure an object storage",
          "ENDPOINT",
          "Objects are written below a prefix of their own and removed. Failures do not change the exit code.\n\nExamples:\n"
          "$ juicefs objbench /data/objects -p 6",
          {{"",
            {
                {"storage", text, "file", "kind of object storage"},
                {"access-key", text, "", "access key (or environment ACCESS_KEY)"},
                {"secret-key", text, "", "secret key (or environment SECRET_KEY)"},
                {"session-token", text, "", "session token"},
                {"shards", uinteger, "0", "spread the objects over so many buckets"},
                {"block-size", text, "4M", "size of each block in KiB"},
                {"big-object-size", text, "1G", "size of the large object, in blocks, in MiB"},
                {"small-object-size", text, "128K", "size of each small object in KiB"},
                {"small-objects", uinteger, "100", "number of small objects"},
                {"skip-functional-tests", flag, "", "measure only"},
                {"threads,p", uinteger, "4", "threads"},
                {"storage-class,sc", text, "", "storage class, where the storage has them"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
