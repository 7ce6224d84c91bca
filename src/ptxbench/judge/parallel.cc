#include "ptxbench/judge/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ptxbench::judge {

unsigned worker_count(unsigned threads) {
  return threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(std::int64_t count, unsigned threads, const std::function<void(std::int64_t)>& body) {
  const std::int64_t workers = std::min<std::int64_t>(worker_count(threads), count);
  if (workers <= 1) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::int64_t i; (i = next.fetch_add(1)) < count;) {
      try {
        body(i);
      } catch (const std::exception&) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next.store(count);
      }
    }
  };
  {
    std::vector<std::jthread> pool;
    for (std::int64_t i = 1; i < workers; ++i) pool.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ptxbench::judge
