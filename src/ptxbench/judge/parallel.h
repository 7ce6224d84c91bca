// A loop whose iterations run on several threads. An exception of an iteration ends the loop and is thrown again here.
#pragma once

#include <cstdint>
#include <functional>

namespace ptxbench::judge {

// 0 means one per core.
unsigned worker_count(unsigned threads);

// Calls body(i) for i in [0, count), in any order, on up to `threads` threads (0: one per core).
void parallel_for(std::int64_t count, unsigned threads, const std::function<void(std::int64_t)>& body);

}  // namespace ptxbench::judge
