#include "ptxbench/wire/device_environment.h"

#include <algorithm>

extern char** environ;

namespace ptxbench::wire {

bool passed_to_device(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "PTXBENCH_NVIDIA_LIBRARIES", "LD_LIBRARY_PATH", "PATH", "VIRTUAL_ENV", "HOME", "TMPDIR"};
  if (name.starts_with("CUDA_INJECTION")) return false;
  return name.starts_with("CUDA_") || name.starts_with("NVIDIA_") ||
         std::ranges::find(kNames, name) != std::end(kNames);
}

std::vector<std::string> device_environment() {
  std::vector<std::string> passed;
  for (char** item = environ; *item != nullptr; ++item) {
    const std::string_view entry(*item);
    if (passed_to_device(entry.substr(0, entry.find('=')))) passed.emplace_back(entry);
  }
  return passed;
}

}  // namespace ptxbench::wire
