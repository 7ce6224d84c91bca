// One candidate on one workload: makes inputs and references, runs the candidate, compares, joins the instruction
// evidence, and writes the verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/judge/runner.h"
#include "ptxbench/judge/sanitizer.h"
#include "ptxbench/schema/artifact.h"
#include "ptxbench/schema/definition.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::judge {

// How the build went, in the verdict's terms (build_evidence.h makes it from the toolchain's outcome).
struct BuildEvidence {
  enum class Outcome { kBuilt, kCompileError, kPolicyViolation, kInfrastructure };
  Outcome outcome = Outcome::kInfrastructure;
  std::string message;         // why, unless kBuilt
  schema::CompileLayer layer;  // state and message are filled by evaluate()
  std::string artifact_hash;   // of the sealed artifact (kBuilt)
  std::string source_hash;
  std::filesystem::path library;                    // kernel.so (kBuilt)
  schema::Artifact artifact;                        // kBuilt
  std::map<std::string, std::int64_t> static_sass;  // instruction counts per family; empty: not read
  std::map<std::string, std::int64_t> static_ptx;
  std::vector<schema::ToolVersion> versions;
};

// A function so that tests can answer with prepared outcomes; run_candidate is the real one.
using Runner = std::function<Result<RunOutcome>(const RunRequest&)>;

struct EvaluateRequest {
  schema::Definition definition;
  schema::Workload workload;
  std::string full_task;  // the definition that `definition` stands for, if it is an emulator sibling
  std::string target = "hopper";
  schema::RuleSet rules = schema::RuleSet::kStrict;
  std::optional<std::uint64_t> seed;  // none: from the system's random source
  unsigned threads = 0;               // for references and comparison; 0: one per core
  BuildEvidence build;
  // Programs, shim folder and limits; evaluate() fills artifact, arguments and schedule.
  RunRequest run;
  // Told the outputs of every run whose run() came back in order, for comparison with another device; may be empty.
  std::function<void(int run, const std::vector<std::vector<std::byte>>&)> keep_outputs;
  // Runs of the candidate under these tools as well; a GPU's only, evaluate() refuses them.
  std::vector<SanitizerTool> sanitize;
  bool audit = false;            // ncu counts, too
  bool another_follows = false;  // on the same device: its process may be started meanwhile
  // Told what is about to happen ("reference", "run 1 of 2", ...); may be empty.
  std::function<void(std::string_view)> progress;
};

// kUnsupported names the tools of a GPU that the request asks for and an emulator has no use for.
Status refuse_tools(const EvaluateRequest& request);

// Always a verdict, also for failures of the infrastructure (INFRA_ERROR). An Error is the caller's: a definition that
// the judge has no reference for, a workload that does not fit it, an unknown target.
Result<schema::Verdict> evaluate(const EvaluateRequest& request, const Runner& runner);

}  // namespace ptxbench::judge
