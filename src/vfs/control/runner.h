// Runs control commands, each in a thread, a bounded number at a time. Thread-safe.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "chunk/file_data.h"
#include "meta/ops/meta.h"
#include "vfs/control/channel.h"
#include "vfs/notify_queue.h"

namespace aquifer::vfs {

struct ControlEnv {
  meta::Meta& meta;
  chunk::BlockStore& blocks;
  chunk::FileData& data;
  NotifyQueue& notify;
  std::string mountPoint;
};

// One command under way. `ctx` is the caller's, checked for permissions, and interrupted when the descriptor is closed.
struct ControlCall {
  ControlEnv& env;
  meta::Context ctx;
  ByteReader body;
  std::shared_ptr<ControlChannel> channel;
  bool background = false;   // goes on after its reply and after close; ends with the mount

  // An optional trailing byte of the body.
  uint8_t byteOr(uint8_t value) { return body.left() ? body.big<uint8_t>() : value; }
  meta::Progress progress() {
    return [this](uint64_t a, uint64_t b) {
      if (!background) channel->progress(a, b);
      return !ctx.isInterrupted();
    };
  }
  void finishCode(Code code) { channel->finish(std::string(1, static_cast<char>(toErrno(code)))); }
  void finishData(std::string_view json);   // 0xFF, length, bytes
  void finishText(std::string_view text);   // length, bytes (the old form of info)
};

class ControlRunner {
 public:
  explicit ControlRunner(ControlEnv env) : env_(std::move(env)) {}
  ~ControlRunner() { stop(); }
  void start(std::shared_ptr<ControlChannel> channel, const meta::Context& caller, uint32_t command, std::string body);
  void stop();   // interrupts everything and waits

 private:
  static constexpr size_t kMaxRunning = 64;
  void run(std::shared_ptr<ControlChannel> channel, meta::Context ctx, uint32_t command, const std::string& body);
  ControlEnv env_;
  std::mutex mu_;
  std::condition_variable ended_;
  size_t running_ = 0;
  std::atomic<bool> stopping_{false};
};

// The commands. Each ends the call with exactly one finish….
void controlRemove(ControlCall& call);      // 1002
void controlLegacyInfo(ControlCall& call);  // 1003
void controlCache(ControlCall& call);       // 1004
void controlInfo(ControlCall& call);        // 1005
void controlClone(ControlCall& call);       // 1006
void controlSummary(ControlCall& call);     // 1007
void controlCompact(ControlCall& call);     // 1008
void controlWhy(ControlCall& call);         // 20001, our own

}  // namespace aquifer::vfs
