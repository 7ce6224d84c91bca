// Matrix product in double precision, the work horse of the references. Blocked and packed after Goto; the inner kernel
// is AVX2+FMA where the machine has it (chosen at run time) and plain C++ elsewhere. Both give the same sums in the
// same order except for fused rounding, so results differ by rounding only.
#pragma once

#include <cstdint>

namespace ptxbench::judge {

// A matrix seen through strides (in elements): element (i, j) lies at data[i * row_stride + j * column_stride].
// bf16 elements are the upper half of a binary32.
struct MatrixView {
  const void* data = nullptr;
  enum class Type { kDouble, kBFloat16 } type = Type::kDouble;
  std::int64_t row_stride = 0, column_stride = 1;

  static MatrixView of(const double* data, std::int64_t row_stride, std::int64_t column_stride = 1) {
    return {data, Type::kDouble, row_stride, column_stride};
  }
  static MatrixView of(const std::uint16_t* bf16, std::int64_t row_stride, std::int64_t column_stride = 1) {
    return {bf16, Type::kBFloat16, row_stride, column_stride};
  }
  MatrixView transposed() const { return {data, type, column_stride, row_stride}; }
  MatrixView offset(std::int64_t rows, std::int64_t columns) const;
};

enum class MatmulKernel { kBest, kGeneric };

// C[m x n] += A[m x k] B[k x n]; C is row-major with leading dimension ldc. One thread.
void matmul_add(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView a, MatrixView b, double* c, std::int64_t ldc,
                MatmulKernel kernel = MatmulKernel::kBest);

}  // namespace ptxbench::judge
