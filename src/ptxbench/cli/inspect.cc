// ptxbench inspect: what is in a .cu, .so, .cubin or .ptx file, without running it.
#include <fmt/format.h>

#include "ptxbench/base/symbol.h"
#include "ptxbench/cli/command.h"
#include "ptxbench/toolchain/inspect.h"

namespace ptxbench::cli {
namespace {

void print_counts(const char* title, const std::optional<toolchain::StaticCounts>& counts, const std::string& note) {
  if (!counts) {
    fmt::print("{}: {}\n", title, note);
    return;
  }
  fmt::print("{}\n", title);
  for (const toolchain::KernelCounts& kernel : counts->kernels) {
    fmt::print("  {}: {} instructions\n", demangle(kernel.name), kernel.instructions);
    for (const auto& [family, count] : kernel.families) fmt::print("    {:<12} {}\n", family, count);
  }
}

int inspect(const std::string& file, const std::string& target) {
  auto parsed = schema::parse_gpu_target(target);
  if (!parsed) return report(parsed.error());
  toolchain::BuildRequest request;
  request.source = file;
  request.target = *parsed;
  auto outcome = toolchain::inspect(request);
  if (!outcome) return report(outcome.error());
  if (const auto* failure = std::get_if<toolchain::CompileFailure>(&*outcome)) {
    fmt::print("does not compile: {}\n{}", failure->summary, failure->log);
    return kExitFailed;
  }
  if (const auto* violation = std::get_if<toolchain::PolicyViolation>(&*outcome)) {
    for (const toolchain::PolicyFinding& finding : violation->findings)
      fmt::print("{}: {} ({}); {}\n", finding.where, finding.what, toolchain::to_string(finding.rule), finding.hint);
    return kExitFailed;
  }
  const auto& inspection = std::get<toolchain::Inspection>(*outcome);
  fmt::print("{}: {}\n", file, inspection.kind);
  for (const schema::KernelResources& kernel : inspection.kernels)
    fmt::print(
        "  {}: {} registers, {} barriers, {} B static shared memory, spills {} B stored {} B loaded, stack {} B\n",
        demangle(kernel.name), kernel.registers, kernel.barriers, kernel.static_shared_bytes, kernel.spill_store_bytes,
        kernel.spill_load_bytes, kernel.stack_bytes);
  print_counts("PTX", inspection.ptx, inspection.ptx_note);
  print_counts("SASS", inspection.sass, inspection.sass_note);
  for (const std::string& note : inspection.notes) fmt::print("{}\n", note);
  return kExitPassed;
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code) {
  CLI::App* command =
      add_command(app, "inspect", "Shows resources and target instructions of a .cu, .so, .cubin or .ptx file",
                  "ptxbench inspect kernels/hopper/gemm.cu");
  auto file = std::make_shared<std::string>(), target = std::make_shared<std::string>("hopper");
  command->add_option("FILE", *file, "A .cu, .so, .cubin or .ptx file")->required();
  command->add_option("--target", *target, "GPU generation that a .cu is compiled for")
      ->check(CLI::IsMember({"hopper", "blackwell"}))
      ->capture_default_str();
  command->callback([&exit_code, file, target] { exit_code = inspect(*file, *target); });
}

}  // namespace ptxbench::cli
