// What the vendor's libraries take for a task, in a device process of their own, which holds neither the judge's expected
// values nor a candidate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/device_process.h"
#include "ptxbench/judge/problem.h"
#include "ptxbench/judge/time_rules.h"

namespace ptxbench::judge {

class Baseline {
 public:
  // Asks the libraries for their plans; loading them takes some 0.4 s, so it is worth doing early. inputs: blocks of the
  // process that draws them, mapped until close(), as long as the libraries' own outputs live. An Error is that of the
  // process; libraries that are missing are problem().
  static Result<Baseline> prepare(DeviceProcess& libraries, const Problem& problem,
                                  const std::vector<wire::SharedBlock>& inputs,
                                  const std::vector<std::uint64_t>& input_bytes,
                                  const std::vector<OutputShape>& outputs);

  // The fastest plan of each library on what the inputs hold, by the median of a few timed calls.
  Result<std::vector<BaselineCalls>> choose(std::uint64_t flush_bytes) const;
  Status run(const BaselineCalls& chosen, std::uint64_t flush_bytes, Calls& calls) const;

  // Attention backward: whether a library can write the O and L of a forward pass into the inputs; forward() does.
  bool has_forward() const { return forward_.has_value(); }
  Status forward() const;

  void close();
  const std::string& problem() const { return problem_; }  // why libraries are missing; empty: none is

 private:
  explicit Baseline(DeviceProcess& libraries) : libraries_(&libraries) {}

  DeviceProcess* libraries_;
  std::vector<std::uint64_t> inputs_, outputs_;
  std::uint32_t handle_ = 0;
  std::optional<std::uint32_t> forward_;
  std::vector<wire::BaselinePlan> plans_;
  std::string problem_;
};

}  // namespace ptxbench::judge
