// One evaluation at a time on a card. Two that run together share its multiprocessors, its clock and its profiler: their times
// would be each other's.
#pragma once

#include <functional>
#include <string>

#include "ptxbench/base/result.h"
#include "ptxbench/base/unique_fd.h"

namespace ptxbench::judge {

// The turn on this card (GpuStation::card()) until the descriptor closes, also by kill -9; excludes all ptxbench processes
// that share a cache folder. waiting: called once if another evaluation has the turn; may be empty. kUnavailable: no lock
// can be had in the cache folder.
Result<UniqueFd> take_turn(const std::string& card, const std::function<void()>& waiting);

}  // namespace ptxbench::judge
