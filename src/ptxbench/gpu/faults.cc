#include "ptxbench/gpu/faults.h"

#include <fmt/format.h>

namespace ptxbench::gpu {
namespace {

struct Words {
  const char *kind, *rule;
};

Words words_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return {"out_of_bounds",
              "a kernel may touch only memory that was allocated for it: check indices at the edges, tensor map "
              "addresses and shared memory offsets"};
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      return {"misaligned", "an access of n bytes needs an address that is a multiple of n (bulk copies: 16 bytes)"};
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      return {"illegal_instruction",
              "the hardware refused an instruction or its operands: descriptors, barrier counts, transaction bytes"};
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      return {"invalid_address_space", "the address belongs to another state space than the instruction accesses"};
    case CUDA_ERROR_INVALID_PC: return {"invalid_pc", "a jump or call left the kernel's code"};
    case CUDA_ERROR_HARDWARE_STACK_ERROR: return {"stack_overflow", "a thread used more stack than it has"};
    case CUDA_ERROR_ASSERT: return {"assert", "an assert() of the kernel failed"};
    case CUDA_ERROR_LAUNCH_TIMEOUT: return {"deadline", "a kernel must end within its time limit"};
    default:
      return {"launch_failure",
              "the kernel ended in a hardware exception: often a bad barrier, descriptor, trap "
              "instruction or access outside shared memory"};
  }
}

}  // namespace

wire::TrapRecord trap_of(const Context::Wait& wait, std::chrono::milliseconds deadline, const Driver& driver,
                         std::string_view where) {
  wire::TrapRecord trap;
  if (wait.end == Context::End::kDeadline) {
    trap.kind = "deadline";
    trap.rule =
        "a kernel must end within its time limit: look for a wait that nobody ends (barrier phase, transaction "
        "bytes, spin loop)";
    trap.message = fmt::format("still running after {} ms", deadline.count());
  } else {
    const Words words = words_of(wait.result);
    trap.kind = words.kind;
    trap.rule = words.rule;
    trap.message = driver.describe(wait.result);
  }
  trap.message += fmt::format(", in {}", where);
  trap.text = fmt::format(
      "{}: {}\n  rule: {}\n  the GPU names no instruction or thread; --device emu or --sanitize "
      "memcheck does",
      trap.kind, trap.message, trap.rule);
  return trap;
}

std::string describe_launch(std::string_view kernel, const wire::LaunchGeometry& geometry) {
  const wire::Dim3 &g = geometry.grid, &b = geometry.block;
  return fmt::format("kernel '{}', grid ({}, {}, {}), block ({}, {}, {})", kernel, g.x, g.y, g.z, b.x, b.y, b.z);
}

}  // namespace ptxbench::gpu
