#include "ptxbench/judge/build_evidence.h"

#include <fmt/format.h>

#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"
#include "ptxbench/base/symbol.h"
#include "ptxbench/toolchain/ptx_counts.h"
#include "ptxbench/toolchain/sass.h"

namespace ptxbench::judge {
namespace {

using Outcome = BuildEvidence::Outcome;

// Instructions that stand in the artifact, executed or not. What cannot be counted stays empty: unknown, not zero.
void count_instructions(const schema::Artifact& artifact, BuildEvidence& evidence) {
  if (const auto sass = toolchain::count_sass(artifact.cubin())) evidence.static_sass = sass->families;
  const auto text = read_file(artifact.ptx());
  if (!text) return;
  if (const auto ptx = toolchain::count_ptx(*text, artifact.source_name)) evidence.static_ptx = ptx->families;
}

BuildEvidence from(const toolchain::Built& built) {
  const schema::Artifact& artifact = built.artifact;
  BuildEvidence evidence;
  evidence.outcome = Outcome::kBuilt;
  evidence.artifact_hash = artifact.hash;
  evidence.source_hash = artifact.source_sha256;
  evidence.library = artifact.library();
  evidence.artifact = artifact;
  evidence.layer.cached = built.cached;
  evidence.layer.seconds = built.cached ? 0 : built.seconds;
  for (const schema::KernelResources& kernel : artifact.kernels)
    evidence.layer.kernels.push_back({demangle(kernel.name), static_cast<int>(kernel.registers),
                                      static_cast<int>(kernel.spill_store_bytes),
                                      static_cast<int>(kernel.spill_load_bytes), static_cast<int>(kernel.stack_bytes),
                                      static_cast<std::int64_t>(kernel.static_shared_bytes)});
  for (const std::string& warning : artifact.warnings)
    evidence.layer.diagnostics.push_back({"warning", artifact.source_name, 0, 0, warning});
  evidence.static_sass.insert(artifact.static_sass.begin(), artifact.static_sass.end());
  evidence.static_ptx.insert(artifact.static_ptx.begin(), artifact.static_ptx.end());
  evidence.versions.push_back({"nvcc", artifact.nvcc_version});
  count_instructions(artifact, evidence);
  return evidence;
}

BuildEvidence from(const toolchain::CompileFailure& failure) {
  BuildEvidence evidence;
  evidence.outcome = Outcome::kCompileError;
  evidence.message = failure.summary.empty() ? "the compiler gave no artifact" : failure.summary;
  evidence.layer.seconds = failure.seconds;
  evidence.layer.log = failure.log;
  for (const toolchain::Diagnostic& diagnostic : failure.diagnostics)
    evidence.layer.diagnostics.push_back({diagnostic.is_error ? "error" : "warning", diagnostic.file, diagnostic.line,
                                          diagnostic.column, diagnostic.message});
  return evidence;
}

BuildEvidence from(const toolchain::PolicyViolation& violation) {
  BuildEvidence evidence;
  evidence.outcome = Outcome::kPolicyViolation;
  for (const toolchain::PolicyFinding& finding : violation.findings)
    evidence.layer.policy.push_back(
        {std::string(to_string(finding.rule)), finding.where,
         finding.hint.empty() ? finding.what : fmt::format("{}; {}", finding.what, finding.hint)});
  if (!evidence.layer.policy.empty()) {
    const schema::PolicyFinding& first = evidence.layer.policy.front();
    evidence.message = fmt::format("{}: {}", first.where, first.what);
    if (evidence.layer.policy.size() > 1)
      evidence.message += fmt::format(" (and {} more)", evidence.layer.policy.size() - 1);
  }
  return evidence;
}

}  // namespace

Result<BuildEvidence> build_evidence(const toolchain::BuildOutcome& outcome, const toolchain::BuildRequest& request) {
  BuildEvidence evidence = std::visit([](const auto& result) { return from(result); }, outcome);
  if (evidence.source_hash.empty()) {
    PTXBENCH_TRY(const std::string source, read_file(request.source, request.limits.source_bytes));
    evidence.source_hash = sha256_hex(source);
  }
  if (!request.include_folders.empty())
    evidence.versions.push_back({"pack headers", toolchain::headers_sha256(request.include_folders)});
  return evidence;
}

}  // namespace ptxbench::judge
