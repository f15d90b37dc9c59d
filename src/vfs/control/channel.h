// One open descriptor of `.control`: requests are written, replies read from one growing stream in which each request is echoed
// first (docs/formats/data.md §8.2). Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/status.h"
#include "meta/ops/context.h"

namespace aquifer::vfs {

class ControlRunner;

class ControlChannel : public std::enable_shared_from_this<ControlChannel> {
 public:
  explicit ControlChannel(ControlRunner& runner) : runner_(runner) {}
  // Takes a piece of a request; the last piece starts it. Code::busy while another request runs.
  Status write(const meta::Context& ctx, std::string_view bytes);
  // What the stream has at `off`. Waits a little for a running command; 0 bytes: not yet.
  size_t read(uint64_t off, std::span<std::byte> out, const std::function<bool()>& interrupted);
  void cancel() { cancelled_ = true; }

  // For commands, from any thread.
  bool cancelled() const { return cancelled_; }
  void progress(uint64_t a, uint64_t b) {
    done_ = a;
    total_ = b;
  }
  void finish(std::string reply);   // the final item; preceded by the last progress unless there was none

 private:
  static constexpr size_t kMaxRequest = 64u << 20, kKeptBytes = 4u << 20;
  static constexpr int64_t kProgressMs = 300;
  void appendProgressLocked();
  ControlRunner& runner_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::string request_, stream_;
  uint64_t trimmed_ = 0;             // bytes of the stream that were read long ago and are gone
  bool running_ = false;
  int64_t nextProgress_ = 0;         // monotonic ns
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> done_{0}, total_{0};
};

}  // namespace aquifer::vfs
