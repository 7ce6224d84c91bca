// Compiles CUDA programs at test time.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"
#include "ptxbench/base/subprocess.h"

namespace ptxbench {

// nvcc in $PTXBENCH_NVCC, the set-up script's folder, PATH or /usr/local/cuda.
inline std::optional<std::filesystem::path> find_nvcc() {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> candidates;
  if (const char* named = std::getenv("PTXBENCH_NVCC")) candidates.emplace_back(named);
  const fs::path set_up = fs::path(PTXBENCH_SOURCE_DIR) / ".toolchain";
  candidates.push_back(set_up / "bin/nvcc");
  for (auto it = fs::recursive_directory_iterator(set_up, error); !error && it != fs::recursive_directory_iterator();
       ++it) {
    if (it->path().filename() == "nvcc" && it.depth() < 8) candidates.push_back(it->path());
  }
  const std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    candidates.push_back(fs::path(path.substr(at, end - at)) / "nvcc");
    at = end + 1;
  }
  candidates.emplace_back("/usr/local/cuda/bin/nvcc");
  for (const fs::path& nvcc : candidates) {
    if (fs::is_regular_file(nvcc, error)) return nvcc;
  }
  return std::nullopt;
}

// Compiles with the given further arguments; a failure is the test's.
inline bool compile(const std::filesystem::path& source, const std::filesystem::path& output,
                    const std::vector<std::string>& more = {}) {
  Command command;
  command.argv = {find_nvcc()->string(),
                  "-std=c++17",
                  "-O1",
                  "-gencode",
                  "arch=compute_90a,code=compute_90a",
                  "-cudart",
                  "shared",
                  source.string(),
                  "-o",
                  output.string()};
  command.argv.insert(command.argv.end(), more.begin(), more.end());
  const char* path = std::getenv("PATH");
  command.environment = {std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin"), "HOME=/tmp"};
  command.stdout_to = command.stderr_to = OutputTo::capture();
  const Result<Finished> finished = run(command);
  EXPECT_TRUE(finished.has_value()) << (finished ? "" : finished.error().format());
  if (finished && !finished->exit.ok()) ADD_FAILURE() << "nvcc: " << finished->out.bytes << finished->err.bytes;
  return finished && finished->exit.ok();
}

// The compiled program in the build folder, kept under a hash of what goes into it: CTest runs each test as a process of
// its own, and nvcc takes seconds. Empty after a failure. `includes` are headers of ours that the source uses.
inline std::filesystem::path compile_once(const std::filesystem::path& source,
                                          const std::vector<std::string>& more = {},
                                          const std::vector<std::filesystem::path>& includes = {}) {
  namespace fs = std::filesystem;
  std::string key = find_nvcc()->string();
  for (const std::string& argument : more) key += " " + argument;
  key += read_file(source).value_or("");
  for (const fs::path& header : includes) key += read_file(header).value_or("");
  const fs::path folder = fs::path(PTXBENCH_BINARY_DIR) / "test_programs";
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path program = folder / (source.stem().string() + "-" + sha256_hex(key).substr(0, 16));
  const int lock = ::open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ::flock(lock, LOCK_EX);
  bool good = fs::exists(program, error);
  if (!good) {
    const fs::path fresh = program.string() + ".tmp";
    good = compile(source, fresh, more);
    if (good) fs::rename(fresh, program, error);
  }
  ::close(lock);
  return good && !error ? program : fs::path{};
}

#define PTXBENCH_NEEDS_NVCC() \
  if (!::ptxbench::find_nvcc()) GTEST_SKIP() << "no nvcc: scripts/setup installs it"

}  // namespace ptxbench
