// `ptxbench inspect`: what is in a .cu, .so, .cubin or .ptx file, without running it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/toolchain/build.h"
#include "ptxbench/toolchain/sass.h"

namespace ptxbench::toolchain {

struct Inspection {
  std::string kind;                              // "CUDA source", "library", "cubin", "PTX"
  std::vector<schema::KernelResources> kernels;  // ptxas's figures; .cu only
  std::optional<StaticCounts> sass, ptx;
  std::string sass_note, ptx_note;  // why sass or ptx is absent: "not available: ..." or "none in the file"
  std::vector<std::string> notes;   // device code entries of a library, its imports that the policy forbids ...
};

// .cu files are compiled (through the cache); what went wrong there comes back as it is.
using InspectOutcome = std::variant<Inspection, CompileFailure, PolicyViolation>;
Result<InspectOutcome> inspect(const BuildRequest& request);

}  // namespace ptxbench::toolchain
