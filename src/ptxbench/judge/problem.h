// A task on a workload, reduced to what the judge computes with: the operation and its extents.
#pragma once

#include <cstdint>

#include "ptxbench/base/result.h"
#include "ptxbench/judge/reference.h"
#include "ptxbench/schema/definition.h"

namespace ptxbench::judge {

struct Problem {
  schema::Operation operation = schema::Operation::kGemmNt;
  std::int64_t m = 0, n = 0, k = 0;  // kGemmNt: C[m, n] = A[m, k] B[n, k]^T
  AttentionShape attention;          // the attention operations

  // Units are the parts of a problem that do not depend on each other, so that each may get inputs of its own kind:
  // rows of A and C, or heads of K and V with their query heads. Every tensor but B splits into units of equal size.
  std::int64_t units() const {
    return operation == schema::Operation::kGemmNt ? m : attention.batch * attention.kv_heads;
  }
};

// kUnsupported, naming what is missing, when the definition is none that the judge has a reference for: no "ptxbench"
// part, or tensors whose number, rank, extents or dtypes do not belong to the operation.
Result<Problem> problem_from(const schema::Definition& definition, const schema::AxisValues& axes);

}  // namespace ptxbench::judge
