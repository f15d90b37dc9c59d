// Command why (20001): the slowest operations of the last minute below an inode, and where all time went.
#include "meta/model/json_text.h"
#include "vfs/control/runner.h"
#include "vfs/op.h"
#include "vfs/special.h"

namespace aquifer::vfs {

namespace {
constexpr size_t kMostShown = 20;

meta::Json stagesJson(const StageNanos& stages, int64_t total) {
  meta::Json j = meta::Json::object();
  int64_t rest = total;
  for (size_t i = 0; i < kStages; ++i) {
    j[stageName(static_cast<Stage>(i))] = stages[i] / 1000;
    rest -= stages[i];
  }
  j["other"] = std::max<int64_t>(rest, 0) / 1000;
  return j;
}

std::string firstPath(ControlCall& call, Ino ino) {
  if (ino == 0 || isSpecialFile(ino)) return {};
  auto paths = call.env.meta.paths(ino);
  return paths && !paths->empty() ? paths->front() : std::string();
}

bool below(const std::string& path, const std::string& top) {
  return top == "/" || path == top || (path.starts_with(top) && path.size() > top.size() && path[top.size()] == '/');
}
}  // namespace

// Body: the inode, the mount's root for everything. Callers other than root see what their own user did.
void controlWhy(ControlCall& call) {
  auto ino = call.body.big<uint64_t>();
  if (!call.body.ok()) return call.finishCode(Code::invalid);
  const bool all = ino == meta::kRootIno || ino == call.env.meta.rootIno();
  const auto top = all ? std::string("/") : firstPath(call, ino);
  if (top.empty()) return call.finishCode(Code::notFound);
  const int64_t now = monotonicNanos();
  auto minute = slowOps().minute(now);
  const bool everybody = all && call.ctx.uid == 0;
  if (!everybody) minute.operations = 0, minute.nanos = 0, minute.stages = {};
  meta::Json rows = meta::Json::array();
  for (auto& op : minute.slowest) {
    if (call.ctx.isInterrupted()) return call.finishCode(Code::interrupted);
    if (call.ctx.uid != 0 && op.uid != call.ctx.uid) continue;
    // Without a filter only what is shown needs a path.
    const bool show = rows.size() < kMostShown;
    const auto about = show || !all ? inodeOfArguments(op.arguments) : 0;
    const auto path = show || !all ? firstPath(call, about) : std::string();
    if (!all && (path.empty() || !below(path, top))) continue;
    if (!everybody) {   // sums of what is known here
      ++minute.operations;
      minute.nanos += op.tookNanos;
      for (size_t i = 0; i < kStages; ++i) minute.stages[i] += op.stages[i];
    }
    if (!show) continue;
    rows.push_back({{"op", op.op},
                    {"arguments", op.arguments},
                    {"inode", about},
                    {"path", path},
                    {"uid", op.uid},
                    {"pid", op.pid},
                    {"ago_ms", std::max<int64_t>(now - op.endedNanos, 0) / 1'000'000},
                    {"us", op.tookNanos / 1000},
                    {"stages_us", stagesJson(op.stages, op.tookNanos)}});
  }
  meta::Json j;
  j["seconds"] = SlowOps::kSeconds;
  j["complete"] = everybody;
  j["operations"] = minute.operations;
  j["us"] = minute.nanos / 1000;
  j["stages_us"] = stagesJson(minute.stages, minute.nanos);
  j["slowest"] = std::move(rows);
  call.finishData(meta::jsonText(j, -1));
}

}  // namespace aquifer::vfs
