#include "ptxbench/gpu/context.h"

#include <fmt/format.h>
#include <sched.h>

#include <thread>

#include "ptxbench/gpu/identity.h"

namespace ptxbench::gpu {

using std::chrono::milliseconds;
using wire::Answer;
using wire::Code;

// The driver's and the runtime's enumerations share their numbers (CUDA 11 and newer), save for these.
Code code_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED: return Code::kInitializationError;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE: return Code::kInvalidDevice;
    case CUDA_ERROR_INVALID_CONTEXT: return Code::kUnknown;
    default: return static_cast<Code>(result);
  }
}

bool is_fault(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN: return true;
    default: return static_cast<int>(result) == 721;  // CUDA_ERROR_TENSOR_MEMORY_LEAK, not in every cuda.h
  }
}

Result<std::unique_ptr<Context>> Context::open(int ordinal) {
  PTXBENCH_TRY(const Driver* driver, open_driver());
  std::unique_ptr<Context> context(new Context(*driver));
  context->ordinal_ = ordinal;
  PTXBENCH_TRY(context->device_, find_device(*driver, ordinal));
  CUresult r = driver->primary_context_retain(&context->context_, context->device_);
  if (r == CUDA_SUCCESS) r = driver->context_set_current(context->context_);
  if (r == CUDA_SUCCESS) r = driver->stream_create(&context->stream_, CU_STREAM_NON_BLOCKING);
  if (r != CUDA_SUCCESS)
    return fail(ErrorKind::kUnavailable,
                fmt::format("creating the context of GPU {}: {}", ordinal, driver->describe(r)),
                "nvidia-smi shows the card's state and which processes use it");
  return context;
}

Context::Wait Context::wait(milliseconds deadline) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  while (true) {
    CUresult result = driver_.stream_query(stream_);
    // The driver prints what kernels printed at a synchronisation, not at a query.
    if (result == CUDA_SUCCESS) result = driver_.stream_synchronize(stream_);
    if (result == CUDA_SUCCESS) return {};
    if (result != CUDA_ERROR_NOT_READY) {
      lost_ = driver_.describe(result);
      lost_code_ = code_of(result);
      return {End::kFault, result};
    }
    const auto waited = Clock::now() - start;
    if (deadline.count() > 0 && waited >= deadline) {
      lost_ =
          fmt::format("the GPU was still at work after the limit of {} ms; its process has to end", deadline.count());
      lost_code_ = Code::kLaunchTimeout;
      return {End::kDeadline, CUDA_ERROR_LAUNCH_TIMEOUT};
    }
    // Most kernels take less than a millisecond; a long one should not cost a core.
    if (waited < milliseconds(2)) {
      ::sched_yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(waited < milliseconds(50) ? 20 : 500));
    }
  }
}

tl::unexpected<wire::Failure> Context::failure(CUresult result, std::string_view what) {
  if (is_fault(result) && lost_.empty()) {
    lost_ = driver_.describe(result);
    lost_code_ = code_of(result);
  }
  return wire::refuse(code_of(result), fmt::format("{}: {}", what, driver_.describe(result)));
}

Answer<void> Context::usable() const {
  if (lost_.empty()) return {};
  return wire::refuse(lost_code_, "the GPU context is lost: " + lost_);
}

Answer<std::uint64_t> Context::alloc(std::uint64_t bytes) {
  if (auto ok = usable(); !ok) return tl::unexpected(ok.error());
  CUdeviceptr address = 0;
  const CUresult result = driver_.memory_alloc(&address, bytes);
  if (result == CUDA_SUCCESS) return address;
  if (result != CUDA_ERROR_OUT_OF_MEMORY) return failure(result, "cuMemAlloc");
  std::size_t free = 0, total = 0;
  driver_.memory_info(&free, &total);
  return wire::refuse(Code::kMemoryAllocation,
                      fmt::format("out of GPU memory: {} bytes were asked for, {} of {} are free", bytes, free, total));
}

Answer<void> Context::free(std::uint64_t address) {
  if (!lost_.empty()) return {};  // the memory goes with the process
  if (const CUresult result = driver_.memory_free(address); result != CUDA_SUCCESS) {
    return failure(result, fmt::format("cuMemFree of {:#x}", address));
  }
  return {};
}

Answer<std::uint64_t> Context::scratch(const std::string& purpose, std::uint64_t bytes) {
  Block& block = scratch_[purpose];
  if (block.bytes >= bytes && block.address != 0) return block.address;
  if (block.address != 0) {
    if (auto freed = free(block.address); !freed) return tl::unexpected(freed.error());
    block = {};
  }
  Answer<std::uint64_t> address = alloc(bytes);
  if (!address) return tl::unexpected(address.error());
  block = {*address, bytes};
  return *address;
}

}  // namespace ptxbench::gpu
