// Inputs that a kernel's author could not know: drawn from Philox with the judge's seed, in several families, so that a
// kernel that is right on one distribution only is found out. Independent parts of one problem ("units": rows of A,
// heads) get different families, so that few runs cover many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/judge/philox.h"
#include "ptxbench/judge/problem.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::judge {

enum class Family {
  kNormal,     // N(0,1), the paper's distribution
  kInteger,    // GEMM: integers whose sums are exact in binary32, so that the output's bits are determined
  kOffset,     // non-zero means
  kSpikes,     // N(0,1) with one value in a thousand 10 (GEMM: 100) times larger
  kScaled,     // GEMM: every row of A in a scale of its own, from 2^-12 to 2^12
  kWide,       // attention: logits with a standard deviation of 4 to 30 (backward: 3)
  kSignature,  // each output row equals one row of an input: names the key or k index that a kernel skips
  kImpulse,    // backward: dO is zero but for one element in every other row
};
std::string_view to_string(Family family);
Result<Family> family_from(std::string_view name);  // kUnsupported names the known ones

// One run of the candidate: when asynchronous operations take effect, and the family of each unit.
struct RunPlan {
  wire::Schedule schedule = wire::Schedule::kLatest;
  std::vector<Family> family_of_unit;
};

// The runs that cover the families. Families that need both operands for themselves (integer; for attention also normal)
// get a run of their own; the others share runs. Which unit gets which family depends on the seed. Schedules alternate,
// beginning with kLatest. kUnsupported when a family does not belong to the operation.
Result<std::vector<RunPlan>> plan_runs(const Problem& problem, const std::vector<std::string>& families,
                                       std::uint64_t seed);

struct HostTensor {
  std::vector<std::byte> bytes;
  std::span<const std::uint16_t> bf16() const;
  std::span<const float> f32() const;
};

struct InputSet {
  std::vector<HostTensor> tensors;  // in the definition's order
  std::vector<std::int64_t>
      signature;  // kSignature, per query row (or row of A): the key (k index) that it must return; else -1
};

// run is the index of the plan: it selects the random streams. Attention backward computes O and L by the reference.
InputSet make_inputs(const Problem& problem, const RunPlan& plan, std::uint64_t seed, int run, unsigned threads);

// The expected outputs in the definition's order, in double precision.
std::vector<std::vector<double>> make_reference(const Problem& problem, const InputSet& inputs, unsigned threads);

// Largest magnitude of the integer family: sums of k products stay below 2^24 by eight standard deviations. Such sums are
// exact in binary32 in any order, and on Hopper's tensor cores too: these cut every addend at 2^-25 of the largest one and
// the sum to 24 bits, which costs an integer below 2^24 nothing (compared with an H200).
std::int64_t integer_amplitude(std::int64_t k);

// From the system's random source; 53 bits, so that every JSON reader keeps it exactly.
Result<std::uint64_t> random_seed();

}  // namespace ptxbench::judge
