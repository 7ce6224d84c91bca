// Independent pieces of work, spread over all cores.
#pragma once

#include <cstddef>
#include <functional>

#include "ptxbench/base/result.h"

namespace ptxbench::report {

// Calls body(0) ... body(count - 1), in any order and at the same time. The error is that of the smallest number, as if they had
// been called one by one; after one, no more are begun.
Status on_all_cores(std::size_t count, const std::function<Status(std::size_t)>& body);

}  // namespace ptxbench::report
