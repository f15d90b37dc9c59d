// One request as it came from the kernel: checked reads of its parts. Nothing in it is trusted: every part that is missing or
// cut short makes the reads fail, and the request is then answered with EINVAL. Not thread-safe; refers to the reader's buffer.
#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include "access/fuse/protocol.h"

namespace aquifer::fuse {

class Request {
 public:
  // False if `message` is not one whole request: then there is nobody to answer.
  bool parse(std::span<const std::byte> message) {
    if (message.size() < sizeof head_) return false;
    std::memcpy(&head_, message.data(), sizeof head_);
    const size_t ext = size_t{head_.totalExtLen} * 8;
    if (head_.len != message.size() || sizeof head_ + ext > message.size()) return false;
    rest_ = message.subspan(sizeof head_, message.size() - sizeof head_ - ext);
    return true;
  }
  const InHeader& head() const { return head_; }
  Op op() const { return static_cast<Op>(head_.opcode); }
  uint64_t node() const { return head_.nodeId; }
  bool resent() const { return head_.unique & kUniqueResend; }
  // The number that a request keeps over all its journeys.
  uint64_t identity() const { return head_.unique & ~kUniqueResend; }

  template <class T>
  bool take(T& out) {
    if (rest_.size() < sizeof out) return false;
    std::memcpy(&out, rest_.data(), sizeof out);
    rest_ = rest_.subspan(sizeof out);
    return true;
  }
  // A name: up to a NUL that must be there.
  bool takeName(std::string_view& out) {
    const void* end = rest_.empty() ? nullptr : std::memchr(rest_.data(), 0, rest_.size());
    if (!end) return false;
    const auto* begin = reinterpret_cast<const char*>(rest_.data());
    const size_t n = static_cast<const char*>(end) - begin;
    out = {begin, n};
    rest_ = rest_.subspan(n + 1);
    return true;
  }
  bool takeBytes(size_t n, std::span<const std::byte>& out) {
    if (rest_.size() < n) return false;
    out = rest_.first(n);
    rest_ = rest_.subspan(n);
    return true;
  }

 private:
  InHeader head_{};
  std::span<const std::byte> rest_;
};

}  // namespace aquifer::fuse
