// Internal to DeviceWorkbench: memory of the trusted device, and requests to it.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ptxbench/judge/workbench.h"

namespace ptxbench::judge {

inline constexpr std::uint64_t kPiece = std::uint64_t{64} << 20;  // bytes per message: bounds what the device buffers

template <class Request>
Result<typename Request::Reply> ask_trusted(wire::Client& client, const Request& request,
                                            std::span<const std::byte> out = {}, std::span<std::byte> in = {}) {
  auto answer = client.call(request, out, in);
  if (answer) return std::move(*answer);
  const ErrorKind kind =
      answer.error().code == wire::Code::kMemoryAllocation ? ErrorKind::kUnavailable : ErrorKind::kProtocol;
  return fail(kind, "the judge's own device process: " + answer.error().message);
}

class DeviceWorkbench::Memory {
 public:
  using Kept = std::multimap<std::uint64_t, std::uint64_t>;

  // With `kept`, blocks come from there and go back there: a GPU's allocation takes longer than a small kernel.
  explicit Memory(wire::Client& client, Kept* kept = nullptr) : client_(client), kept_(kept) {}
  Memory(const Memory&) = delete;
  ~Memory() {
    for (const auto& [bytes, address] : blocks_) {
      if (kept_ != nullptr)
        kept_->emplace(bytes, address);
      else
        static_cast<void>(client_.call(wire::Free{address}));
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
    PTXBENCH_TRY(const wire::AddressReply block, ask_trusted(client_, wire::Alloc{bytes}));
    blocks_.emplace_back(bytes, block.address);
    return block.address;
  }
  Result<std::uint64_t> upload(std::span<const std::byte> bytes) {
    PTXBENCH_TRY(const std::uint64_t address, alloc(bytes.size()));
    for (std::uint64_t done = 0; done < bytes.size(); done += kPiece) {
      const auto piece = bytes.subspan(done, std::min<std::uint64_t>(kPiece, bytes.size() - done));
      PTXBENCH_TRY_STATUS(ask_trusted(client_, wire::WriteMemory{address + done, piece.size(), 0}, piece));
    }
    return address;
  }
  template <class T>
  Result<std::vector<T>> download(std::uint64_t address, std::uint64_t count) {
    std::vector<T> values(count);
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
    for (std::uint64_t done = 0; done < bytes.size(); done += kPiece) {
      const auto piece = bytes.subspan(done, std::min<std::uint64_t>(kPiece, bytes.size() - done));
      PTXBENCH_TRY_STATUS(ask_trusted(client_, wire::ReadMemory{address + done, piece.size(), 0}, {}, piece));
    }
    return values;
  }

 private:
  wire::Client& client_;
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
  PTXBENCH_TRY_STATUS(ask_trusted(client_, order));
  return {};
}

}  // namespace ptxbench::judge
