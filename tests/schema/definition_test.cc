#include "ptxbench/schema/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ptxbench::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kGemm = R"({
  "name": "g", "op_type": "gemm",
  "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 16}, "K": {"type": "const", "value": 8}},
  "inputs": {"A": {"shape": ["M", "K"], "dtype": "bfloat16"}, "B": {"shape": ["N", "K"], "dtype": "bfloat16"},
             "alpha": {"shape": null, "dtype": "float32"}},
  "outputs": {"C": {"shape": ["M", "N"], "dtype": "bfloat16"}},
  "constraints": ["M % 4 == 0"],
  "reference": "def run(A, B, alpha):\n    return alpha * A @ B.T\n"
})";

// kGemm with `from` replaced by `to`.
std::string changed(std::string_view from, std::string_view to) {
  std::string text = kGemm;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Definition, ReadsTheSharedFormat) {
  const auto definition = definition_from_json(kGemm, "g.json");
  ASSERT_TRUE(definition) << definition.error().format();
  EXPECT_EQ(definition->name, "g");
  ASSERT_EQ(definition->axes.size(), 3u);
  EXPECT_FALSE(definition->axes[0].constant);
  EXPECT_EQ(definition->axes[1].constant, 16);
  ASSERT_EQ(definition->inputs.size(), 3u);
  EXPECT_THAT(*definition->inputs[0].shape, ElementsAre("M", "K"));
  EXPECT_FALSE(definition->inputs[2].shape) << "null means a scalar";
  EXPECT_EQ(definition->outputs[0].dtype, DType::kBFloat16);
  EXPECT_FALSE(definition->extension);
}

struct BadCase {
  std::string from, to, message;
};

TEST(Definition, ErrorsNameFilePathFoundAndExpected) {
  const BadCase cases[] = {
      {R"(["N", "K"])", R"(["N", "K2"])", "g.json: inputs.B.shape[1]: axis 'K2' is not declared (axes: M, N, K)"},
      {R"("value": 16)", R"("value": -1)", "g.json: axes.N.value: found -1, expected 0 or more"},
      {R"("value": 16)", R"("value": "16")", "g.json: axes.N.value: found a string, expected an integer"},
      {R"({"type": "var"})", R"({"type": "variable"})",
       "g.json: axes.M.type: found 'variable', expected 'const' or 'var'"},
      {R"({"type": "var"})", R"({"type": "var", "value": 4})", "axes.M.value: a var axis has no value here"},
      {R"({"type": "const", "value": 8})", R"({"type": "const"})", "axes.K.value: missing"},
      {R"("dtype": "float32")", R"("dtype": "fp32")", "inputs.alpha.dtype: 'fp32' is not a dtype (known: float32, "},
      {R"("shape": null)", R"("shape": "M")", "inputs.alpha.shape: found a string, expected a list of axis names"},
      {R"("C":)", R"("A":)", "outputs.A: an input has the same name"},
      {R"("name": "g")", R"("name": "")", "name: is empty"},
      {R"("name": "g")", R"("name": "../g")", "name: '../g' cannot be a file name"},
      {R"("op_type": "gemm",)", "", "op_type: missing"},
      {"def run(", "def main(", "reference: has no top-level 'def run(...)'"},
      {"M % 4 == 0", "M % 4 = 0", "constraints[0]: expression 'M % 4 = 0', column 7: unexpected '='"},
      {R"("outputs": {"C": {"shape": ["M", "N"], "dtype": "bfloat16"}})", R"("outputs": [])",
       "outputs: found an array, expected an object"},
      {R"("op_type": "gemm")", R"("op_type": "gemm", "op_type": "x")", "key 'op_type' stands twice"},
  };
  for (const BadCase& c : cases) {
    const auto definition = definition_from_json(changed(c.from, c.to), "g.json");
    ASSERT_FALSE(definition) << c.to;
    EXPECT_THAT(definition.error().message, HasSubstr(c.message));
  }
}

TEST(Definition, SyntaxErrorsHaveLineAndColumn) {
  const auto definition = definition_from_json("{\n  \"name\": \"g\",\n  oops\n}", "g.json");
  ASSERT_FALSE(definition);
  EXPECT_EQ(definition.error().where.line, 3);
  EXPECT_EQ(definition.error().where.column, 3);
}

TEST(Definition, AnyTextIsAnswered) {
  for (const char* text :
       {"", "null", "[]", "3", "\"x\"", "{", "\xff\xfe", "{\"name\": 1}", "{\"axes\": 3, \"inputs\": null}"})
    EXPECT_FALSE(definition_from_json(text, "x.json")) << text;
}

TEST(Definition, HostileNestingIsAnError) {
  for (const std::string& open : {std::string("["), std::string("{\"a\":")}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += open;
    EXPECT_FALSE(definition_from_json(text, "x.json"));
    text += "1";
    for (int i = 0; i < 200'000; ++i) text += open == "[" ? ']' : '}';
    const auto definition = definition_from_json(text, "x.json");
    ASSERT_FALSE(definition);
    EXPECT_THAT(definition.error().message, HasSubstr("nested more than 64 levels deep"));
  }
}

TEST(Definition, UnknownFieldsAreKeptReportedAndWrittenBack) {
  const std::string text = changed(R"("shape": ["M", "K"])", R"("layout": {"order": [1, 0]}, "shape": ["M", "K"])");
  const auto definition = definition_from_json(text, "g.json");
  ASSERT_TRUE(definition) << definition.error().format();
  ASSERT_EQ(definition->unknown.size(), 1u);
  EXPECT_EQ(definition->unknown[0].pointer, "/inputs/A/layout");
  const std::string written = to_json(*definition);
  EXPECT_THAT(written, HasSubstr("\"layout\""));
  const auto again = definition_from_json(written, "g.json");
  ASSERT_TRUE(again) << again.error().format();
  EXPECT_EQ(to_json(*again), written);
}

constexpr const char* kWorkload = R"({"definition": "g", "solution": null, "evaluation": null, "workload": {
  "uuid": "u1", "axes": {"M": 8}, "inputs": {"A": {"type": "random"},
  "B": {"type": "safetensors", "path": "b.safetensors", "tensor_key": "B"}, "alpha": {"type": "scalar", "value": 2}}}})";

std::string changed_workload(std::string_view from, std::string_view to) {
  std::string text = kWorkload;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Workload, ReadsRecordsAndBareWorkloads) {
  const Definition definition = *definition_from_json(kGemm, "g.json");
  const auto wrapped = workload_from_json(kWorkload, definition, "g.jsonl", 1);
  ASSERT_TRUE(wrapped) << wrapped.error().format();
  EXPECT_EQ(wrapped->inputs[2].scalar, 2);
  const auto bare = workload_from_json(
      R"({"uuid": "u1", "axes": {"M": 8}, "note": 7, "inputs": {"A": {"type": "random"},
          "B": {"type": "random"}, "alpha": {"type": "scalar", "value": 0.5}}})",
      definition, "g.jsonl", 2);
  ASSERT_TRUE(bare) << bare.error().format();
  ASSERT_EQ(bare->unknown.size(), 1u);
  EXPECT_EQ(bare->unknown[0].pointer, "/workload/note");
  const auto again = workload_from_json(to_json(*bare), definition, "g.jsonl", 1);
  ASSERT_TRUE(again) << again.error().format();
  EXPECT_EQ(to_json(*again), to_json(*bare));
  const AxisValues axes = *resolve_axes(definition, *wrapped);
  EXPECT_THAT(extents(definition.outputs[0], axes), ElementsAre(8, 16));
}

TEST(Workload, ErrorsNameFileLineAndPath) {
  const Definition definition = *definition_from_json(kGemm, "g.json");
  const BadCase cases[] = {
      {R"("M": 8)", R"("Q": 8)", "g.jsonl:7: workload.axes.Q: the definition declares no such axis"},
      {R"("M": 8)", R"("N": 8)", "workload.axes.N: found 8, but the definition fixes it to 16"},
      {R"("M": 8)", R"("M": -8)", "workload.axes.M: found -8, expected 0 or more"},
      {R"("M": 8)", "", "workload.axes: var axis 'M' has no value"},
      {R"("type": "random")", R"("type": "zeros")", "workload.inputs.A.type: found 'zeros', expected 'random'"},
      {R"(, "alpha": {"type": "scalar", "value": 2})", "", "workload.inputs: input 'alpha' is missing"},
      {R"("value": 2)", R"("value": "two")", "workload.inputs.alpha.value: found a string, expected a number"},
      {R"("definition": "g")", R"("definition": "h")", "definition: found 'h', expected 'g'"},
      {R"("uuid": "u1")", R"("uuid": "")", "workload.uuid: is empty"},
  };
  for (const BadCase& c : cases) {
    const auto workload = workload_from_json(changed_workload(c.from, c.to), definition, "g.jsonl", 7);
    ASSERT_FALSE(workload) << c.to;
    EXPECT_THAT(workload.error().format(), HasSubstr(c.message));
  }
}

TEST(Workload, ConstraintsAreChecked) {
  const Definition definition = *definition_from_json(kGemm, "g.json");
  const auto workload = workload_from_json(changed_workload("\"M\": 8", "\"M\": 9"), definition, "g.jsonl", 1);
  ASSERT_TRUE(workload);
  const auto axes = resolve_axes(definition, *workload);
  ASSERT_FALSE(axes);
  EXPECT_THAT(axes.error().message, HasSubstr("breaks the constraint 'M % 4 == 0'"));
}

}  // namespace
}  // namespace ptxbench::schema
