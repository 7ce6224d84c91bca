// What several layers of a verdict share.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptxbench::schema {

// kVoid: a measurement was tried and is worth nothing; the layer says why. It is no statement about the candidate.
enum class LayerState { kPassed, kFailed, kVoid, kNotMeasured, kNotReached };
std::string_view to_string(LayerState state);  // "passed", "failed", "void", "not_measured", "not_reached"
std::optional<LayerState> layer_state_from(std::string_view text);

struct Dim3Record {
  std::uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Dim3Record&) const = default;
};

}  // namespace ptxbench::schema
