// A task as data: FlashInfer Trace's definition and workload, with ptxbench's additions under the key "ptxbench".
// Reading is strict: types, axis rules and expressions are checked, and an error names file, JSON path, what was found
// and what was expected. Unknown fields are kept (and written back) and reported, never an error: the format is shared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/dtype.h"

namespace ptxbench::schema {

// A field that the reader did not know: where, and its JSON text.
struct UnknownField {
  std::string pointer;  // JSON pointer (RFC 6901), e.g. "/inputs/A/layout"
  std::string json;
};

struct Axis {
  std::string name;
  std::optional<std::int64_t> constant;  // none: a variable axis, whose value the workload gives
  std::string description;
};

struct TensorSpec {
  std::string name;
  std::optional<std::vector<std::string>> shape;  // axis names, outermost first, row-major; none: a scalar
  DType dtype = DType::kFloat32;
  std::string description;
};

// What the judge must compute for this task; the closed set that it has references for.
enum class Operation { kGemmNt, kAttentionForward, kAttentionBackward };
std::string_view to_string(Operation operation);  // "gemm_nt", "attention_forward", "attention_backward"

// The additions under "ptxbench". Without them a definition can be listed and shown, not judged.
struct TaskExtension {
  Operation operation = Operation::kGemmNt;
  bool causal = false;                // attention only
  std::string required_flops;         // least MMA FLOPs of an honest kernel: an expression over the axes
  std::string convention_flops;       // FLOPs that throughput figures count by convention
  std::vector<std::string> families;  // input families, by the judge's names
  std::map<std::string, std::vector<std::string>> target_families;  // "hopper" -> {"wgmma", "tma"}
  bool headline = false;                                            // one of the five tasks of the main table
  std::string emulator_sibling;  // definition to use instead on the emulator; empty: its own emulator workloads
  std::string full_sibling;      // set on such a sibling: the definition that it stands for
};

struct Definition {
  std::string name;
  std::string op_type;
  std::vector<Axis> axes;           // in file order
  std::vector<TensorSpec> inputs;   // in call order
  std::vector<TensorSpec> outputs;  // in call order, after the inputs
  std::string reference;            // Python source with a top-level run()
  std::vector<std::string> constraints;
  std::vector<std::string> tags;
  std::string description;
  std::optional<TaskExtension> extension;
  std::vector<UnknownField> unknown;

  const Axis* axis(std::string_view axis_name) const;  // nullptr when not declared
};

using AxisValues = std::map<std::string, std::int64_t, std::less<>>;

// One input of a workload.
struct WorkloadInput {
  enum class Kind { kRandom, kScalar, kSafetensors };
  std::string name;
  Kind kind = Kind::kRandom;
  double scalar = 0;             // kScalar
  std::string path, tensor_key;  // kSafetensors
};

struct Workload {
  std::string uuid;
  std::string definition;                                  // the definition's name
  std::vector<std::pair<std::string, std::int64_t>> axes;  // the variable axes
  std::vector<WorkloadInput> inputs;
  std::vector<WorkloadInput> outputs;  // stored results, if any (safetensors)
  bool emulator = false;               // "ptxbench": {"emulator": true}
  std::vector<UnknownField> unknown;
};

// file_name is used in messages only.
Result<Definition> definition_from_json(std::string_view text, std::string file_name);
std::string to_json(const Definition& definition, int indent = 2);

// One line of a workloads file: either a bare workload or a trace record {definition, workload}.
Result<Workload> workload_from_json(std::string_view text, const Definition& definition, std::string file_name,
                                    int line = 0);
std::string to_json(const Workload& workload);  // one line: {"definition": ..., "workload": {...}}

// All axes with their values. kInvalidInput when the workload lacks one, gives a constant one another value, or breaks
// a constraint.
Result<AxisValues> resolve_axes(const Definition& definition, const Workload& workload);

// The extents of a tensor; empty for a scalar.
std::vector<std::int64_t> extents(const TensorSpec& tensor, const AxisValues& axes);

}  // namespace ptxbench::schema
