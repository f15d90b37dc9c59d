// One connection to a server: commands out, replies in, with time-outs. One thread at a time; after an error it is only good for
// being closed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meta/store/redis/redis_url.h"
#include "meta/store/redis/reply.h"

namespace aquifer::meta::redis {

using Command = std::vector<std::string>;

// The bytes of a command, appended to `out`.
void encodeCommand(std::string& out, std::span<const std::string> words);

class Connection {
 public:
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects, authenticates, selects the database. unavailable, or config for a refused password or database.
  static Result<std::unique_ptr<Connection>> open(const Address& address);

  // Sends the bytes of `count` commands and reads as many replies; an error reply is a reply. Errors: unavailable if the request
  // has certainly not reached the server as a whole, maybeCommitted if it may have been carried out, corrupt for bytes that are
  // no reply.
  Result<std::vector<Reply>> exchange(std::string_view bytes, size_t count);
  // False if the other side has closed it, or said something nobody asked for.
  bool isIdle() const;

 private:
  Connection(int fd, const Address& address);
  Status send(std::string_view bytes);
  Result<Reply> read(int64_t deadlineNanos);

  const int fd_;
  const int readMs_, writeMs_;
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

}  // namespace aquifer::meta::redis
