// Internal to DeviceWorkbench: memory of the trusted device, and requests to it.
#pragma once

#include <map>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "ptxbench/judge/workbench.h"

namespace ptxbench::judge {

template <class T>
Result<T> trusted_result(wire::Answer<T> answer) {
  if (answer) {
    if constexpr (std::is_void_v<T>)
      return {};
    else
      return std::move(*answer);
  }
  const ErrorKind kind =
      answer.error().code == wire::Code::kMemoryAllocation ? ErrorKind::kUnavailable : ErrorKind::kProtocol;
  return fail(kind, "the judge's own device process: " + answer.error().message);
}

class DeviceWorkbench::Memory {
 public:
  using Kept = std::multimap<std::uint64_t, std::uint64_t>;

  // With `kept`, blocks come from there and go back there: a GPU's allocation takes longer than a small kernel.
  explicit Memory(CommandQueue& queue, Kept* kept = nullptr) : queue_(queue), kept_(kept) {}
  Memory(const Memory&) = delete;
  ~Memory() {
    for (const auto& [bytes, address] : blocks_) {
      if (kept_ != nullptr)
        kept_->emplace(bytes, address);
      else
        static_cast<void>(queue_.call(wire::Free{address}));
    }
  }

  Result<std::uint64_t> alloc(std::uint64_t bytes) {
    if (kept_ != nullptr) {
      if (const auto found = kept_->find(bytes); found != kept_->end()) {
        blocks_.push_back(*found);
        kept_->erase(found);
        return blocks_.back().second;
      }
    }
    PTXBENCH_TRY(const wire::AddressReply block, trusted_result(queue_.call(wire::Alloc{bytes})));
    blocks_.emplace_back(bytes, block.address);
    return block.address;
  }
  Result<std::uint64_t> upload(std::span<const std::byte> bytes) {
    PTXBENCH_TRY(const std::uint64_t address, alloc(bytes.size()));
    PTXBENCH_TRY_STATUS(trusted_result(queue_.write(address, bytes)));
    return address;
  }
  // `to` is filled by the next flush().
  template <class T>
  Status read(std::uint64_t address, std::span<T> to) {
    return trusted_result(queue_.read(address, std::as_writable_bytes(to)));
  }
  Status flush() { return trusted_result(queue_.flush()); }
  // What lies at `address` when all that was ordered before is done.
  template <class T>
  Result<std::vector<T>> download(std::uint64_t address, std::uint64_t count) {
    std::vector<T> values(count);
    PTXBENCH_TRY_STATUS(read(address, std::span(values)));
    PTXBENCH_TRY_STATUS(flush());
    return values;
  }

 private:
  CommandQueue& queue_;
  Kept* kept_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks_;  // bytes, address
};

template <class Params>
Status DeviceWorkbench::launch(std::uint32_t kernel, wire::Dim3 grid, std::uint32_t threads, const Params& params) {
  wire::Launch order;
  order.kernel = kernel;
  order.geometry.grid = grid;
  order.geometry.block = {threads, 1, 1};
  order.params.assign(reinterpret_cast<const char*>(&params), sizeof params);
  return trusted_result(queue_.add(std::move(order)));
}

}  // namespace ptxbench::judge
