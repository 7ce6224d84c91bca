#include "ptxbench/judge/command_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ptxbench::judge {
namespace {

constexpr std::uint64_t kSmall = 64 << 10;                            // larger data have messages of their own
constexpr std::uint64_t kMostPayload = wire::kMaxRequestPayload / 2;  // the encoded batch must stay below the limit
constexpr std::uint64_t kCommandBytes = 256;                          // more than any command takes without its data
constexpr std::uint64_t kPiece = std::uint64_t{64} << 20;  // bytes per message: bounds what the device buffers

std::uint64_t payload_of(const wire::BatchCommand& command) {
  if (const auto* write = std::get_if<wire::InlineWrite>(&command)) return kCommandBytes + write->bytes.size();
  if (const auto* launch = std::get_if<wire::Launch>(&command)) return kCommandBytes + launch->params.size();
  return kCommandBytes;
}

}  // namespace

wire::Answer<void> CommandQueue::add(wire::BatchCommand command) {
  const std::uint64_t bytes = payload_of(command);
  if (payload_ + bytes > kMostPayload) {
    if (wire::Answer<void> sent = flush(); !sent) return sent;
  }
  payload_ += bytes;
  batch_.commands.push_back(std::move(command));
  return {};
}

wire::Answer<void> CommandQueue::write(std::uint64_t address, std::span<const std::byte> bytes) {
  if (bytes.size() <= kSmall) {
    return add(wire::InlineWrite{address, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  }
  for (std::uint64_t done = 0; done < bytes.size(); done += kPiece) {
    const auto piece = bytes.subspan(done, std::min<std::uint64_t>(kPiece, bytes.size() - done));
    if (auto written = call(wire::WriteMemory{address + done, piece.size(), 0}, piece); !written) {
      return tl::unexpected(std::move(written).error());
    }
  }
  return {};
}

wire::Answer<void> CommandQueue::read(std::uint64_t address, std::span<std::byte> to) {
  if (to.size() <= kSmall) {
    wire::Answer<void> added = add(wire::InlineRead{address, static_cast<std::uint32_t>(to.size())});
    if (added) reads_.push_back(to);
    return added;
  }
  for (std::uint64_t done = 0; done < to.size(); done += kPiece) {
    const auto piece = to.subspan(done, std::min<std::uint64_t>(kPiece, to.size() - done));
    if (auto got = call(wire::ReadMemory{address + done, piece.size(), 0}, {}, piece); !got) {
      return tl::unexpected(std::move(got).error());
    }
  }
  return {};
}

wire::Answer<void> CommandQueue::flush() {
  if (batch_.commands.empty()) return {};
  const wire::Batch batch = std::exchange(batch_, {});
  const std::vector<std::span<std::byte>> reads = std::exchange(reads_, {});
  payload_ = 0;
  wire::Answer<wire::BatchReply> reply = client_.call(batch);
  if (!reply) return tl::unexpected(std::move(reply).error());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (i >= reply->reads.size() || reply->reads[i].size() != reads[i].size()) {
      return wire::refuse(wire::Code::kUnknown, "a batch's reads are not those that were asked for");
    }
    std::memcpy(reads[i].data(), reply->reads[i].data(), reads[i].size());
  }
  return {};
}

}  // namespace ptxbench::judge
