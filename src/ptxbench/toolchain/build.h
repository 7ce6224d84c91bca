// One sandboxed nvcc run from a candidate's source to a sealed artifact, through a cache addressed by content.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/base/sandbox.h"
#include "ptxbench/schema/artifact.h"
#include "ptxbench/toolchain/policy.h"

namespace ptxbench::toolchain {

struct BuildLimits {
  std::chrono::milliseconds wall{120'000};
  std::uint64_t memory_bytes = std::uint64_t{6} << 30;
  std::uint64_t source_bytes = std::uint64_t{1} << 20;
  std::uint64_t output_bytes = std::uint64_t{64} << 20;  // each file
  std::uint64_t log_bytes = std::uint64_t{64} << 10;
};

struct BuildRequest {
  std::filesystem::path source;  // the author's file; read once
  schema::GpuTarget target = schema::GpuTarget::kHopper;
  // Searched for headers besides the toolkit's and ptxbench/ffi.h: the wrapper headers of a knowledge pack. What they hold
  // is part of the cache's key; without them here, no candidate can include them.
  std::vector<std::filesystem::path> include_folders;
  std::filesystem::path cache_folder;                  // created if missing; empty: default_cache_folder()
  std::uint64_t cache_bytes = std::uint64_t{2} << 30;  // least recently used artifacts go first
  bool use_cache = true;                               // false: build anew (and publish the result)
  BuildLimits limits;
  SandboxMode sandbox = SandboxMode::kAuto;
};

struct Diagnostic {
  std::string file;  // the author's file name, or the header's path
  int line = 0, column = 0;
  bool is_error = true;
  std::string message;
};

struct CompileFailure {
  std::string summary;  // one line: the first error, or "the compiler ran out of time (120 s)"
  std::vector<Diagnostic> diagnostics;
  std::string log;  // capped; paths are the author's
  double seconds = 0;
};

struct PolicyViolation {
  std::vector<PolicyFinding> findings;  // at least one
};

struct Built {
  schema::Artifact artifact;
  bool cached = false;
  double seconds = 0;           // of this call
  std::shared_ptr<void> lease;  // while it lives, the cache keeps the artifact's files
};

using BuildOutcome = std::variant<Built, CompileFailure, PolicyViolation>;

// Errors are the caller's or the machine's: no such file, not text, too large (kInvalidInput/kNotFound/kTooLarge),
// no nvcc, disk full, no sandbox (kUnavailable). What is wrong with the kernel itself is an outcome.
Result<BuildOutcome> build(const BuildRequest& request);

// One hash over the names and contents of all files in the folders, for records; "" without folders.
std::string headers_sha256(const std::vector<std::filesystem::path>& include_folders);

// A path or message out of debug information or a trap as the author knows it: "gemm.cu" for the candidate's own file,
// which is compiled under a folder that does not exist; other paths unchanged.
std::string author_text(std::string text);

// $PTXBENCH_CACHE, else $XDG_CACHE_HOME/ptxbench, else $HOME/.cache/ptxbench, else a folder of this user in /tmp.
std::filesystem::path default_cache_folder();

}  // namespace ptxbench::toolchain
