#include "ptxbench/emu/tensor/matrix_move.h"

#include <fmt/format.h>

#include <cstring>

#include "ptxbench/base/check.h"

namespace ptxbench::emu {
namespace {

constexpr uint32_t kRows = 8, kRowBytes = 16;

Checked<void> check_rows(SharedView shared, const uint32_t* addresses, unsigned count, const char* name) {
  PTXBENCH_CHECK(count == 1 || count == 2 || count == 4, "{} of {} matrices", name, count);
  for (uint32_t lane = 0; lane < kRows * count; ++lane) {
    if (addresses[lane] % kRowBytes != 0) {
      return fault(FaultKind::kMisaligned, fmt::format("the row addresses of {} are multiples of 16", name),
                   fmt::format("lane {} gives {:#x}", lane, addresses[lane]), addresses[lane]);
    }
    if (!shared.contains(addresses[lane], kRowBytes)) {
      return fault(FaultKind::kOutOfBounds, fmt::format("{} stays inside the shared memory of the CTA", name),
                   fmt::format("lane {} gives {:#x}, where shared memory is {:#x} to {:#x}", lane, addresses[lane],
                               shared.base, uint64_t{shared.base} + shared.size),
                   addresses[lane]);
    }
  }
  return {};
}

// Where element `half` of lane `lane` is in the matrix: [row][column].
struct Place {
  uint32_t row, column;
};
constexpr Place place(uint32_t lane, uint32_t half, bool transpose) {
  const uint32_t row = lane / 4, column = lane % 4 * 2 + half;
  return transpose ? Place{column, row} : Place{row, column};
}

}  // namespace

Checked<void> ldmatrix(SharedView shared, const uint32_t* addresses, unsigned count, bool transpose,
                       uint32_t* const* d) {
  if (auto good = check_rows(shared, addresses, count, "ldmatrix"); !good) return good;
  for (uint32_t i = 0; i < count; ++i) {
    uint16_t matrix[kRows][8];
    for (uint32_t row = 0; row < kRows; ++row)
      std::memcpy(matrix[row], shared.at(addresses[kRows * i + row]), kRowBytes);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const Place low = place(lane, 0, transpose), high = place(lane, 1, transpose);
      d[i][lane] = matrix[low.row][low.column] | uint32_t{matrix[high.row][high.column]} << 16;
    }
  }
  return {};
}

Checked<void> stmatrix(SharedView shared, const uint32_t* addresses, unsigned count, bool transpose,
                       const uint32_t* const* s) {
  if (auto good = check_rows(shared, addresses, count, "stmatrix"); !good) return good;
  for (uint32_t i = 0; i < count; ++i) {
    uint16_t matrix[kRows][8];
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t half = 0; half < 2; ++half) {
        const Place at = place(lane, half, transpose);
        matrix[at.row][at.column] = static_cast<uint16_t>(s[i][lane] >> 16 * half);
      }
    }
    for (uint32_t row = 0; row < kRows; ++row)
      std::memcpy(shared.at(addresses[kRows * i + row]), matrix[row], kRowBytes);
  }
  return {};
}

void movmatrix(const uint32_t* s, uint32_t* d) {
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t word = 0;
    for (uint32_t half = 0; half < 2; ++half) {
      const Place from = place(lane, half, true);
      const uint32_t source = s[from.row * 4 + from.column / 2];
      word |= (source >> 16 * (from.column % 2) & 0xffff) << 16 * half;
    }
    d[lane] = word;
  }
}

}  // namespace ptxbench::emu
