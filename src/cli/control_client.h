// The command channel of a mount: `.control` below any of its directories (docs/formats/data.md).
// One request at a time per object; closing the file cancels what runs. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace aquifer::cli {

enum class ControlOp : uint32_t {
  rmr = 1002,
  legacyInfo = 1003,
  cache = 1004,
  info = 1005,
  clone = 1006,
  summary = 1007,
  compact = 1008,
  why = 20001,      // ours only
};

struct ControlReply {
  int errnum = 0;        // errno that ended the reply, 0 after data
  std::string data;      // JSON, where the operation has any
};

class ControlClient {
 public:
  // Opens the channel through `directory`, or through the directory that `directory` names a file in. The error names the file
  // that could not be opened.
  static Result<ControlClient> open(const std::string& directory);
  ControlClient(ControlClient&& o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
  ControlClient& operator=(ControlClient&&) = delete;
  ~ControlClient();

  // Sends one request and reads until its end. `progress` hears the running totals. Code::io: the mount went away or sent
  // something that is no reply.
  Result<ControlReply> call(ControlOp op, std::string_view body, const std::function<void(uint64_t, uint64_t)>& progress = {});

 private:
  explicit ControlClient(int fd) : fd_(fd) {}
  Status readSome();           // appends to buffer_ at least one byte
  Status need(size_t bytes);
  int fd_;
  std::string buffer_;
};

// Numbers of a request body, big-endian.
void put8(std::string& out, uint64_t v);
void put16(std::string& out, uint64_t v);
void put32(std::string& out, uint64_t v);
void put64(std::string& out, uint64_t v);

}  // namespace aquifer::cli
