#include "ptxbench/emu/tensor/tma_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ptxbench/emu/tensor/reduce.h"
#include "ptxbench/emu/tensor/tile_walk.h"
#include "ptxbench/numeric/half.h"

namespace ptxbench::emu {
namespace {

constexpr uint32_t kTileAlignment = 128;
constexpr uint32_t kBulkAlignment = 16;
constexpr uint32_t kChunk = 16;  // what a swizzle moves

// Host address of rows in global memory. Asks for the whole box first; only if that is not one stretch of memory, row by row.
class GlobalRows {
 public:
  GlobalRows(const TensorMap& map, TileCoords coords, GlobalView& view, MemoryAccess access)
      : view_(view), access_(access) {
    uint64_t first = map.global_address, last = map.global_address;
    for (unsigned i = 0; i < map.rank; ++i) {
      const int64_t dim = static_cast<int64_t>(map.dims[i]);
      const int64_t low = std::clamp<int64_t>(coords[i], 0, dim - 1);
      const int64_t high = std::clamp<int64_t>(int64_t{coords[i]} + map.box[i] - 1, 0, dim - 1);
      first += static_cast<uint64_t>(low) * map.strides[i];
      last += static_cast<uint64_t>(high) * map.strides[i];
    }
    begin_ = first;
    const int64_t room = (static_cast<int64_t>(map.dims[0]) - coords[0]) * map.element_size();
    if (room >= 0 && room < map.row_bytes()) last_element_ = static_cast<uint32_t>(room);
    const uint64_t bytes = (last + map.element_size() - first + 15) / 16 * 16;
    whole_ = last >= first ? view.surround(first, bytes, access) : nullptr;
  }

  // nullptr, and the reason in failure(), if the row is no memory. `end` of the row may be moved back: a row's padding need not be.
  std::byte* row(const TileRow& row, uint32_t* end) {
    if (whole_ != nullptr) return whole_ + (row.global_address - begin_);
    Checked<std::byte*> memory = view_.resolve(row.global_address, *end - row.begin, access_);
    if (!memory && *end != exact_end(row)) {
      *end = exact_end(row);
      memory = view_.resolve(row.global_address, *end - row.begin, access_);
    }
    if (memory) return *memory;
    failure_ = std::move(memory.error());
    return nullptr;
  }
  tl::unexpected<Fault> failure() { return tl::unexpected<Fault>(std::move(failure_)); }

 private:
  // Where the last element of the tensor's row ends, if the row of the tile reaches it.
  uint32_t exact_end(const TileRow& row) const { return std::min(row.end, last_element_); }

  GlobalView& view_;
  MemoryAccess access_;
  uint32_t last_element_ = ~0u;  // end of the tensor's row, as an offset in the row of the tile
  uint64_t begin_ = 0;
  std::byte* whole_ = nullptr;
  Fault failure_;
};

using ChunkSize = std::integral_constant<uint32_t, kChunk>;  // a size that memcpy sees

// Calls move(shared pointer, offset in the row, bytes) for the pieces of [begin, end) of the row that starts at the linear shared
// address `row`: the whole range without a swizzle, else its 16-byte chunks and what is left. begin: multiple of 16.
template <class Move>
void for_each_piece(Swizzle swizzle, SharedView shared, uint32_t row, uint32_t begin, uint32_t end, Move move) {
  if (swizzle == Swizzle::kNone) return move(shared.at(row + begin), begin, end - begin);
  // A swizzled row lies in one line of 128 bytes, so that all of its chunks move by the same bits.
  const uint32_t flip = apply_swizzle(swizzle, row) ^ row;
  uint32_t at = begin;
  for (; at + kChunk <= end; at += kChunk) move(shared.at((row + at) ^ flip), at, ChunkSize{});
  if (at < end) move(shared.at((row + at) ^ flip), at, end - at);
}

// What out-of-bounds elements become, as 16 bytes.
std::array<std::byte, kChunk> fill_pattern(const TensorMap& map) {
  std::array<std::byte, kChunk> pattern{};
  if (map.oob_fill == OobFill::kZeros) return pattern;
  for (uint32_t i = 0; i < kChunk; ++i) pattern[i] = std::byte{i % 2 == 0 ? uint8_t{0xf7} : uint8_t{0x7f}};
  return pattern;
}

// The pattern has a period of 2 bytes at most, and fills begin at elements.
void fill(SharedView shared, Swizzle swizzle, uint32_t row, uint32_t begin, uint32_t end,
          const std::array<std::byte, kChunk>& pattern) {
  const uint32_t flip = apply_swizzle(swizzle, row) ^ row;
  for (uint32_t at = begin; at < end;) {
    const uint32_t stop = std::min(end, (at / kChunk + 1) * kChunk);
    std::memcpy(shared.at((row + at) ^ flip), pattern.data() + at % kChunk, stop - at);
    at = stop;
  }
}

tl::unexpected<Fault> misaligned(const char* what, uint64_t value, uint32_t alignment) {
  return fault(FaultKind::kMisaligned, fmt::format("the {} of a bulk copy is a multiple of {}", what, alignment),
               fmt::format("the {} is {:#x}", what, value), value);
}

Checked<void> check_shared(SharedView shared, uint32_t address, uint64_t bytes) {
  if (shared.contains(address, bytes)) return {};
  return fault(FaultKind::kOutOfBounds, "a bulk copy stays inside the shared memory of the CTA",
               fmt::format("{} bytes at shared address {:#x}, where shared memory is {:#x} to {:#x}", bytes, address,
                           shared.base, uint64_t{shared.base} + shared.size),
               address);
}

Checked<void> check_bulk(uint64_t global_address, uint32_t bytes, SharedView shared, uint32_t shared_address) {
  if (global_address % kBulkAlignment != 0) return misaligned("global address", global_address, kBulkAlignment);
  if (shared_address % kBulkAlignment != 0) return misaligned("shared address", shared_address, kBulkAlignment);
  if (bytes % kBulkAlignment != 0) return misaligned("size", bytes, kBulkAlignment);
  return check_shared(shared, shared_address, bytes);
}

Checked<void> check_bulk_shared(SharedView destination, uint32_t destination_address, SharedView source,
                                uint32_t source_address, uint32_t bytes) {
  if (destination_address % kBulkAlignment != 0)
    return misaligned("shared address", destination_address, kBulkAlignment);
  if (source_address % kBulkAlignment != 0) return misaligned("shared address", source_address, kBulkAlignment);
  if (bytes % kBulkAlignment != 0) return misaligned("size", bytes, kBulkAlignment);
  if (auto inside = check_shared(destination, destination_address, bytes); !inside) return inside;
  return check_shared(source, source_address, bytes);
}

// The element type that a tensor reduction works on.
ReduceType reduce_type(TensorDataType type, ReduceOp op) {
  const bool bitwise = op == ReduceOp::kAnd || op == ReduceOp::kOr || op == ReduceOp::kXor;
  switch (type) {
    case TensorDataType::kU32: return bitwise ? ReduceType::kB32 : ReduceType::kU32;
    case TensorDataType::kS32: return bitwise ? ReduceType::kB32 : ReduceType::kS32;
    case TensorDataType::kU64: return bitwise ? ReduceType::kB64 : ReduceType::kU64;
    case TensorDataType::kS64: return bitwise ? ReduceType::kB64 : ReduceType::kS64;
    case TensorDataType::kF16: return ReduceType::kF16;
    case TensorDataType::kBF16: return ReduceType::kBF16;
    case TensorDataType::kF64: return ReduceType::kF64;
    default: return ReduceType::kF32;
  }
}

bool is_reducible(TensorDataType type, ReduceOp op) {
  switch (type) {
    case TensorDataType::kU8:
    case TensorDataType::kU16:
    case TensorDataType::kF32Ftz:
    case TensorDataType::kTF32:
    case TensorDataType::kTF32Ftz: return false;
    case TensorDataType::kS64: return op == ReduceOp::kMin || op == ReduceOp::kMax;  // bitwise: illegal on an H200
    default: return true;
  }
}

bool rounds_to_tf32(TensorDataType type) { return type == TensorDataType::kTF32 || type == TensorDataType::kTF32Ftz; }

void copy_as_tf32(std::byte* to, const std::byte* from, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += sizeof(float)) {
    float value;
    std::memcpy(&value, from + i, sizeof value);
    const uint32_t bits = numeric::f32_to_tf32(value, {numeric::Rounding::kNearestEven}) & 0xffffe000u;
    std::memcpy(to + i, &bits, sizeof bits);
  }
}

// Stores and reductions: the rules of the tile, and no negative coordinates.
Checked<uint32_t> check_write(const TensorMap& map, TileCoords coords, SharedView shared, uint32_t shared_address) {
  for (size_t i = 0; i < coords.size(); ++i) {
    if (coords[i] >= 0) continue;
    return fault(FaultKind::kOutOfBounds, "coordinates of a tensor store or reduction are not negative",
                 fmt::format("coordinate {} is {}; the hardware stops with an illegal instruction", i, coords[i]));
  }
  return tma_check_tile(map, coords, shared, shared_address);
}

}  // namespace

Checked<void> tma_check_coords(const TensorMap& map, TileCoords coords) {
  if (coords.size() != map.rank) {
    return fault(FaultKind::kBadDescriptor, "the dimension of the instruction is the rank of the tensor map",
                 fmt::format("{} coordinates for a tensor of rank {}", coords.size(), map.rank));
  }
  if (const int64_t offset = int64_t{coords[0]} * map.element_size(); offset % kBulkAlignment != 0) {
    return fault(
        FaultKind::kMisaligned, "the first coordinate of a tensor copy is a multiple of 16 bytes",
        fmt::format("coordinate 0 is {}, {} bytes; the hardware stops with an illegal instruction", coords[0], offset));
  }
  return {};
}

Checked<uint32_t> tma_check_tile(const TensorMap& map, TileCoords coords, SharedView shared, uint32_t shared_address) {
  if (auto good = tma_check_coords(map, coords); !good) return tl::unexpected(good.error());
  if (shared_address % kTileAlignment != 0) return misaligned("shared address", shared_address, kTileAlignment);
  if (auto inside = check_shared(shared, shared_address, map.shared_bytes()); !inside) {
    return tl::unexpected(inside.error());
  }
  return map.tile_bytes();
}

Checked<uint32_t> tma_load_tile(const TensorMap& map, TileCoords coords, GlobalView& global, SharedView shared,
                                uint32_t shared_address) {
  const Checked<uint32_t> bytes = tma_check_tile(map, coords, shared, shared_address);
  if (!bytes) return bytes;
  const auto pattern = fill_pattern(map);
  const bool tf32 = rounds_to_tf32(map.type);
  const uint32_t width = map.row_bytes();
  GlobalRows rows(map, coords, global, MemoryAccess::kRead);
  TileWalk walk(map, coords, RowEnd::kElement);
  for (uint32_t i = 0; i < walk.rows(); ++i) {
    const TileRow row = walk.next();
    const uint32_t to = shared_address + row.shared_offset;
    if (row.begin > 0 || row.begin == row.end)
      fill(shared, map.swizzle, to, 0, row.begin == row.end ? width : row.begin, pattern);
    if (row.begin == row.end) continue;
    uint32_t end = row.end;
    const std::byte* from = rows.row(row, &end);
    if (from == nullptr) return rows.failure();
    if (tf32) {
      for_each_piece(map.swizzle, shared, to, row.begin, row.end,
                     [&](std::byte* piece, uint32_t at, auto n) { copy_as_tf32(piece, from + (at - row.begin), n); });
    } else {
      for_each_piece(map.swizzle, shared, to, row.begin, row.end,
                     [&](std::byte* piece, uint32_t at, auto n) { std::memcpy(piece, from + (at - row.begin), n); });
    }
    if (row.end < width) fill(shared, map.swizzle, to, row.end, width, pattern);
  }
  return bytes;
}

Checked<uint32_t> tma_store_tile(const TensorMap& map, TileCoords coords, GlobalView& global, SharedView shared,
                                 uint32_t shared_address) {
  const Checked<uint32_t> bytes = check_write(map, coords, shared, shared_address);
  if (!bytes) return bytes;
  GlobalRows rows(map, coords, global, MemoryAccess::kWrite);
  TileWalk walk(map, coords, RowEnd::kChunk);
  for (uint32_t i = 0; i < walk.rows(); ++i) {
    const TileRow row = walk.next();
    if (row.begin == row.end) continue;
    uint32_t end = row.end;
    std::byte* to = rows.row(row, &end);
    if (to == nullptr) return rows.failure();
    for_each_piece(map.swizzle, shared, shared_address + row.shared_offset, row.begin, end,
                   [&](const std::byte* piece, uint32_t at, auto n) { std::memcpy(to + (at - row.begin), piece, n); });
  }
  return bytes;
}

Checked<uint32_t> tma_reduce_tile(const TensorMap& map, TileCoords coords, ReduceOp op, GlobalView& global,
                                  SharedView shared, uint32_t shared_address) {
  const Checked<uint32_t> bytes = check_write(map, coords, shared, shared_address);
  if (!bytes) return bytes;
  if (!is_reducible(map.type, op)) {
    return fault(FaultKind::kUnsupported, "cp.reduce.async.bulk.tensor has a table of operations and element types",
                 fmt::format("this reduction of a tensor of type {} is not in it", to_string(map.type)));
  }
  const Checked<ReduceFunction> reduce = reduce_function(op, reduce_type(map.type, op), false);
  if (!reduce) return tl::unexpected(reduce.error());
  GlobalRows rows(map, coords, global, MemoryAccess::kReadWrite);
  TileWalk walk(map, coords, RowEnd::kChunk);
  for (uint32_t i = 0; i < walk.rows(); ++i) {
    const TileRow row = walk.next();
    if (row.begin == row.end) continue;
    uint32_t end = row.end;
    std::byte* to = rows.row(row, &end);
    if (to == nullptr) return rows.failure();
    for_each_piece(
        map.swizzle, shared, shared_address + row.shared_offset, row.begin, end,
        [&](const std::byte* piece, uint32_t at, uint32_t n) { (*reduce)(to + (at - row.begin), piece, n); });
  }
  return bytes;
}

Checked<uint32_t> bulk_load(uint64_t global_address, uint32_t bytes, GlobalView& global, SharedView shared,
                            uint32_t shared_address) {
  if (auto good = check_bulk(global_address, bytes, shared, shared_address); !good) return tl::unexpected(good.error());
  if (bytes == 0) return bytes;
  const Checked<std::byte*> from = global.resolve(global_address, bytes, MemoryAccess::kRead);
  if (!from) return tl::unexpected(from.error());
  std::memcpy(shared.at(shared_address), *from, bytes);
  return bytes;
}

Checked<uint32_t> bulk_store(uint64_t global_address, uint32_t bytes, GlobalView& global, SharedView shared,
                             uint32_t shared_address) {
  if (auto good = check_bulk(global_address, bytes, shared, shared_address); !good) return tl::unexpected(good.error());
  if (bytes == 0) return bytes;
  const Checked<std::byte*> to = global.resolve(global_address, bytes, MemoryAccess::kWrite);
  if (!to) return tl::unexpected(to.error());
  std::memcpy(*to, shared.at(shared_address), bytes);
  return bytes;
}

Checked<uint32_t> bulk_copy_shared(SharedView destination, uint32_t destination_address, SharedView source,
                                   uint32_t source_address, uint32_t bytes) {
  if (auto good = check_bulk_shared(destination, destination_address, source, source_address, bytes); !good) {
    return tl::unexpected(good.error());
  }
  std::memmove(destination.at(destination_address), source.at(source_address), bytes);
  return bytes;
}

Checked<uint32_t> bulk_reduce(ReduceOp op, ReduceType type, uint64_t global_address, uint32_t bytes, GlobalView& global,
                              SharedView shared, uint32_t shared_address) {
  const Checked<ReduceFunction> reduce = reduce_function(op, type, false);
  if (!reduce) return tl::unexpected(reduce.error());
  if (auto good = check_bulk(global_address, bytes, shared, shared_address); !good) return tl::unexpected(good.error());
  if (bytes == 0) return bytes;
  const Checked<std::byte*> to = global.resolve(global_address, bytes, MemoryAccess::kReadWrite);
  if (!to) return tl::unexpected(to.error());
  (*reduce)(*to, shared.at(shared_address), bytes);
  return bytes;
}

Checked<uint32_t> bulk_reduce_shared(ReduceOp op, ReduceType type, SharedView destination, uint32_t destination_address,
                                     SharedView source, uint32_t source_address, uint32_t bytes) {
  const Checked<ReduceFunction> reduce = reduce_function(op, type, true);
  if (!reduce) return tl::unexpected(reduce.error());
  if (auto good = check_bulk_shared(destination, destination_address, source, source_address, bytes); !good) {
    return tl::unexpected(good.error());
  }
  (*reduce)(destination.at(destination_address), source.at(source_address), bytes);
  return bytes;
}

}  // namespace ptxbench::emu
