// A bounded pool of connections to one server, the scripts, and a count of round trips. Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "meta/store/redis/connection.h"
#include "meta/store/redis/scripts.h"

namespace aquifer::meta::redis {

class Client {
 public:
  explicit Client(Address address) : address_(std::move(address)) {}
  const Address& address() const { return address_; }

  // Commands that change nothing, in one round trip. An error reply becomes the error of the whole. unavailable when the
  // connection is lost: they may be sent again.
  Result<std::vector<Reply>> read(std::span<const Command> commands);
  Result<Reply> readOne(const Command& command);
  // One command that may change something: maybeCommitted when the answer is lost.
  Result<Reply> write(const Command& command);
  // The same for a script; a server that does not know it yet gets its text.
  Result<Reply> readScript(const Script& script, std::span<const std::string> keys, std::span<const std::string> args);
  Result<Reply> writeScript(const Script& script, std::span<const std::string> keys, std::span<const std::string> args);

 private:
  class Lease;
  Result<std::unique_ptr<Connection>> take();
  void give(std::unique_ptr<Connection> c);  // nullptr: it was lost

  Result<std::vector<Reply>> exchange(std::string_view bytes, size_t count);
  Result<Reply> script(const Script& script, std::span<const std::string> keys, std::span<const std::string> args);

  const Address address_;
  std::mutex mu_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<Connection>> idle_;  // the last one used is taken first
  int open_ = 0;
};

// Round trips of all clients, for tests and metrics.
uint64_t roundTripsOfProcess();
uint64_t roundTripsOfThread();

}  // namespace aquifer::meta::redis
