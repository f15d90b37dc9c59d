// Objects over the S3 protocol: Amazon's and all that speak it (s3/endpoint.cc has the list).
//
// A put stores its bytes whole or not at all, since the service sees the length first. Beside every object goes the CRC-32C of its
// bytes as metadata `Crc32c` in decimal, as the other clients of such volumes write it; a get that sees a whole object checks it.
#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "base/environment.h"
#include "base/log.h"
#include "object/drivers/drivers.h"
#include "object/http/client.h"
#include "object/s3/bucket_region.h"
#include "object/s3/credentials.h"
#include "object/s3/delete_many.h"
#include "object/s3/endpoint.h"
#include "object/s3/listing.h"
#include "object/s3/session.h"

namespace aquifer::object {

namespace {

using http::Request;
using http::Response;
using s3::Query;

constexpr const char* kChecksumHeader = "x-amz-meta-crc32c";
constexpr size_t kMaxListBytes = 32u << 20;
constexpr const char* kPageKeys = "1000";
constexpr size_t kMaxKeyBytes = 1024;
constexpr size_t kMaxBatch = 1000;  // keys in one request to delete

// `bytes FIRST-LAST/SIZE`
struct ContentRange {
  uint64_t first = 0, last = 0, size = 0;
};

std::optional<ContentRange> parseContentRange(std::string_view text) {
  const size_t dash = text.find('-'), slash = text.find('/');
  if (!text.starts_with("bytes ") || dash == std::string_view::npos || slash == std::string_view::npos || dash > slash)
    return std::nullopt;
  const auto first = http::parseNumber(text.substr(6, dash - 6)), last = http::parseNumber(text.substr(dash + 1, slash - dash - 1));
  const auto size = http::parseNumber(text.substr(slash + 1));
  if (!first || !last || !size || *first > *last || *last >= *size) return std::nullopt;
  return ContentRange{*first, *last, *size};
}

class S3ObjectStore : public ObjectStore {
 public:
  S3ObjectStore(std::unique_ptr<s3::Session> session, const StoreConfig& config)
      : session_(std::move(session)), tiers_(config.tiers), checksum_(session_->endpoint().checksum) {}

  std::string describe() const override { return session_->endpoint().shown; }
  Capabilities capabilities() const override { return {.tiers = true, .maxObjectSize = 5ull << 30}; }

  Status create() override {
    // Often the bucket is there, and its user may not make one.
    if (session_->call({.method = "GET", .target = session_->target("", {{"list-type", "2"}, {"max-keys", "1"}})})) return {};
    const std::string& region = session_->endpoint().region;
    std::string body;
    if (session_->isAmazon() && region != "us-east-1")
      body = "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><LocationConstraint>" + region +
             "</LocationConstraint></CreateBucketConfiguration>";
    std::string error;
    auto made = session_->call({.method = "PUT", .target = session_->target("", {}), .body = std::as_bytes(std::span(body))}, &error);
    if (made || error == "BucketAlreadyOwnedByYou" || error == "BucketAlreadyExists") return {};
    return made.status();
  }

  Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) override {
    TRY(checkKey(key));
    if (out.empty() || off > static_cast<uint64_t>(INT64_MAX) - out.size()) return size_t{0};
    Request request{.method = "GET", .target = session_->target(key, {}), .into = out};
    request.headers.push_back({"Range", "bytes=" + std::to_string(off) + "-" + std::to_string(off + out.size() - 1)});
    TRY_ASSIGN(const Response answer, session_->send(std::move(request)));
    if (answer.status == 416) return size_t{0};  // nothing lies that far
    TRY(session_->check(answer).annotate(key));
    const std::string* rangeText = answer.header("content-range");
    if (answer.status == 206) {
      const auto range = rangeText ? parseContentRange(*rangeText) : std::nullopt;
      if (!range || range->first != off) return Status(Code::io, "get " + std::string(key) + ": the server sent another range");
      if (answer.cut || range->last - off + 1 != answer.stored || (answer.stored < out.size() && range->last + 1 != range->size))
        return Status(Code::unavailable, "get " + std::string(key) + ": the server sent fewer bytes than it announced");
      if (answer.stored == range->size) TRY(verify(key, answer, out.first(answer.stored)));
      return answer.stored;
    }
    // A server without ranges sends all of it: fine from the beginning on.
    if (off > 0) return Status(Code::unsupported, "get " + std::string(key) + ": the server does not send ranges");
    if (!answer.sized) return Status(Code::io, "get " + std::string(key) + ": the server does not tell the length");
    if (!answer.cut) TRY(verify(key, answer, out.first(answer.stored)));
    return answer.stored;
  }

  Result<std::string> getAll(std::string_view key, uint64_t limit) override {
    TRY(checkKey(key));
    const auto most = static_cast<size_t>(std::min<uint64_t>(limit, INT64_MAX));
    TRY_ASSIGN(Response answer, session_->send({.method = "GET", .target = session_->target(key, {}), .bodyLimit = most}));
    TRY(session_->check(answer).annotate(key));
    if (answer.cut) return Status(Code::tooBig, std::string(key) + " has more bytes than are wanted in memory");
    if (!answer.sized) return Status(Code::io, "get " + std::string(key) + ": the server does not tell the length");
    TRY(verify(key, answer, std::as_bytes(std::span(answer.body))));
    return std::move(answer.body);
  }

  Status put(std::string_view key, Bytes data, uint8_t tier) override {
    TRY(checkKey(key));
    Request request{.method = "PUT", .target = session_->target(key, {}), .body = data, };
    request.headers.push_back({"Content-Type", "application/octet-stream"});
    if (checksum_) request.headers.push_back({kChecksumHeader, std::to_string(crc32c(data.data(), data.size()))});
    const Tier& wanted = tierOf(tier);
    if (!wanted.storageClass.empty()) request.headers.push_back({"x-amz-storage-class", wanted.storageClass});
    if (const size_t equals = wanted.tag.find('='); equals != std::string::npos && equals > 0)
      request.headers.push_back({"x-amz-tagging", s3::encodeQuery({{wanted.tag.substr(0, equals), wanted.tag.substr(equals + 1)}})});
    return s3::statusOf(session_->call(std::move(request))).annotate(key);
  }

  Status remove(std::string_view key) override {
    TRY(checkKey(key));
    const Status done = s3::statusOf(session_->call({.method = "DELETE", .target = session_->target(key, {})}));
    return done.is(Code::notFound) ? Status() : done.annotate(key);
  }

  Status removeMany(std::span<const std::string> keys) override {
    for (const auto& key : keys) TRY(checkKey(key));
    Status result;
    while (!keys.empty()) {
      const auto batch = keys.first(std::min(keys.size(), kMaxBatch));
      keys = keys.subspan(batch.size());
      Status one = oneByOne_ ? ObjectStore::removeMany(batch) : removeBatch(batch);
      if (one.is(Code::unsupported)) {
        LOG_INFO("{} knows no deletion of many objects", describe());
        oneByOne_ = true;
        one = ObjectStore::removeMany(batch);
      }
      if (!one && result) result = std::move(one);
    }
    return result;
  }

  Result<ObjectInfo> head(std::string_view key) override {
    TRY(checkKey(key));
    auto answer = session_->call({.method = "HEAD", .target = session_->target(key, {})});
    if (!answer) return answer.status().annotate(key);
    const std::string* length = answer->header("content-length");
    const auto size = length ? http::parseNumber(*length) : std::nullopt;
    if (!size) return Status(Code::io, "head " + std::string(key) + ": the server does not tell the length");
    ObjectInfo info{.key = std::string(key), .size = *size};
    if (const std::string* modified = answer->header("last-modified")) info.mtime = http::parseHttpDate(*modified);
    if (const std::string* storageClass = answer->header("x-amz-storage-class")) info.storageClass = *storageClass;
    info.isDir = info.size == 0 && info.key.back() == '/';
    return info;
  }

  Status list(std::string_view prefix, std::string_view startAfter,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    // Some servers refuse a start outside the prefix.
    if (startAfter < prefix) startAfter = {};
    if (!startAfter.empty() && !startAfter.starts_with(prefix)) return {};
    std::string last(startAfter), token;
    for (bool more = true; more;) {
      TRY_ASSIGN(s3::ListPage page, listPage(prefix, last, token));
      const std::string before = last;
      for (const auto& info : page.objects) {
        if (!info.key.starts_with(prefix)) return {Code::io, "the server lists an object that has not the prefix: " + info.key};
        if (!last.empty() && info.key <= last) {
          // Where the listing starts the server may be inexact; later it must move on, or this would never end.
          if (last == startAfter) continue;
          return {Code::io, "the server's listing is not in order at " + info.key};
        }
        last = info.key;
        if (!visit(info)) return {};
      }
      more = page.truncated;
      if (more && page.token == token && last == before) return {Code::io, "the server's listing does not move on"};
      token = page.token;
    }
    return {};
  }

 private:
  static Status checkKey(std::string_view key) {
    if (key.empty()) return {Code::invalid, "an object needs a key"};
    if (key.size() > kMaxKeyBytes) return {Code::nameTooLong, "a key has at most 1024 bytes"};
    return {};
  }

  const Tier& tierOf(uint8_t tier) const {
    const bool known = tier < tiers_.size() && !tiers_[tier].storageClass.empty();
    return tiers_[known ? tier : 0];
  }

  Status verify(std::string_view key, const Response& answer, Bytes bytes) const {
    const std::string* text = checksum_ ? answer.header(kChecksumHeader) : nullptr;
    const auto expected = text ? http::parseNumber(*text) : std::nullopt;
    if (!expected || *expected == crc32c(bytes.data(), bytes.size())) return {};
    return {Code::corrupt, "get " + std::string(key) + ": the bytes do not match their checksum"};
  }

  Status removeBatch(std::span<const std::string> keys) {
    const std::string body = s3::deleteRequest(keys);
    Request request{.method = "POST", .target = session_->target("", {{"delete", ""}}), .body = std::as_bytes(std::span(body)), .bodyLimit = kMaxListBytes};
    request.headers.push_back({"Content-Type", "application/xml"});
    request.headers.push_back({"Content-MD5", s3::contentMd5(body)});
    TRY_ASSIGN(const Response answer, session_->call(std::move(request)));
    return answer.cut ? Status(Code::io, "delete: the server's answer is too long") : s3::parseDeleteAnswer(answer.body);
  }

  // After `last` for the first page and for servers that know version 1 only, at `token` for the others.
  Result<s3::ListPage> listPage(std::string_view prefix, const std::string& last, const std::string& token) {
    Query query{{"encoding-type", "url"}, {"max-keys", kPageKeys}, {"prefix", std::string(prefix)}};
    const bool first = oldLists_.load(std::memory_order_relaxed);
    if (first) {
      query.emplace_back("marker", last);
    } else {
      query.emplace_back("list-type", "2");
      if (!token.empty())
        query.emplace_back("continuation-token", token);
      else if (!last.empty())
        query.emplace_back("start-after", last);
    }
    auto answer = session_->call({.method = "GET", .target = session_->target("", std::move(query)), .bodyLimit = kMaxListBytes});
    if (!answer) {
      if (first || !answer.is(Code::unsupported)) return answer.status().annotate("list");
      LOG_INFO("{} knows no listing of version 2", describe());
      oldLists_ = true;
      return listPage(prefix, last, "");
    }
    if (answer->cut) return Status(Code::io, "list: the server's answer is too long");
    TRY_ASSIGN(s3::ListPage page, s3::parseListPage(answer->body));
    // Truncated and nowhere to go on: the server has ignored the version.
    if (page.truncated && page.token.empty()) oldLists_ = true;
    return page;
  }

  const std::unique_ptr<s3::Session> session_;
  const std::array<Tier, 4> tiers_;
  const bool checksum_;
  std::atomic<bool> oldLists_{false}, oneByOne_{false};
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> openS3Driver(const StoreConfig& config) {
  TRY_ASSIGN(s3::Endpoint endpoint, s3::parseEndpoint(config.storage, config.bucket, environment));
  TRY_ASSIGN(s3::Credentials credentials, s3::findCredentials(config, environment));
  if (endpoint.region.empty()) TRY(s3::findRegion(&endpoint, credentials, environment));
  TRY_ASSIGN(auto session, s3::Session::make(std::move(endpoint), std::move(credentials), config.getTimeoutMs, config.putTimeoutMs));
  return std::unique_ptr<ObjectStore>(std::make_unique<S3ObjectStore>(std::move(session), config));
}

}  // namespace aquifer::object
