#include "ptxbench/toolchain/inspect.h"

#include <fmt/format.h>

#include <span>

#include "ptxbench/base/fatbin.h"
#include "ptxbench/base/file.h"
#include "ptxbench/toolchain/elf.h"
#include "ptxbench/toolchain/policy_rules.h"
#include "ptxbench/toolchain/ptx_counts.h"

namespace ptxbench::toolchain {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{256} << 20;
constexpr std::uint16_t kMachineCuda = 190, kMachineX86 = 62;

void add_sass(Inspection& inspection, const fs::path& cubin, SandboxMode mode) {
  auto counts = count_sass(cubin, mode);
  if (counts)
    inspection.sass = std::move(*counts);
  else
    inspection.sass_note = "not available: " + counts.error().message;
}

void add_ptx(Inspection& inspection, std::string_view text, const std::string& name) {
  auto counts = count_ptx(text, name);
  if (counts)
    inspection.ptx = std::move(*counts);
  else
    inspection.ptx_note = "not available: " + counts.error().format();
}

Result<InspectOutcome> inspect_source(const BuildRequest& request) {
  PTXBENCH_TRY(BuildOutcome outcome, build(request));
  if (auto* failure = std::get_if<CompileFailure>(&outcome)) return InspectOutcome(std::move(*failure));
  if (auto* violation = std::get_if<PolicyViolation>(&outcome)) return InspectOutcome(std::move(*violation));
  const schema::Artifact& artifact = std::get<Built>(outcome).artifact;
  Inspection inspection;
  inspection.kind = "CUDA source";
  inspection.kernels = artifact.kernels;
  inspection.notes.push_back(fmt::format("artifact {}", artifact.hash));
  inspection.notes.insert(inspection.notes.end(), artifact.warnings.begin(), artifact.warnings.end());
  add_sass(inspection, artifact.cubin(), request.sandbox);
  PTXBENCH_TRY(const std::string ptx, read_file(artifact.ptx(), kMaxFile));
  add_ptx(inspection, ptx, "kernel.ptx");
  return InspectOutcome(std::move(inspection));
}

// The first cubin and the first PTX text with kernels in the library's fat binaries.
Result<InspectOutcome> inspect_library(const ElfFile& elf, const fs::path& path, SandboxMode mode) {
  Inspection inspection;
  inspection.kind = "library";
  inspection.sass_note = inspection.ptx_note = "none in the file";
  for (std::string_view symbol : elf.undefined)
    if (const auto rule = rule_for_symbol(symbol))
      inspection.notes.push_back(
          fmt::format("a candidate may not call {} ({})", readable_symbol(symbol), to_string(*rule)));
  const ElfSection* section = elf.section(".nv_fatbin");
  std::string_view rest = section ? section->data : std::string_view();
  PTXBENCH_TRY(const TempDir folder, TempDir::create());
  while (!rest.empty()) {
    if (rest[0] == '\0') {
      rest.remove_prefix(1);
      continue;
    }
    const auto bytes = std::as_bytes(std::span(rest));
    PTXBENCH_TRY(const std::size_t size, fatbin_container_size(bytes));
    PTXBENCH_TRY(const auto entries, read_fatbin(bytes));
    for (const FatbinEntry& entry : entries) {
      const bool is_ptx = entry.kind == FatbinKind::kPtx;
      inspection.notes.push_back(
          fmt::format("device code: {} for sm_{}, {} bytes", is_ptx ? "PTX" : "cubin", entry.sm, entry.bytes.size()));
      if (is_ptx && !inspection.ptx) add_ptx(inspection, entry.bytes, path.filename().string());
      if (is_ptx || inspection.sass) continue;
      PTXBENCH_TRY_STATUS(write_file_atomic(folder.path() / "code.cubin", entry.bytes));
      add_sass(inspection, folder.path() / "code.cubin", mode);
    }
    rest.remove_prefix(size);
  }
  return InspectOutcome(std::move(inspection));
}

}  // namespace

Result<InspectOutcome> inspect(const BuildRequest& request) {
  const fs::path& path = request.source;
  const std::string extension = path.extension().string();
  if (extension == ".cu") return inspect_source(request);
  if (extension != ".so" && extension != ".cubin" && extension != ".ptx")
    return fail(ErrorKind::kInvalidInput, fmt::format("'{}' is none of .cu, .so, .cubin, .ptx", path.string()),
                "name a CUDA source, a library built with nvcc -shared, a cubin or a PTX file");
  PTXBENCH_TRY(const std::string bytes, read_file(path, kMaxFile));
  Inspection inspection;
  if (extension == ".ptx") {
    PTXBENCH_TRY(StaticCounts counts, count_ptx(bytes, path.string()));
    inspection.kind = "PTX";
    inspection.ptx = std::move(counts);
    inspection.sass_note = "none in the file";
    return InspectOutcome(std::move(inspection));
  }
  auto elf = read_elf(bytes);
  if (!elf) {
    Error error = elf.error();
    error.message = fmt::format("'{}': {}", path.string(), error.message);
    return fail(std::move(error));
  }
  const std::uint16_t expected = extension == ".so" ? kMachineX86 : kMachineCuda;
  if (elf->machine != expected)
    return fail(ErrorKind::kInvalidInput,
                fmt::format("'{}' is an ELF file for machine {}, expected {}", path.string(), elf->machine, expected));
  if (extension == ".so") return inspect_library(*elf, path, request.sandbox);
  inspection.kind = "cubin";
  inspection.ptx_note = "none in the file";
  add_sass(inspection, path, request.sandbox);
  return InspectOutcome(std::move(inspection));
}

}  // namespace ptxbench::toolchain
