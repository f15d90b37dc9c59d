// Commands that act on whole trees: remove, clone, compact.
#include <atomic>
#include <memory>

#include "base/log.h"
#include "base/thread_pool.h"
#include "vfs/control/runner.h"
#include "vfs/control/walk.h"

namespace aquifer::vfs {

void controlRemove(ControlCall& call) {
  auto parent = call.body.big<uint64_t>();
  std::string name(call.body.take(call.body.big<uint8_t>()));
  bool skipTrash = call.byteOr(0) & 1;
  int threads = call.byteOr(50);
  if (!call.body.ok() || name.empty() || name == "." || name == "..") return call.finishCode(Code::invalid);
  if (skipTrash && call.ctx.uid != 0) return call.finishCode(Code::notPermitted);
  auto report = call.progress();
  auto s = call.env.meta.removeAll(call.ctx, parent, name, skipTrash, std::max(threads, 1),
                                   [&](uint64_t done, uint64_t) { return report(done, 0); });   // nobody knows the total
  if (s) call.env.notify.entry(parent, name);
  call.finishCode(s.code());
}

void controlClone(ControlCall& call) {
  auto source = call.body.big<uint64_t>();
  call.body.big<uint64_t>();   // its parent: nothing depends on it
  auto parent = call.body.big<uint64_t>();
  std::string name(call.body.take(call.body.big<uint8_t>()));
  auto umask = call.body.big<uint16_t>();
  auto mode = call.body.big<uint8_t>();
  int threads = call.byteOr(4);
  if (!call.body.ok() || name.empty()) return call.finishCode(Code::invalid);
  // What was written through this mount belongs to the copy.
  if (auto flushed = call.env.data.flushAll(); !flushed) LOG_WARN("clone of inode {} starts without some unwritten bytes: {}", source, flushed.text());
  auto s = call.env.meta.clone(call.ctx, source, parent, name, mode, umask, std::max(threads, 1), call.progress());
  if (s) call.env.notify.entry(parent, name);
  call.finishCode(s.code());
}

void controlCompact(ControlCall& call) {
  auto ino = call.body.big<uint64_t>();
  auto workers = call.body.big<uint16_t>();
  if (!call.body.ok()) return call.finishCode(Code::invalid);
  constexpr int kMaxWorkers = 64;
  constexpr int kMaxRounds = 100;   // a chunk that is written faster than it is compacted must end some time
  std::atomic<uint64_t> found{0}, done{0};
  std::atomic<int> firstError{0};
  auto report = call.progress();
  auto attr = call.env.meta.getattr(call.ctx, ino);
  if (!attr) return call.finishCode(attr.code());
  Status walked;
  {
    ThreadPool pool("compact-path", std::clamp<int>(workers, 1, kMaxWorkers), 1000);
    auto compact = [&](Ino file, uint32_t index) {
      for (int round = 0; round < kMaxRounds && !call.ctx.isInterrupted(); round++) {
        auto before = call.env.meta.readChunk(file, index);
        if (!before || before->size() < 2) break;
        auto s = call.env.meta.compactChunk(file, index).status();
        if (!s) {
          int none = 0;
          if (!s.is(Code::notFound)) firstError.compare_exchange_strong(none, s.toErrno());
          break;
        }
        call.env.data.invalidate(file, uint64_t{index} << meta::kChunkBits, meta::kChunkSize);
        auto after = call.env.meta.readChunk(file, index);
        if (!after || after->size() >= before->size()) break;
      }
      report(found, ++done);
    };
    walked = walkFiles(call.env.meta, call.ctx, ino, *attr, [&](Ino file, const meta::Attr& a) -> Status {
      for (uint64_t i = 0; i << meta::kChunkBits < a.length; i++) {
        if (!report(++found, done)) return Code::interrupted;
        pool.submit([&compact, file, i] { compact(file, static_cast<uint32_t>(i)); });
      }
      return {};
    });
    pool.drain();
  }
  if (walked && firstError) walked = static_cast<Code>(firstError.load());
  call.finishCode(walked.code());
}

}  // namespace aquifer::vfs
