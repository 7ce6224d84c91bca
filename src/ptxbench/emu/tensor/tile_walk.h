// The rows of a tile, in the order of shared memory: where each lies in the tensor and which part of it is inside.
#pragma once

#include <array>
#include <cstdint>

#include "ptxbench/emu/tensor/tensor_map.h"
#include "ptxbench/emu/tensor/tma_copy.h"

namespace ptxbench::emu {

struct TileRow {
  uint32_t shared_offset = 0;   // linear, before the swizzle
  uint64_t global_address = 0;  // of the first byte inside the tensor
  uint32_t begin = 0, end = 0;  // bytes of the row that are inside, as offsets in the row; begin == end: none
};

// Where a row of the tensor ends: loads see its last element, stores and reductions write whole 16-byte chunks, so that they
// also write the padding of a row whose length is no multiple of 16 bytes (seen on an H200: captures tma_tensor).
enum class RowEnd : uint8_t { kElement, kChunk };

class TileWalk {
 public:
  TileWalk(const TensorMap& map, TileCoords coords, RowEnd row_end)
      : map_(map), rows_(map.tile_rows()), pitch_(map.row_pitch()) {
    for (unsigned i = 0; i < map.rank; ++i) start_[i] = coords[i];
    const int64_t size = map.element_size(), start = start_[0] * size, width = map.row_bytes();
    int64_t length = static_cast<int64_t>(map.dims[0]) * size;
    if (row_end == RowEnd::kChunk) length = (length + 15) / 16 * 16;
    const int64_t first = start < 0 ? -start : 0;
    const int64_t last = length - start < width ? length - start : width;
    if (first < last) {
      begin_ = static_cast<uint32_t>(first);
      end_ = static_cast<uint32_t>(last);
    }
  }

  uint32_t rows() const { return rows_; }

  // Row 0, 1, ... rows() - 1, one per call.
  TileRow next() {
    TileRow row{row_++ * pitch_, 0, 0, 0};
    int64_t offset = start_[0] * map_.element_size() + begin_;
    bool inside = begin_ < end_;
    for (unsigned i = 1; i < map_.rank; ++i) {
      const int64_t at = start_[i] + int64_t{index_[i]} * map_.element_strides[i];
      inside = inside && at >= 0 && at < static_cast<int64_t>(map_.dims[i]);
      offset += at * static_cast<int64_t>(map_.strides[i]);
    }
    if (inside) {
      row.begin = begin_;
      row.end = end_;
      row.global_address = map_.global_address + static_cast<uint64_t>(offset);
    }
    for (unsigned i = 1; i < map_.rank; ++i) {
      if (++index_[i] < map_.tile_dim(i)) break;
      index_[i] = 0;
    }
    return row;
  }

 private:
  const TensorMap& map_;
  std::array<int64_t, kMaxTensorRank> start_{};
  std::array<uint32_t, kMaxTensorRank> index_{};
  uint32_t rows_, pitch_;
  uint32_t row_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace ptxbench::emu
