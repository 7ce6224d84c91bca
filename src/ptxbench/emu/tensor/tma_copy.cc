#include "ptxbench/emu/tensor/tma_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptxbench/emu/tensor/reduce.h"
#include "ptxbench/emu/tensor/tile_walk.h"

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
    const uint64_t bytes = last + map.element_size() - first;
    whole_ = last >= first ? view.surround(first, bytes, access) : nullptr;
  }

  Checked<std::byte*> row(uint64_t address, uint32_t bytes) {
    if (whole_ != nullptr) return whole_ + (address - begin_);
    return view_.resolve(address, bytes, access_);
  }

 private:
  GlobalView& view_;
  MemoryAccess access_;
  uint64_t begin_ = 0;
  std::byte* whole_ = nullptr;
};

// Calls move(shared pointer, offset in the row, bytes) for the pieces of [begin, end) of the row that starts at the linear shared
// address `row`: the whole range without a swizzle, else cut at the 16-byte chunks.
template <class Move>
void for_each_piece(Swizzle swizzle, SharedView shared, uint32_t row, uint32_t begin, uint32_t end, Move move) {
  if (swizzle == Swizzle::kNone) {
    move(shared.at(row + begin), begin, end - begin);
    return;
  }
  for (uint32_t at = begin; at < end;) {
    const uint32_t stop = std::min(end, (at / kChunk + 1) * kChunk);
    move(shared.at(apply_swizzle(swizzle, row + at)), at, stop - at);
    at = stop;
  }
}

// What out-of-bounds elements become, as 16 bytes. The canonical NaN of the type.
std::array<std::byte, kChunk> fill_pattern(const TensorMap& map) {
  std::array<std::byte, kChunk> pattern{};
  if (map.oob_fill == OobFill::kZeros) return pattern;
  const uint32_t size = map.element_size();
  for (uint32_t i = 0; i < kChunk; ++i) pattern[i] = std::byte{0xff};
  for (uint32_t i = size - 1; i < kChunk; i += size) pattern[i] = std::byte{0x7f};
  return pattern;
}

// Element-aligned pieces never start inside an element, and patterns repeat with the element size.
void fill(SharedView shared, Swizzle swizzle, uint32_t row, uint32_t begin, uint32_t end,
          const std::array<std::byte, kChunk>& pattern) {
  for_each_piece(swizzle, shared, row, begin, end, [&](std::byte* to, uint32_t, uint32_t bytes) {
    for (uint32_t done = 0; done < bytes; done += kChunk) {
      std::memcpy(to + done, pattern.data(), std::min(kChunk, bytes - done));
    }
  });
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

// Loads that convert elements on the way: what exactly they do is not documented.
Checked<void> check_type(const TensorMap& map, const char* what) {
  switch (map.type) {
    case TensorDataType::kF32Ftz:
    case TensorDataType::kTF32:
    case TensorDataType::kTF32Ftz:
      return fault(FaultKind::kUnsupported, "tensor maps that convert elements are not emulated",
                   fmt::format("{} of a tensor of type {}", what, to_string(map.type)));
    default: return {};
  }
}

}  // namespace

Checked<uint32_t> tma_check_tile(const TensorMap& map, TileCoords coords, SharedView shared, uint32_t shared_address) {
  if (coords.size() != map.rank) {
    return fault(FaultKind::kBadDescriptor, "the dimension of the instruction is the rank of the tensor map",
                 fmt::format("{} coordinates for a tensor of rank {}", coords.size(), map.rank));
  }
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
  if (auto known = check_type(map, "a load"); !known) return tl::unexpected(known.error());
  const auto pattern = fill_pattern(map);
  const uint32_t width = map.row_bytes();
  GlobalRows rows(map, coords, global, MemoryAccess::kRead);
  TileWalk walk(map, coords);
  for (uint32_t i = 0; i < walk.rows(); ++i) {
    const TileRow row = walk.next();
    const uint32_t to = shared_address + row.shared_offset;
    if (row.begin > 0 || row.begin == row.end)
      fill(shared, map.swizzle, to, 0, row.begin == row.end ? width : row.begin, pattern);
    if (row.begin == row.end) continue;
    const Checked<std::byte*> from = rows.row(row.global_address, row.end - row.begin);
    if (!from) return tl::unexpected(from.error());
    for_each_piece(map.swizzle, shared, to, row.begin, row.end, [&](std::byte* piece, uint32_t at, uint32_t n) {
      if (n == kChunk) {
        std::memcpy(piece, *from + (at - row.begin), kChunk);  // a constant size, so that it is two moves
      } else {
        std::memcpy(piece, *from + (at - row.begin), n);
      }
    });
    if (row.end < width) fill(shared, map.swizzle, to, row.end, width, pattern);
  }
  return bytes;
}

Checked<uint32_t> tma_store_tile(const TensorMap& map, TileCoords coords, GlobalView& global, SharedView shared,
                                 uint32_t shared_address) {
  const Checked<uint32_t> bytes = tma_check_tile(map, coords, shared, shared_address);
  if (!bytes) return bytes;
  if (auto known = check_type(map, "a store"); !known) return tl::unexpected(known.error());
  GlobalRows rows(map, coords, global, MemoryAccess::kWrite);
  TileWalk walk(map, coords);
  for (uint32_t i = 0; i < walk.rows(); ++i) {
    const TileRow row = walk.next();
    if (row.begin == row.end) continue;
    const Checked<std::byte*> to = rows.row(row.global_address, row.end - row.begin);
    if (!to) return tl::unexpected(to.error());
    for_each_piece(
        map.swizzle, shared, shared_address + row.shared_offset, row.begin, row.end,
        [&](const std::byte* piece, uint32_t at, uint32_t n) { std::memcpy(*to + (at - row.begin), piece, n); });
  }
  return bytes;
}

Checked<uint32_t> tma_reduce_tile(const TensorMap& map, TileCoords coords, ReduceOp op, GlobalView& global,
                                  SharedView shared, uint32_t shared_address) {
  const Checked<uint32_t> bytes = tma_check_tile(map, coords, shared, shared_address);
  if (!bytes) return bytes;
  if (auto known = check_type(map, "a reduction"); !known) return tl::unexpected(known.error());
  if (map.element_size() == 1 || map.type == TensorDataType::kU16) {
    return fault(FaultKind::kUnsupported, "cp.reduce.async.bulk.tensor has a table of operations and element types",
                 fmt::format("a reduction of a tensor of type {} is not in it", to_string(map.type)));
  }
  const Checked<ReduceFunction> reduce = reduce_function(op, reduce_type(map.type, op), false);
  if (!reduce) return tl::unexpected(reduce.error());
  GlobalRows rows(map, coords, global, MemoryAccess::kReadWrite);
  TileWalk walk(map, coords);
  for (uint32_t i = 0; i < walk.rows(); ++i) {
    const TileRow row = walk.next();
    if (row.begin == row.end) continue;
    const Checked<std::byte*> to = rows.row(row.global_address, row.end - row.begin);
    if (!to) return tl::unexpected(to.error());
    for_each_piece(
        map.swizzle, shared, shared_address + row.shared_offset, row.begin, row.end,
        [&](const std::byte* piece, uint32_t at, uint32_t n) { (*reduce)(*to + (at - row.begin), piece, n); });
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
