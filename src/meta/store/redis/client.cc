#include "meta/store/redis/client.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>

#include "base/metrics.h"

namespace aquifer::meta::redis {

namespace {

constexpr size_t kMaxIdle = 1024;

thread_local uint64_t tripsOfThread = 0;

std::atomic<uint64_t>& allTrips() {
  static std::atomic<uint64_t> trips{0};
  static bool shown = [] {
    metrics::gaugeCallback("redis_round_trips", "Round trips to the metadata server.",
                           [] { return static_cast<double>(roundTripsOfProcess()); });
    return true;
  }();
  static_cast<void>(shown);
  return trips;
}

Status failedReply(const std::vector<Reply>& replies) {
  for (auto& reply : replies)
    if (reply.view().isError()) return errorOf(reply.view().text());
  return {};
}

}  // namespace

uint64_t roundTripsOfThread() { return tripsOfThread; }

uint64_t roundTripsOfProcess() { return allTrips().load(std::memory_order_relaxed); }

Result<std::unique_ptr<Connection>> Client::take() {
  std::unique_lock lock(mu_);
  auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(address_.readMs);
  for (;;) {
    while (!idle_.empty()) {
      auto c = std::move(idle_.back());
      idle_.pop_back();
      if (c->isIdle()) return c;
      --open_;
    }
    if (open_ < address_.connections) break;
    if (free_.wait_until(lock, until) == std::cv_status::timeout)
      return Status(Code::unavailable, "redis: all connections have been busy for too long");
  }
  ++open_;
  lock.unlock();
  auto c = Connection::open(address_);
  if (!c) give(nullptr);
  return c;
}

void Client::give(std::unique_ptr<Connection> c) {
  std::lock_guard lock(mu_);
  if (c && idle_.size() < kMaxIdle)
    idle_.push_back(std::move(c));
  else
    --open_;
  free_.notify_one();
}

Result<std::vector<Reply>> Client::exchange(std::string_view bytes, size_t count) {
  TRY_ASSIGN(auto c, take());
  ++tripsOfThread;
  allTrips().fetch_add(1, std::memory_order_relaxed);
  auto replies = c->exchange(bytes, count);
  give(replies ? std::move(c) : nullptr);
  return replies;
}

Result<std::vector<Reply>> Client::read(std::span<const Command> commands) {
  std::string bytes;
  for (auto& command : commands) encodeCommand(bytes, command);
  auto replies = exchange(bytes, commands.size());
  if (replies.is(Code::maybeCommitted)) return Status(Code::unavailable, std::move(replies).status().text());
  if (replies) TRY(failedReply(*replies));
  return replies;
}

Result<Reply> Client::readOne(const Command& command) {
  TRY_ASSIGN(auto replies, read({&command, 1}));
  return std::move(replies[0]);
}

Result<Reply> Client::write(const Command& command) {
  std::string bytes;
  encodeCommand(bytes, command);
  auto replies = exchange(bytes, 1);
  // Bytes that are no reply tell as little about the outcome as none.
  if (replies.is(Code::corrupt)) return Status(Code::maybeCommitted, std::move(replies).status().text());
  if (!replies) return std::move(replies).status();
  TRY(failedReply(*replies));
  return std::move((*replies)[0]);
}

Result<Reply> Client::script(const Script& script, std::span<const std::string> keys, std::span<const std::string> args) {
  Command words{"EVALSHA", script.sha, std::to_string(keys.size())};
  words.reserve(3 + keys.size() + args.size());
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), args.begin(), args.end());
  for (bool known : {true, false}) {
    std::string bytes;
    encodeCommand(bytes, words);
    auto replies = exchange(bytes, 1);
    if (replies.is(Code::corrupt)) return Status(Code::maybeCommitted, std::move(replies).status().text());
    if (!replies) return std::move(replies).status();
    auto reply = (*replies)[0].view();
    if (!reply.isError()) return std::move((*replies)[0]);
    if (!known || !reply.text().starts_with("NOSCRIPT")) return errorOf(reply.text());
    words[0] = "EVAL";  // it has not been carried out; this way the server also keeps it
    words[1] = script.text;
  }
  return unexpectedReply("a script");
}

Result<Reply> Client::readScript(const Script& what, std::span<const std::string> keys, std::span<const std::string> args) {
  auto reply = script(what, keys, args);
  if (reply.is(Code::maybeCommitted)) return Status(Code::unavailable, std::move(reply).status().text());
  return reply;
}

Result<Reply> Client::writeScript(const Script& what, std::span<const std::string> keys, std::span<const std::string> args) {
  return script(what, keys, args);
}

}  // namespace aquifer::meta::redis
