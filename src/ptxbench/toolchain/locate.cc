#include "ptxbench/toolchain/locate.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>

#include "ptxbench/base/subprocess.h"

namespace ptxbench::toolchain {
namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;

// CUDA 12 links libcudart.so.12, whose structures are other ones than those of our runtime.
constexpr int kOldestNvcc[] = {13, 0};

bool executable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path); }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The folders that scripts/setup fills.
std::vector<fs::path> fetched_folders() {
  std::vector<fs::path> folders;
  if (const std::string own = environment("PTXBENCH_TOOLCHAIN"); !own.empty()) folders.emplace_back(own);
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back(self.parent_path().parent_path() / "share/ptxbench");
  folders.push_back(fs::path(PTXBENCH_CHECKOUT) / ".toolchain");
  return folders;
}

std::vector<fs::path> path_folders() {
  std::vector<fs::path> folders;
  const std::string path = environment("PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (end > at && path[at] == '/') folders.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

// Folders with bin/ that may hold CUDA tools, best first.
std::vector<fs::path> cuda_roots() {
  std::vector<fs::path> roots;
  for (const fs::path& folder : fetched_folders()) roots.push_back(folder / "cuda");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string value = environment(name); !value.empty()) roots.emplace_back(value);
  for (const fs::path& folder : path_folders())
    if (executable(folder / "nvcc")) {
      std::error_code error;
      const fs::path real = fs::canonical(folder / "nvcc", error);
      if (!error) roots.push_back(real.parent_path().parent_path());
    }
  roots.emplace_back("/usr/local/cuda");
  std::error_code ignored;
  std::vector<fs::path> numbered;
  for (const auto& entry : fs::directory_iterator("/usr/local", ignored))
    if (entry.path().filename().string().rfind("cuda-", 0) == 0) numbered.push_back(entry.path());
  std::sort(numbered.rbegin(), numbered.rend());
  roots.insert(roots.end(), numbered.begin(), numbered.end());
  return roots;
}

// The version behind `marker` in the tool's own answer. Remembered while the file stays the same. An Error says why there
// is none: the tool, or what is needed to start it, does not work.
Result<std::string> ask_version(const fs::path& tool, const std::string& argument, const std::string& marker) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  struct stat info {};
  if (::stat(tool.c_str(), &info) != 0)
    return fail(ErrorKind::kNotFound, fmt::format("'{}' does not exist", tool.string()));
  const std::string key = fmt::format("{} {} {}", tool.string(), info.st_size, info.st_mtim.tv_sec);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  Command command;
  command.argv = {tool.string(), argument};
  command.environment = {"LC_ALL=C", "PATH=/usr/bin:/bin"};
  command.stdout_to = OutputTo::capture(1 << 16);
  PTXBENCH_TRY(const Finished finished, run(command, 20s));
  const std::string& text = finished.out.bytes;
  std::size_t at = marker.empty() ? 0 : text.find(marker);
  if (!finished.exit.ok() || at == std::string::npos)
    return fail(ErrorKind::kUnavailable,
                fmt::format("'{}' does not answer {}: it {}{}", tool.string(), argument, finished.exit.describe(),
                            finished.exit.ok() ? " and names no version" : ""));
  at += marker.size();
  const std::size_t end = text.find_first_not_of("0123456789.", at);
  const std::string version = text.substr(at, end == std::string::npos ? end : end - at);
  const std::lock_guard lock(mutex);
  return known[key] = version;
}

bool new_enough(const std::string& version) {
  int major = 0, minor = 0;
  const auto parsed = std::from_chars(version.data(), version.data() + version.size(), major);
  if (*parsed.ptr == '.') std::from_chars(parsed.ptr + 1, version.data() + version.size(), minor);
  return major > kOldestNvcc[0] || (major == kOldestNvcc[0] && minor >= kOldestNvcc[1]);
}

Tool missing(std::string name, std::string purpose, bool required, std::string how_to_get) {
  Tool tool;
  tool.name = std::move(name);
  tool.purpose = std::move(purpose);
  tool.required = required;
  tool.how_to_get = std::move(how_to_get);
  return tool;
}

void take(Tool& tool, const fs::path& path, std::string version) {
  tool.found = true;
  tool.path = path;
  tool.version = std::move(version);
  tool.problem.clear();
}

constexpr const char* kRunSetup = "scripts/setup fetches it from PyPI into .toolchain/";

Tool find_nvcc() {
  Tool tool = missing("nvcc", "compiles candidates (13.0 or later)", true,
                      "scripts/setup fetches it from PyPI into .toolchain/, or install a CUDA toolkit >= 13.0");
  for (const fs::path& root : cuda_roots()) {
    const fs::path nvcc = root / "bin/nvcc";
    if (!executable(nvcc)) continue;
    const auto version = ask_version(nvcc, "--version", ", V");
    if (!version)
      tool.problem = version.error().message;
    else if (!new_enough(*version))
      tool.problem = fmt::format("'{}' is version {}, older than 13.0", nvcc.string(), *version);
    else {
      take(tool, nvcc, *version);
      break;
    }
  }
  return tool;
}

// A file of the toolkit that nvcc belongs to.
Tool find_toolkit_part(const Tool& nvcc, const char* name, const char* purpose, const char* relative) {
  Tool tool = missing(name, purpose, true, kRunSetup);
  if (!nvcc.found) {
    tool.problem = "needs nvcc first";
    return tool;
  }
  const fs::path path = nvcc.path.parent_path().parent_path() / relative;
  if (fs::exists(path))
    take(tool, path, nvcc.version);
  else
    tool.problem = fmt::format("'{}' does not exist", path.string());
  return tool;
}

Tool find_disassembler(const char* name, const char* purpose, const char* group, const char* how_to_get,
                       const char* without) {
  Tool tool = missing(name, purpose, false, how_to_get);
  tool.without = without;
  std::vector<fs::path> folders;
  for (const fs::path& folder : fetched_folders()) folders.push_back(folder / group / "bin");
  for (const fs::path& root : cuda_roots()) folders.push_back(root / "bin");
  for (const fs::path& folder : path_folders()) folders.push_back(folder);
  for (const fs::path& folder : folders)
    if (executable(folder / name)) {
      take(tool, folder / name, ask_version(folder / name, "--version", ", V").value_or(""));
      return tool;
    }
  for (const fs::path& folder : folders) tool.problem += (tool.problem.empty() ? "looked in " : ", ") + folder.string();
  return tool;
}

Tool find_host_compiler() {
  Tool tool = missing("host compiler", "compiles the host part of candidates", true, "apt-get install g++");
  for (const fs::path& folder : {fs::path("/usr/bin"), fs::path("/bin"), fs::path("/usr/local/bin")})
    if (executable(folder / "g++")) {
      take(tool, folder / "g++", ask_version(folder / "g++", "-dumpfullversion", "").value_or(""));
      break;
    }
  return tool;
}

// What a child really gets here: tried, not guessed.
Tool find_sandbox() {
  Tool tool = missing("sandbox", "keeps candidates away from the machine", true, "");
  Command command;
  command.argv = {"/bin/true"};
  command.sandbox.emplace();
  command.sandbox->read_only = system_library_paths();
  if (const auto finished = run(command, 20s); !finished) {
    tool.problem = finished.error().message;
    tool.how_to_get = finished.error().hint;
  } else if (!finished->exit.ok()) {
    tool.problem = fmt::format("a trial run {}", finished->exit.describe());
    tool.how_to_get = "namespaces, or Landlock (Linux 5.13 or later), must be allowed here";
  } else {
    take(tool, find_companion("ptxbench-supervisor").value_or(""), std::string(to_string(finished->exit.sandbox)));
  }
  return tool;
}

Tool find_tvm_ffi() {
  Tool tool = missing("tvm-ffi headers", "candidates that include <tvm/ffi/...>", false,
                      "scripts/setup fetches the wheel apache-tvm-ffi into .toolchain/");
  tool.without = "candidates that include <ptxbench/ffi.h>";
  for (const fs::path& folder : fetched_folders())
    if (fs::exists(folder / "tvm-ffi/include/tvm/ffi/c_api.h")) {
      take(tool, folder / "tvm-ffi/include", "");
      break;
    }
  return tool;
}

Tool find_own_headers() {
  Tool tool = missing("ptxbench headers", "candidates that include <ptxbench/ffi.h>", true,
                      "run from a checkout, or install the archive as a whole");
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& folder :
       {self.parent_path().parent_path() / "share/ptxbench/include", fs::path(PTXBENCH_CHECKOUT) / "include"})
    if (fs::exists(folder / "ptxbench/ffi.h")) {
      take(tool, folder, "");
      break;
    }
  return tool;
}

}  // namespace

std::vector<Tool> locate_all() {
  const Tool nvcc = find_nvcc();
  return {
      nvcc,
      find_toolkit_part(nvcc, "ptxas", "assembles PTX; registers, spills, shared memory", "bin/ptxas"),
      find_toolkit_part(nvcc, "CUDA headers", "cuda_runtime.h, cuda.h", "include/cuda_runtime.h"),
      find_toolkit_part(nvcc, "libcudart.so", "linking candidates (they run on our own)", "lib64/libcudart.so"),
      find_host_compiler(),
      find_sandbox(),
      find_own_headers(),
      find_tvm_ffi(),
      find_disassembler("nvdisasm", "static counts of SASS; names the instructions that a GPU counted", "nvdisasm",
                        "scripts/setup fetches the wheel nvidia-cuda-nvdisasm into .toolchain/, or install the package "
                        "cuda-nvdisasm-13-0 of NVIDIA's repository",
                        "everything on the emulator but the static counts; on a GPU the second layer is void"),
      find_disassembler("cuobjdump", "looking into cubins by hand; ptxbench does not use it", "cuobjdump",
                        "install a CUDA toolkit", "everything"),
  };
}

Result<Toolkit> locate_toolkit() {
  PTXBENCH_TRY_STATUS(find_companion("ptxbench-supervisor"));  // starts every tool below
  const Tool nvcc = find_nvcc();
  const Tool ptxas = find_toolkit_part(nvcc, "ptxas", "", "bin/ptxas");
  const Tool headers = find_toolkit_part(nvcc, "CUDA headers", "", "include/cuda_runtime.h");
  const Tool runtime = find_toolkit_part(nvcc, "libcudart.so", "", "lib64/libcudart.so");
  const Tool host = find_host_compiler();
  const Tool own = find_own_headers();
  for (const Tool* tool : {&nvcc, &ptxas, &headers, &runtime, &host, &own})
    if (!tool->found)
      return fail(ErrorKind::kUnavailable,
                  fmt::format("{} is missing{}", tool->name, tool->problem.empty() ? "" : ": " + tool->problem),
                  tool->how_to_get);
  Toolkit toolkit;
  toolkit.root = nvcc.path.parent_path().parent_path();
  toolkit.nvcc = nvcc.path;
  toolkit.ptxas = ptxas.path;
  toolkit.host_compiler = host.path;
  toolkit.ptxbench_include = own.path;
  toolkit.version = nvcc.version;
  if (const Tool tvm = find_tvm_ffi(); tvm.found) toolkit.tvm_ffi_include = tvm.path;
  return toolkit;
}

Result<std::string> tool_version(const fs::path& tool, const std::string& marker) {
  return ask_version(tool, "--version", marker);
}

std::optional<fs::path> locate_nvdisasm() {
  const Tool tool = find_disassembler("nvdisasm", "", "nvdisasm", kRunSetup, "");
  if (!tool.found) return std::nullopt;
  return tool.path;
}

}  // namespace ptxbench::toolchain
