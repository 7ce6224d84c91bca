// Compiles CUDA programs at test time.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptxbench/base/file.h"
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

#define PTXBENCH_NEEDS_NVCC() \
  if (!::ptxbench::find_nvcc()) GTEST_SKIP() << "no nvcc: scripts/setup installs it"

}  // namespace ptxbench
