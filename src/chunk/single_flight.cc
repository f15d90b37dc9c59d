#include "chunk/single_flight.h"

namespace aquifer::chunk {

void SingleFlight::await(Call& call, std::unique_lock<std::mutex>& lock) {
  const int64_t start = monotonicNanos();
  call.done.wait(lock, [&] { return call.result.has_value(); });
  ScopedStage::waited(monotonicNanos() - start, call.stages);
}

Result<BufferRef> SingleFlight::run(const BlockId& block, const Fetch& fetch) {
  std::shared_ptr<Call> call;
  {
    std::unique_lock lock(mu_);
    auto [it, mine] = calls_.try_emplace(block, nullptr);
    if (!mine) {
      call = it->second;
      await(*call, lock);
      return *call->result;
    }
    call = it->second = std::make_shared<Call>();
  }
  const StageNanos before = ScopedStage::sums();
  auto result = fetch();
  std::lock_guard lock(mu_);
  call->stages = ScopedStage::since(before);
  call->result = result;
  calls_.erase(block);
  call->done.notify_all();
  return result;
}

std::optional<Result<BufferRef>> SingleFlight::join(const BlockId& block) {
  std::unique_lock lock(mu_);
  auto it = calls_.find(block);
  if (it == calls_.end()) return std::nullopt;
  auto call = it->second;
  await(*call, lock);
  return call->result;
}

bool SingleFlight::inFlight(const BlockId& block) {
  std::lock_guard lock(mu_);
  return calls_.count(block) > 0;
}

}  // namespace aquifer::chunk
