// The sealed result of one build: everything later layers run, count or time comes from these files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::schema {

enum class GpuTarget { kHopper, kBlackwell };
std::string_view to_string(GpuTarget target);  // "hopper", "blackwell"
Result<GpuTarget> parse_gpu_target(std::string_view name);
std::string_view sm_name(GpuTarget target);  // "sm_90a", "sm_100a"

// ptxas's own figures for one kernel (--ptxas-options=-v).
struct KernelResources {
  std::string name;  // mangled
  std::uint32_t registers = 0;
  std::uint32_t barriers = 0;
  std::uint32_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  std::uint32_t static_shared_bytes = 0, constant_bytes = 0;
};

struct Artifact {
  std::filesystem::path folder;  // not stored in the record
  std::string hash;              // content address, 64 hexadecimal digits: source, command, compiler and headers
  std::string source_name;       // the author's file name, without folders
  std::string source_sha256, library_sha256, cubin_sha256, ptx_sha256;
  // SHA-256 of each fat binary container in the library: the only device code that a host process of this artifact may
  // register.
  std::vector<std::string> device_code_sha256;
  GpuTarget target = GpuTarget::kHopper;
  std::string nvcc_version;  // "13.0.88"
  std::string command;       // the compiler line, for people
  std::vector<KernelResources> kernels;
  // Instructions per family (isa's names) in the whole cubin and PTX, zero included. Empty: not available, for the reason
  // in the note.
  std::vector<std::pair<std::string, std::int64_t>> static_sass, static_ptx;
  std::string static_sass_note, static_ptx_note;
  double build_seconds = 0;           // of the build that made it
  std::string build_sandbox;          // "namespaces" or "landlock"
  std::vector<std::string> warnings;  // the compiler's, capped

  // The library may have undefined cu... symbols (cuTensorMapEncodeTiled) though it needs libcudart only: our libcudart
  // brings our libcuda along.
  std::filesystem::path source() const { return folder / "kernel.cu"; }
  std::filesystem::path library() const { return folder / "kernel.so"; }
  std::filesystem::path ptx() const { return folder / "kernel.ptx"; }
  std::filesystem::path cubin() const { return folder / "kernel.cubin"; }
};

std::string to_json(const Artifact& artifact);  // record "ptxbench.artifact.v1"
Result<Artifact> artifact_from_json(std::string_view text, const std::filesystem::path& folder);

}  // namespace ptxbench::schema
