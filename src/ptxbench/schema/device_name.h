// The names of devices that users give: "emu", "gpu", "gpu:3".
#pragma once

#include <optional>
#include <string_view>

namespace ptxbench::schema {

// The GPU of that name, counted among the visible ones: "gpu" is 0, "gpu:3" is 3. None for any other word, and for more than
// three digits.
constexpr std::optional<int> gpu_number(std::string_view device) {
  if (device == "gpu") return 0;
  if (!device.starts_with("gpu:") || device.size() == 4 || device.size() > 7) return std::nullopt;
  int number = 0;
  for (const char digit : device.substr(4)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = 10 * number + (digit - '0');
  }
  return number;
}

}  // namespace ptxbench::schema
