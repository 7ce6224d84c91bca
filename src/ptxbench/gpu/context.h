// One GPU, its primary context and the single stream on which everything is executed: launch order is stream order.
// Not for use by several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "ptxbench/gpu/driver.h"
#include "ptxbench/wire/device_handler.h"

namespace ptxbench::gpu {

// The protocol's error number for a driver's: the same number wherever both enumerations have it.
wire::Code code_of(CUresult result);

// True for errors that a kernel leaves behind: the context answers everything with them from then on.
bool is_fault(CUresult result);

class Context {
 public:
  // The primary context (libraries on top of the CUDA runtime use the same one) of device number `ordinal` among those
  // that CUDA_VISIBLE_DEVICES leaves, made current for this thread.
  static Result<std::unique_ptr<Context>> open(int ordinal);

  const Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  CUdevice device() const { return device_; }
  CUcontext handle() const { return context_; }
  CUstream stream() const { return stream_; }

  // How a wait ended. kFault: `result` is the context's error. kDeadline: the device still works on it; nothing can be
  // done in this process any more.
  enum class End { kDone, kFault, kDeadline };
  struct Wait {
    End end = End::kDone;
    CUresult result = CUDA_SUCCESS;
  };
  // Until the stream is empty; deadline 0: for ever. After kFault or kDeadline the context is lost.
  Wait wait(std::chrono::milliseconds deadline);

  // Why every further call is refused; empty while the context is in order.
  const std::string& lost() const { return lost_; }
  // The Failure of a driver call: its code, and "`what`: NAME (number): text".
  tl::unexpected<wire::Failure> failure(CUresult result, std::string_view what);
  // refuse() with the reason of lost(), or nothing.
  wire::Answer<void> usable() const;

  // Device memory. A failure names the sizes: asked for, free, total. Freeing while the context is lost does nothing.
  wire::Answer<std::uint64_t> alloc(std::uint64_t bytes);
  wire::Answer<void> free(std::uint64_t address);
  // A block for `purpose`, kept until the process ends and grown when more is asked for: L2 flush, workspaces.
  wire::Answer<std::uint64_t> scratch(const std::string& purpose, std::uint64_t bytes);

 private:
  explicit Context(const Driver& driver) : driver_(driver) {}

  const Driver& driver_;
  int ordinal_ = 0;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::string lost_;
  wire::Code lost_code_ = wire::Code::kSuccess;
  struct Block {
    std::uint64_t address = 0, bytes = 0;
  };
  std::map<std::string, Block> scratch_;
};

}  // namespace ptxbench::gpu
