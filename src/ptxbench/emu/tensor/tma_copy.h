// Bulk copies between global and shared memory: cp{.reduce}.async.bulk{.tensor}, tile mode. The functions do the copy at
// once; when it happens, mbarriers and bulk groups are the machine's. PTX ISA, "Data Movement and Conversion
// Instructions: Bulk copy" and "Tensors: Tiled mode".
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ptxbench/emu/tensor/fault.h"
#include "ptxbench/emu/tensor/memory_view.h"
#include "ptxbench/emu/tensor/tensor_map.h"

namespace ptxbench::emu {

enum class ReduceOp : uint8_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };
// Element types of cp.reduce.async.bulk (the non-tensor form names its type, the tensor form takes the map's).
enum class ReduceType : uint8_t { kU32, kS32, kU64, kS64, kB32, kB64, kF16, kBF16, kF32, kF64 };

// Tile coordinates in elements, innermost first; coords.size() must equal the map's rank (a fault otherwise).
using TileCoords = std::span<const int32_t>;

// Each returns map.tile_bytes(). The tile covers [shared_address, + map.shared_bytes()). A load writes every element of
// the box: those out of bounds become zero, or 0x7ff7 in each 16 bits if the map asks for NaN; elements of type TFLOAT32
// are rounded to tf32. Stores and reductions leave out-of-bounds elements of the tensor alone. shared_address: multiple of 128.
// Beyond the manual, from an H200 (tests/captures: tma_tensor, traps): the first coordinate must be a multiple of 16 bytes, and
// the coordinates of stores and reductions must not be negative; else the hardware stops with an illegal instruction.
Checked<uint32_t> tma_load_tile(const TensorMap& map, TileCoords coords, GlobalView& global, SharedView shared,
                                uint32_t shared_address);
Checked<uint32_t> tma_store_tile(const TensorMap& map, TileCoords coords, GlobalView& global, SharedView shared,
                                 uint32_t shared_address);
Checked<uint32_t> tma_reduce_tile(const TensorMap& map, TileCoords coords, ReduceOp op, GlobalView& global,
                                  SharedView shared, uint32_t shared_address);

// The rules of a tile load without the copy (to fault at issue rather than at completion), and those of the map and the coordinates
// alone (prefetch.tensor).
Checked<uint32_t> tma_check_tile(const TensorMap& map, TileCoords coords, SharedView shared, uint32_t shared_address);
Checked<void> tma_check_coords(const TensorMap& map, TileCoords coords);

// The 1-D forms. Addresses and size: multiples of 16.
Checked<uint32_t> bulk_load(uint64_t global_address, uint32_t bytes, GlobalView& global, SharedView shared,
                            uint32_t shared_address);
Checked<uint32_t> bulk_store(uint64_t global_address, uint32_t bytes, GlobalView& global, SharedView shared,
                             uint32_t shared_address);
// Shared memory of one CTA to that of another (or the same) CTA of the cluster.
Checked<uint32_t> bulk_copy_shared(SharedView destination, uint32_t destination_address, SharedView source,
                                   uint32_t source_address, uint32_t bytes);
Checked<uint32_t> bulk_reduce(ReduceOp op, ReduceType type, uint64_t global_address, uint32_t bytes, GlobalView& global,
                              SharedView shared, uint32_t shared_address);
Checked<uint32_t> bulk_reduce_shared(ReduceOp op, ReduceType type, SharedView destination, uint32_t destination_address,
                                     SharedView source, uint32_t source_address, uint32_t bytes);

}  // namespace ptxbench::emu
