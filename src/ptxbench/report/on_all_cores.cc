#include "ptxbench/report/on_all_cores.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace ptxbench::report {

Status on_all_cores(std::size_t count, const std::function<Status(std::size_t)>& body) {
  std::map<std::size_t, Error> errors;
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = 0; (i = next++) < count;) {
      Status done = body(i);
      if (done) continue;
      const std::lock_guard lock(mutex);
      errors.emplace(i, std::move(done.error()));
      next = count;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) helpers.emplace_back(work);
    work();
  }
  if (!errors.empty()) return fail(std::move(errors.begin()->second));
  return {};
}

}  // namespace ptxbench::report
