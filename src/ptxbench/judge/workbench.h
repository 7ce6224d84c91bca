// Where the judge computes what it expects: on this CPU, or on a trusted device process of its own, which never sees a
// candidate's code (a GPU for full workloads; the emulator is how that is tested). Both compute in FP64 by the same
// formulas (reference.h), so that their results agree to FP64 rounding.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/judge/command_queue.h"
#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/inputs.h"
#include "ptxbench/judge/problem.h"
#include "ptxbench/schema/definition.h"

namespace ptxbench::judge {

// Elements of an output that no comparison is needed to condemn.
struct ScanCounts {
  std::uint64_t never_written = 0;  // still hold kPoison
  std::uint64_t non_finite = 0;     // NaN or infinite, poison included
};

// One output of a run, as it came back from the candidate's device.
struct RunOutput : OutputShape {
  std::span<const std::byte> bytes;
};

class Workbench {
 public:
  virtual ~Workbench() = default;

  // The figures of one run, every element compared; hints where something is wrong, as far as the outputs are small
  // enough to be brought here (else the hint says so). run: the plan's index, for the record.
  virtual Result<std::vector<schema::FamilyFigures>> compare(const Problem& problem, const RunPlan& plan,
                                                             const InputSet& inputs,
                                                             const std::vector<RunOutput>& outputs, int run) = 0;

  // The expected outputs in the definition's order.
  virtual Result<std::vector<std::vector<double>>> reference(const Problem& problem, const InputSet& inputs) = 0;

  // kGemmNt: the expected rows of C with these numbers, [rows.size(), n]. Others are refused by name.
  virtual Result<std::vector<double>> gemm_rows(const Problem& problem, const InputSet& inputs,
                                                std::span<const std::uint32_t> rows) = 0;

  // Every element of an output, kBFloat16 or kFloat32.
  virtual Result<ScanCounts> scan(schema::DType dtype, std::span<const std::byte> output) = 0;
};

class CpuWorkbench : public Workbench {
 public:
  explicit CpuWorkbench(unsigned threads) : threads_(threads) {}  // 0: one per core
  Result<std::vector<schema::FamilyFigures>> compare(const Problem& problem, const RunPlan& plan,
                                                     const InputSet& inputs, const std::vector<RunOutput>& outputs,
                                                     int run) override;
  Result<std::vector<std::vector<double>>> reference(const Problem& problem, const InputSet& inputs) override;
  Result<std::vector<double>> gemm_rows(const Problem& problem, const InputSet& inputs,
                                        std::span<const std::uint32_t> rows) override;
  Result<ScanCounts> scan(schema::DType dtype, std::span<const std::byte> output) override;

 private:
  unsigned threads_;
};

struct InputRecipe;

// On the device behind a control connection. Everything it allocates there is freed before a call returns.
class DeviceWorkbench : public Workbench {
 public:
  // Loads our kernels. The queue must outlive the workbench. kProtocol: the device refuses them.
  static Result<std::unique_ptr<DeviceWorkbench>> create(CommandQueue& queue, std::span<const std::byte> fatbin);
  ~DeviceWorkbench() override;

  Result<std::vector<schema::FamilyFigures>> compare(const Problem& problem, const RunPlan& plan,
                                                     const InputSet& inputs, const std::vector<RunOutput>& outputs,
                                                     int run) override;
  Result<std::vector<std::vector<double>>> reference(const Problem& problem, const InputSet& inputs) override;
  Result<std::vector<double>> gemm_rows(const Problem& problem, const InputSet& inputs,
                                        std::span<const std::uint32_t> rows) override;
  Result<ScanCounts> scan(schema::DType dtype, std::span<const std::byte> output) override;

  // ---- Tensors that lie on this device already, addresses in the definition's order ----

  // As compare(). inputs makes the same ones on the CPU, when hints are asked for.
  Result<std::vector<schema::FamilyFigures>> compare_placed(const Problem& problem, const RunPlan& plan,
                                                            const std::function<InputSet()>& inputs,
                                                            std::span<const std::uint64_t> input_addresses,
                                                            const std::vector<OutputShape>& shapes,
                                                            std::span<const std::uint64_t> output_addresses, int run);

  // Whether inputs of this problem can be drawn here: rows of whole blocks of 8 elements.
  static bool can_draw(const Problem& problem);
  // What make_inputs gives for this plan, seed and run, bit for bit; attention backward's O and L, which are computed, up
  // to the order of sums in FP64. kGiven: O and L are the caller's to write. Done after the queue's next flush.
  enum class Forward { kComputed, kGiven };
  Status draw_inputs(const Problem& problem, const RunPlan& plan, std::span<const std::uint64_t> inputs,
                     std::uint64_t seed, int run, Forward forward = Forward::kComputed);

  // Every element of the outputs is scanned for poison, NaN and infinity; a part that `draw` chooses is computed anew
  // from the inputs and held against the strict rule: 64 rows of C, or one K/V head with all rows of its query heads.
  // Begun here; the inputs and outputs may be overwritten by later commands. finish() after the queue's next flush.
  struct CallCheck {
    std::int64_t rows = 0;                       // held against exact values
    std::vector<schema::OutputFigures> figures;  // per output, of what was looked at
  };
  class PendingCheck;
  Result<std::unique_ptr<PendingCheck>> check_call(const Problem& problem, std::span<const std::uint64_t> inputs,
                                                   const std::vector<OutputShape>& shapes,
                                                   std::span<const std::uint64_t> outputs, const PhiloxStream& draw);

  // Memory for the scores of attention: as many heads at a time as fit (at least one group of heads that share K and V).
  void set_score_bytes(std::uint64_t bytes) { score_bytes_ = bytes; }
  // Outputs with more elements than this are compared without hints.
  void set_hint_elements(std::int64_t elements) { hint_elements_ = elements; }

 private:
  class Memory;  // device blocks of one call
  struct Kernels {
    std::uint32_t matmul_bf16 = 0, matmul_f64 = 0, softmax = 0, gradient = 0, compare = 0, scan = 0, inputs = 0,
                  round = 0;
  };

  explicit DeviceWorkbench(CommandQueue& queue) : queue_(queue) {}
  template <class Params>
  Status launch(std::uint32_t kernel, wire::Dim3 grid, std::uint32_t threads, const Params& params);
  template <class Params>
  Status multiply(std::uint32_t kernel, const Params& params, std::int64_t batches);
  struct Block {  // doubles on the device
    std::uint64_t address = 0, elements = 0;
  };
  Result<std::vector<std::uint64_t>> place(Memory& memory, const InputSet& inputs);
  Result<std::vector<Block>> expected(Memory& memory, const Problem& problem, std::span<const std::uint64_t> inputs);
  Result<Block> gemm_rows_at(Memory& memory, const Problem& problem, std::uint64_t a, std::uint64_t b,
                             std::uint64_t row_list, std::int64_t rows);
  Result<std::vector<Block>> forward_at(Memory& memory, const AttentionShape& shape, std::uint64_t q, std::uint64_t k,
                                        std::uint64_t v);
  Result<std::vector<Block>> backward_at(Memory& memory, const AttentionShape& shape,
                                         std::span<const std::uint64_t> inputs);
  Result<std::vector<RowRecord>> records_of(Memory& memory, const OutputShape& shape, std::uint64_t output,
                                            const Block& expected);
  // Rows of a bf16 output at `values` (numbers at row_list, or the first ones) against as many expected ones. The records
  // and counts are there after the queue's next flush.
  Status compare_at(Memory& memory, std::uint64_t values, std::uint64_t row_list, std::int64_t rows,
                    std::int64_t columns, std::uint64_t expected, std::vector<RowRecord>& records);
  Status scan_at(Memory& memory, schema::DType dtype, std::uint64_t address, std::int64_t elements,
                 std::array<std::uint64_t, 2>& counts);  // as ScanCounts has them
  Status draw_input(Memory& memory, const InputRecipe& recipe, std::uint64_t out, std::uint64_t keys);
  Status draw_forward(const AttentionShape& shape, std::span<const std::uint64_t> inputs);
  Status check_gemm(PendingCheck& check, const Problem& problem, std::span<const std::uint64_t> inputs,
                    std::uint64_t output, const PhiloxStream& draw);
  Status check_attention(PendingCheck& check, const Problem& problem, std::span<const std::uint64_t> inputs,
                         std::span<const std::uint64_t> outputs, const PhiloxStream& draw);

  CommandQueue& queue_;
  std::uint32_t module_ = 0;
  std::uint64_t normal_ = 0, narrow_ = 0;             // tables on the device, from the first draw on
  std::multimap<std::uint64_t, std::uint64_t> kept_;  // blocks by size that timed calls use again
  Kernels kernels_;
  std::uint64_t score_bytes_ = std::uint64_t{8} << 30;
  std::int64_t hint_elements_ = std::int64_t{1} << 22;
};

// The kernels as a fat binary: lib/ptxbench/trusted.fatbin beside the running program's folder. kNotFound when this
// build was made without nvcc.
Result<std::filesystem::path> locate_trusted_kernels();

}  // namespace ptxbench::judge
