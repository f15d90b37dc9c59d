// Runs a loop with the help of a pool. The caller works too and never waits for a queue: nested use cannot deadlock.
#pragma once

#include <cstddef>
#include <functional>

#include "base/status.h"
#include "base/thread_pool.h"

namespace aquifer::chunk {

// fn(i) for i in [0, n), at most `width` at a time; returns the first error (all started calls have ended by then).
Status parallelFor(ThreadPool& pool, size_t n, size_t width, const std::function<Status(size_t)>& fn);

}  // namespace aquifer::chunk
