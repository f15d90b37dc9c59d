#include "meta/store/redis/redis_store.h"

#include <fmt/core.h>

#include "base/log.h"
#include "meta/store/redis/redis_txn.h"

namespace aquifer::meta {

namespace redis {
namespace {

constexpr int kOldestMajor = 4;
constexpr int kFirstErrorOfMachinery = 1000;

// The value of a line `name:value` of INFO.
std::string_view infoField(std::string_view info, std::string_view name) {
  for (size_t at = 0; at < info.size();) {
    auto end = info.find("\r\n", at);
    auto line = info.substr(at, end == std::string_view::npos ? end : end - at);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') return line.substr(name.size() + 1);
    if (end == std::string_view::npos) break;
    at = end + 2;
  }
  return {};
}

class RedisStore : public MetaStore {
 public:
  RedisStore(Address address, bool readOnly) : client_(std::move(address)), windows_(client_), readOnly_(readOnly) {
    traits_.name = "redis";
    traits_.snapshots = false;
    traits_.keepsEmptyLists = false;
  }

  Status start();
  Status end(RedisTxn& txn, Status status);
  const StoreTraits& traits() const override { return traits_; }
  Status run(const TxnBody& body, const TxnOptions& options) override;
  Status prepareSchema(bool formatting) override;
  Result<bool> isEmpty() override;
  Status drop() override;
  Status sync() override { return {}; }  // what the server acknowledged is its own business: appendfsync
  Result<std::vector<std::pair<SliceId, uint32_t>>> unusedSlices(size_t limit) override;

 private:
  Client client_;
  Windows windows_;
  Recent recent_;
  const bool readOnly_;
  StoreTraits traits_;
};

Status RedisStore::start() {
  auto reply = client_.readOne({"INFO"});
  if (reply.is(Code::io)) return {};  // not allowed to this user; what is wrong will show
  if (!reply) return std::move(reply).status();
  auto info = reply->view().text();
  auto version = infoField(info, "redis_version");
  auto major = parseInt(version.substr(0, version.find('.')));
  if (major && *major < kOldestMajor)
    return Status(Code::config, fmt::format("redis: version {} is too old, {}.0 or newer is needed", version, kOldestMajor));
  if (infoField(info, "cluster_enabled") == "1") return Status(Code::config, "redis: Cluster is not supported yet");
  auto policy = infoField(info, "maxmemory_policy");
  if (policy.empty() || policy == "noeviction" || readOnly_) return {};
  // A server that evicts keys loses files.
  if (auto set = client_.write({"CONFIG", "SET", "maxmemory-policy", "noeviction"}); !set)
    LOG_WARN("the server evicts keys ({}), and its policy cannot be changed to noeviction: {}", policy, set.status().text());
  return {};
}

Status RedisStore::run(const TxnBody& body, const TxnOptions& options) {
  if (options.readOnly) {
    RedisTxn txn(client_, windows_, recent_, RedisTxn::Mode::readOnly);
    auto status = runBody(body, txn);
    return txn.writes().empty() ? status : Status(Code::invalid, "a read-only transaction wrote");
  }
  if (!readOnly_) {
    // A guess is only good for a commit, which finds out whether it was right. A refusal or no writes: look properly.
    RedisTxn txn(client_, windows_, recent_, RedisTxn::Mode::guessing);
    auto status = runBody(body, txn);
    if (!txn.guessed()) return end(txn, std::move(status));
    if (status && !txn.writes().empty())
      if (auto outcome = txn.finish(true); !outcome.is(Code::conflict)) return outcome;
  }
  RedisTxn txn(client_, windows_, recent_, RedisTxn::Mode::validated);
  auto status = runBody(body, txn);
  return end(txn, std::move(status));
}

Status RedisStore::end(RedisTxn& txn, Status status) {
  if (status) {
    if (readOnly_ && !txn.writes().empty()) return Status(Code::readOnly, "the metadata store is opened read-only");
    return txn.finish(true);
  }
  // A refusal is a result too: if it was decided from reads of several instants, they have to hold together.
  if (static_cast<int>(status.code()) < kFirstErrorOfMachinery && !status.is(Code::io))
    if (auto holds = txn.finish(false); holds.is(Code::conflict)) return holds;
  return status;
}

Status RedisStore::prepareSchema(bool formatting) {
  if (readOnly_) return Status(Code::readOnly, "the metadata store is opened read-only");
  if (formatting) return {};
  TRY_ASSIGN(auto reply, client_.readOne({"EXISTS", "setting"}));
  return reply.view().integer() == 1 ? Status() : Status(Code::notFormatted, "database is not formatted");
}

Result<bool> RedisStore::isEmpty() {
  TRY_ASSIGN(auto reply, client_.readOne({"DBSIZE"}));
  if (!reply.view().isInteger()) return unexpectedReply("DBSIZE");
  return reply.view().integer() == 0;
}

Status RedisStore::drop() {
  if (readOnly_) return Status(Code::readOnly, "the metadata store is opened read-only");
  TRY(client_.write({"FLUSHDB"}));
  recent_.clear();
  return {};
}

Result<std::vector<std::pair<SliceId, uint32_t>>> RedisStore::unusedSlices(size_t limit) {
  std::vector<std::pair<SliceId, uint32_t>> out;
  auto scanned = windows_.scan({"HSCAN", "sliceRef"}, {}, [&](View items) -> Status {
    for (size_t i = 0; i + 1 < items.size() && out.size() < limit; i += 2) {
      auto place = parsePair(items[i].text(), "k", '_');
      auto more = parseInt(items[i + 1].text());  // holders - 1
      if (place && more && *more < 0 && place->second <= UINT32_MAX)
        out.emplace_back(place->first, static_cast<uint32_t>(place->second));
    }
    return out.size() < limit ? Status() : Status(Code::interrupted);
  });
  if (!scanned && !scanned.is(Code::interrupted)) return scanned;
  return out;
}

Result<std::unique_ptr<MetaStore>> open(const std::string& rest, bool unixSocket, const StoreOptions& options) {
  TRY_ASSIGN(auto address, parseAddress(rest, unixSocket));
  auto store = std::make_unique<RedisStore>(std::move(address), options.readOnly);
  TRY(store->start());
  return std::unique_ptr<MetaStore>(std::move(store));
}

}  // namespace
}  // namespace redis

Result<std::unique_ptr<MetaStore>> openRedisStore(const std::string& rest, const StoreOptions& options) {
  return redis::open(rest, false, options);
}

Result<std::unique_ptr<MetaStore>> openRedisSocket(const std::string& rest, const StoreOptions& options) {
  return redis::open(rest, true, options);
}

Result<std::unique_ptr<MetaStore>> openRedisTls(const std::string&, const StoreOptions&) {
  return Status(Code::config, "redis: TLS (rediss://) is not supported yet");
}

uint64_t redisRoundTrips() { return redis::roundTripsOfThread(); }

}  // namespace aquifer::meta
