#include "ptxbench/toolchain/compile.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "ptxbench/base/file.h"
#include "ptxbench/base/subprocess.h"
#include "ptxbench/toolchain/compiler_log.h"

namespace ptxbench::toolchain {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kDiskReserve = std::uint64_t{16}
                                       << 20;  // what one build needs at most for its intermediate files

std::string compute_name(schema::GpuTarget target) {
  return "compute_" + std::string(schema::sm_name(target)).substr(3);
}

SandboxPolicy policy_for(const Toolkit& toolkit, const fs::path& folder, const BuildRequest& request) {
  const BuildLimits& limits = request.limits;
  SandboxPolicy policy;
  policy.profile = SandboxProfile::kCompiler;
  policy.mode = request.sandbox;
  policy.read_only = system_library_paths();
  std::error_code error;
  for (const char* path : {"/bin", "/usr/bin", "/usr/include", "/usr/libexec", "/etc/alternatives"})
    if (fs::exists(path, error)) policy.read_only.emplace_back(path);
  policy.read_only.push_back(toolkit.root);
  policy.read_only.push_back(toolkit.ptxbench_include);
  if (!toolkit.tvm_ffi_include.empty()) policy.read_only.push_back(toolkit.tvm_ffi_include);
  for (const fs::path& headers : request.include_folders) policy.read_only.push_back(headers);
  policy.writable = {folder};
  policy.limits.memory_bytes = limits.memory_bytes;
  policy.limits.file_bytes = limits.output_bytes;
  policy.limits.cpu_seconds = static_cast<std::uint64_t>(limits.wall.count() / 1000) + 1;
  policy.limits.processes = 64;
  policy.limits.open_files = 1024;
  return policy;
}

// Intermediate files whose names end so; nvcc's own names for the device link have "_dlink" in them.
std::string read_kept(const fs::path& keep, std::string_view ending, bool device_link = false) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(keep, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(ending) || (name.find("_dlink") != std::string::npos) != device_link) continue;
    if (auto bytes = read_file(entry.path())) return std::move(*bytes);
  }
  return {};
}

bool disk_is_full(const fs::path& folder, const std::string& log) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) == 0 && std::uint64_t{info.f_bavail} * info.f_frsize < (1 << 20)) return true;
  return log.find("No space left on device") != std::string::npos;
}

tl::unexpected<Error> disk_full(const fs::path& folder) {
  return fail(ErrorKind::kUnavailable, fmt::format("no space left in '{}' for a build", folder.string()),
              "free some disk space, or name another folder in PTXBENCH_CACHE");
}

// What ended nvcc, when its log does not say it.
std::string reason(const Exit& exit, const BuildLimits& limits) {
  if (exit.how == Ending::kTimeout)
    return fmt::format("the compiler ran out of time ({} s)", limits.wall.count() / 1000);
  if (exit.how == Ending::kLimit) return fmt::format("the compiler went over its limit of {}", exit.detail);
  if (exit.how == Ending::kExited) return "";
  return fmt::format("the compiler was {}", exit.describe());
}

}  // namespace

std::vector<std::string> compiler_options(schema::GpuTarget target) {
  const std::string compute = compute_name(target);
  return {"-shared",
          "-O3",
          "-std=c++17",
          "-gencode",
          fmt::format("arch={},code=[{},{}]", compute, schema::sm_name(target), compute),
          "-cudart",
          "shared",
          "-lineinfo",
          "-Xcompiler",
          "-fPIC,-fvisibility=hidden",
          "--ptxas-options=-v"};
}

Result<Compiled> compile(const std::string& source, const std::string& name, const BuildRequest& request,
                         const Toolkit& toolkit, const fs::path& folder) {
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) == 0 && std::uint64_t{space.f_bavail} * space.f_frsize < kDiskReserve)
    return disk_full(folder);
  PTXBENCH_TRY_STATUS(
      write_file_atomic(folder / "kernel.cu", fmt::format("#line 1 \"{}{}\"\n{}", kMarkerFolder, name, source)));
  const fs::path keep = folder / "keep";
  std::error_code error;
  fs::create_directory(keep, error);
  if (error)
    return disk_is_full(folder, "")
               ? disk_full(folder)
               : fail(ErrorKind::kUnavailable, fmt::format("cannot create '{}': {}", keep.string(), error.message()));

  Command command;
  command.argv = {toolkit.nvcc.string()};
  for (std::string& option : compiler_options(request.target)) command.argv.push_back(std::move(option));
  for (const std::string& option :
       {std::string("-ccbin"), toolkit.host_compiler.string(), "-I" + toolkit.ptxbench_include.string()})
    command.argv.push_back(option);
  if (!toolkit.tvm_ffi_include.empty()) command.argv.push_back("-I" + toolkit.tvm_ffi_include.string());
  for (const fs::path& headers : request.include_folders) command.argv.push_back("-I" + headers.string());
  for (const char* option : {"--keep", "--keep-dir", "keep", "kernel.cu", "-o", "kernel.so"})
    command.argv.emplace_back(option);
  command.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=" + folder.string()};
  command.working_folder = folder;
  command.stdout_to = OutputTo::capture(std::uint64_t{4} << 20);
  command.stderr_to = OutputTo::capture(std::uint64_t{4} << 20);
  command.sandbox = policy_for(toolkit, folder, request);
  PTXBENCH_TRY(const Finished finished, run(command, request.limits.wall));

  Compiled compiled;
  compiled.seconds = finished.exit.wall_seconds;
  compiled.sandbox = finished.exit.sandbox;
  compiled.log = finished.out.bytes + finished.err.bytes;
  compiled.ptx = read_kept(keep, ".ptx");
  if (finished.exit.how == Ending::kKilled) return fail(ErrorKind::kUnavailable, "the build was interrupted");
  if (finished.exit.ok() && fs::exists(folder / "kernel.so")) {
    compiled.cubin = read_kept(keep, ".cubin");
    for (bool device_link : {false, true})
      if (std::string fatbin = read_kept(keep, ".fatbin", device_link); !fatbin.empty())
        compiled.fatbins.push_back(std::move(fatbin));
    compiled.ok = !compiled.cubin.empty() && !compiled.ptx.empty();
    if (!compiled.ok)
      return fail(ErrorKind::kUnavailable, "nvcc left no PTX or no cubin behind", "check the toolkit: ptxbench doctor");
    return compiled;
  }
  if (disk_is_full(folder, compiled.log)) return disk_full(folder);
  compiled.failure = reason(finished.exit, request.limits);
  return compiled;
}

}  // namespace ptxbench::toolchain
