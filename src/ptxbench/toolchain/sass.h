// Machine code through nvdisasm: listings by offset, and static instruction counts by family.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/base/sandbox.h"
#include "ptxbench/schema/artifact.h"

namespace ptxbench::toolchain {

using FamilyCounts = std::map<std::string, std::int64_t>;

struct KernelCounts {
  std::string name;  // mangled
  std::int64_t instructions = 0;
  FamilyCounts families;                        // names of isa::Family; those that do not occur are absent
  std::map<std::string, std::int64_t> opcodes;  // of the families only: "HGMMA" → 28
};

struct StaticCounts {
  std::vector<KernelCounts> kernels;
  // Over all kernels; every family of sass_families() has an entry, zero included: a count that was not made is an Error
  // of the call, never a zero.
  FamilyCounts families;
};

// The family of a SASS opcode ("HGMMA.64x256x16.F32.BF16" or its first word), as isa::spelling names it; empty: none.
//   wgmma: HGMMA, QGMMA, IGMMA, BGMMA   tma: UTMALDG, UTMASTG, UTMAREDG, UTMAPF   bulk: UBLKCP, UBLKRED, UBLKPF
//   tcgen05.mma: UTC*MMA   tcgen05.ld: LDTM, STTM, UTCCP, UTCSHIFT   tcgen05: the other UTC*   mma: HMMA, IMMA, DMMA ...
std::string_view sass_family(std::string_view opcode);
const std::vector<std::string>& sass_families();

struct SassInstruction {
  std::uint32_t offset = 0;  // bytes from the function's start
  std::string opcode;        // with its modifiers: "HGMMA.64x256x16.F32.BF16"
};
struct SassFunction {
  std::string name;                           // mangled
  std::vector<SassInstruction> instructions;  // by offset
};

// Of nvdisasm's text output (nvdisasm -c). Lines that are no instructions are left out; the text may be anything.
std::vector<SassFunction> read_disassembly(std::string_view text);
StaticCounts count_disassembly(std::string_view text);

// Disassembles a cubin in a sandbox and counts. kUnavailable when there is no nvdisasm ("not available").
Result<std::string> disassemble(const std::filesystem::path& cubin, SandboxMode mode = SandboxMode::kAuto);
Result<StaticCounts> count_sass(const std::filesystem::path& cubin, SandboxMode mode = SandboxMode::kAuto);

// The listing of an artifact's cubin. Its text is kept beside the cubin ("kernel.sass"), so that only the first use of an
// artifact starts nvdisasm; a folder that cannot be written costs time and nothing else.
Result<std::vector<SassFunction>> sass_listing(const schema::Artifact& artifact, SandboxMode mode = SandboxMode::kAuto);

}  // namespace ptxbench::toolchain
