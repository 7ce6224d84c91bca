// Internal to DeviceWorkbench: a check that is under way.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "ptxbench/judge/workbench_memory.h"

namespace ptxbench::judge {

class DeviceWorkbench::PendingCheck {
 public:
  PendingCheck(CommandQueue& queue, Memory::Kept* kept, const std::vector<OutputShape>& outputs)
      : memory(queue, kept), shapes(outputs), counts(outputs.size()) {}
  CallCheck finish() const;

 private:
  friend DeviceWorkbench;
  struct Part {  // rows of an output that were computed anew
    OutputShape shape;
    std::vector<RowRecord> records;  // bf16
    std::vector<double> expected;    // binary32
    std::vector<float> got;
  };
  Part& add(std::size_t output, std::vector<std::int64_t> shape) {
    return parts.emplace_back(Part{{shapes[output].name, shapes[output].dtype, std::move(shape)}, {}, {}, {}});
  }

  Memory memory;
  std::vector<OutputShape> shapes;
  std::vector<std::array<std::uint64_t, 2>> counts;  // as ScanCounts has them
  std::deque<Part> parts;                            // what is being read must not move
};

}  // namespace ptxbench::judge
