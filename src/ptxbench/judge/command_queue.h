// Commands for a device process that need no answer of their own, gathered and sent as one message: a message each would
// cost more time than the small kernels and copies of a timed call take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptxbench/wire/client.h"

namespace ptxbench::judge {

class CommandQueue {
 public:
  // The client must outlive the queue.
  explicit CommandQueue(wire::Client& client) : client_(client) {}

  // Each may send what has gathered, so each can fail; an error may be an earlier command's.
  wire::Answer<void> add(wire::BatchCommand command);
  // Small data travel with the queue; large ones go at once, behind what has gathered.
  wire::Answer<void> write(std::uint64_t address, std::span<const std::byte> bytes);
  // `to` is filled by flush() at the latest and must stay until then.
  wire::Answer<void> read(std::uint64_t address, std::span<std::byte> to);
  // Sends what has gathered and waits until it is done.
  wire::Answer<void> flush();

  // Behind everything that was added.
  template <class Request>
  wire::Answer<typename Request::Reply> call(const Request& request, std::span<const std::byte> out = {},
                                             std::span<std::byte> in = {}, int pass_fd = -1) {
    if (wire::Answer<void> sent = flush(); !sent) return tl::unexpected(std::move(sent).error());
    return client_.call(request, out, in, pass_fd);
  }

 private:
  wire::Client& client_;
  wire::Batch batch_;
  std::vector<std::span<std::byte>> reads_;  // where the batch's reads go
  std::uint64_t payload_ = 0;                // bytes, at least as many as the batch takes when it is encoded
};

}  // namespace ptxbench::judge
