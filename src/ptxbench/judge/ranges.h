// Sets of indices in words: "64-127", "0, 2 and 8-15", "every 8th".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptxbench::judge {

// sorted, without repeats. More than four runs are shortened: "0-7, 16-23, 32-39 and 5 more ranges up to 127".
std::string range_list(const std::vector<std::int64_t>& sorted);

// The same, but says "r mod 16 in 8-15" when exactly those of [0, extent) are in the set, and "all" for the whole extent.
std::string describe_indices(const std::vector<std::int64_t>& sorted, std::int64_t extent, const char* singular,
                             const char* plural);

}  // namespace ptxbench::judge
