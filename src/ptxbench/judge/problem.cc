#include "ptxbench/judge/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace ptxbench::judge {
namespace {

using schema::Definition;
using schema::DType;
using schema::Operation;
using schema::TensorSpec;

constexpr std::int64_t kMaxElements = std::int64_t{1} << 33;  // per tensor; beyond that sizes in bytes could overflow

// What a tensor of an operation must look like, given the extents that earlier tensors fixed.
struct Expectation {
  const char* role;
  DType dtype;
  std::vector<std::int64_t> shape;
};

Status check_tensor(const Definition& definition, const TensorSpec& tensor, const std::vector<std::int64_t>& shape,
                    const Expectation& expected) {
  if (tensor.dtype == expected.dtype && shape == expected.shape) return {};
  return fail(ErrorKind::kUnsupported,
              fmt::format("{}: tensor {} is {} [{}], but as {} of {} the judge expects {} [{}]", definition.name,
                          tensor.name, to_string(tensor.dtype), fmt::join(shape, ", "), expected.role,
                          to_string(definition.extension->operation), to_string(expected.dtype),
                          fmt::join(expected.shape, ", ")));
}

Result<std::vector<std::vector<std::int64_t>>> shapes_of(const Definition& definition, const schema::AxisValues& axes) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const auto* group : {&definition.inputs, &definition.outputs})
    for (const TensorSpec& tensor : *group) {
      shapes.push_back(schema::extents(tensor, axes));
      std::int64_t elements = 1;
      for (const std::int64_t extent : shapes.back()) {
        if (extent < 1 || extent > kMaxElements / elements)
          return fail(ErrorKind::kUnsupported,
                      fmt::format("{}: tensor {} has the shape [{}]; the judge wants 1 to 2^33 elements",
                                  definition.name, tensor.name, fmt::join(shapes.back(), ", ")));
        elements *= extent;
      }
    }
  return shapes;
}

std::vector<Expectation> attention_expectations(const AttentionShape& s, Operation operation) {
  const std::vector<std::int64_t> query = {s.batch, s.heads, s.length, s.dim}, row = {s.batch, s.heads, s.length},
                                  key = {s.batch, s.kv_heads, s.length, s.dim};
  constexpr DType kBf16 = DType::kBFloat16, kF32 = DType::kFloat32;
  if (operation == Operation::kAttentionForward)
    return {{"Q", kBf16, query}, {"K", kBf16, key}, {"V", kBf16, key}, {"O", kBf16, query}, {"LSE", kF32, row}};
  return {{"Q", kBf16, query}, {"K", kBf16, key},    {"V", kBf16, key},  {"O", kBf16, query}, {"dO", kBf16, query},
          {"L", kF32, row},    {"dQ", kBf16, query}, {"dK", kBf16, key}, {"dV", kBf16, key}};
}

}  // namespace

Result<Problem> problem_from(const Definition& definition, const schema::AxisValues& axes) {
  if (!definition.extension)
    return fail(ErrorKind::kUnsupported,
                fmt::format("{}: has no \"ptxbench\" part, so the judge has no reference for it", definition.name),
                "add \"ptxbench\": {\"operation\": ...} as the bundled definitions do");
  const schema::TaskExtension& extension = *definition.extension;
  PTXBENCH_TRY(const auto shapes, shapes_of(definition, axes));
  const bool gemm = extension.operation == Operation::kGemmNt;
  const bool forward = extension.operation == Operation::kAttentionForward;
  const std::size_t inputs = gemm ? 2 : forward ? 3 : 6, outputs = gemm ? 1 : forward ? 2 : 3;
  const std::size_t rank = gemm ? 2 : 4;
  if (definition.inputs.size() != inputs || definition.outputs.size() != outputs || shapes[0].size() != rank ||
      shapes[1].size() != rank)
    return fail(ErrorKind::kUnsupported,
                fmt::format("{}: {} takes {} inputs and {} outputs, the first two of rank {}", definition.name,
                            to_string(extension.operation), inputs, outputs, rank));
  Problem problem;
  problem.operation = extension.operation;
  std::vector<Expectation> expected;
  if (gemm) {
    problem.m = shapes[0][0], problem.k = shapes[0][1], problem.n = shapes[1][0];
    expected = {{"A", DType::kBFloat16, {problem.m, problem.k}},
                {"B", DType::kBFloat16, {problem.n, problem.k}},
                {"C", DType::kBFloat16, {problem.m, problem.n}}};
  } else {
    problem.attention = {shapes[0][0], shapes[0][1], shapes[1][1], shapes[0][2], shapes[0][3], extension.causal};
    if (problem.attention.heads % problem.attention.kv_heads != 0)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: {} query heads cannot share {} heads of K and V evenly", definition.name,
                              problem.attention.heads, problem.attention.kv_heads));
    expected = attention_expectations(problem.attention, extension.operation);
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const TensorSpec& tensor = i < inputs ? definition.inputs[i] : definition.outputs[i - inputs];
    PTXBENCH_TRY_STATUS(check_tensor(definition, tensor, shapes[i], expected[i]));
  }
  return problem;
}

}  // namespace ptxbench::judge
