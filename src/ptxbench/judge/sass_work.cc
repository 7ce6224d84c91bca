#include "ptxbench/judge/sass_work.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace ptxbench::judge {
namespace {

struct Shape {
  std::uint64_t m = 0, n = 0, k = 0;
};

// The short names of warp-level shapes: digits without separators.
struct ShortName {
  std::string_view digits;
  Shape shape;
};
constexpr ShortName kShortNames[] = {
    {"884", {8, 8, 4}},     {"1684", {16, 8, 4}},     {"1688", {16, 8, 8}},     {"16816", {16, 8, 16}},
    {"16832", {16, 8, 32}}, {"16864", {16, 8, 64}},   {"8816", {8, 8, 16}},     {"8832", {8, 8, 32}},
    {"88128", {8, 8, 128}}, {"168128", {16, 8, 128}}, {"168256", {16, 8, 256}},
};

// "64x256x16"
std::optional<Shape> written_out(std::string_view text) {
  Shape shape;
  const char* at = text.begin();
  for (std::uint64_t* extent : {&shape.m, &shape.n, &shape.k}) {
    const auto [end, code] = std::from_chars(at, text.end(), *extent);
    const bool last = extent == &shape.k;
    if (code != std::errc() || (last ? end != text.end() : end == text.end() || *end != 'x')) return std::nullopt;
    at = last ? end : end + 1;
  }
  return shape;
}

std::optional<Shape> shape_of(std::string_view opcode) {
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;) {
    const std::size_t next = opcode.find('.', dot + 1);
    const std::string_view part = opcode.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1);
    if (const auto shape = written_out(part)) return shape;
    for (const ShortName& name : kShortNames)
      if (part == name.digits) return name.shape;
    dot = next;
  }
  return std::nullopt;
}

}  // namespace

Result<std::uint64_t> sass_flops(std::string_view opcode, std::uint64_t thread_instructions) {
  const std::string_view word = opcode.substr(0, opcode.find('.'));
  const bool warpgroup = word.ends_with("GMMA");
  const auto shape = shape_of(opcode);
  if (word.starts_with("UTC"))
    return fail(ErrorKind::kUnsupported,
                fmt::format("the FLOPs of '{}' are not known: its shape is not in its name but in a register, the "
                            "instruction descriptor",
                            opcode),
                "docs/gpu.md says what Blackwell still needs");
  if (!shape || (warpgroup && shape->m != 64))
    return fail(ErrorKind::kUnsupported, fmt::format("the FLOPs of '{}' cannot be read from its name", opcode),
                "the emulator counts them: --device emu");
  const std::uint64_t threads = warpgroup ? 128 : 32;
  // Per thread first: the product does not overflow, and a count need not be a multiple of the group.
  return thread_instructions * (2 * shape->m * shape->n * shape->k / threads);
}

}  // namespace ptxbench::judge
