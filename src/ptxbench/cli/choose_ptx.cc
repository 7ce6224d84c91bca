// Which PTX of a fat binary an emulated device runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptxbench/base/fatbin.h"
#include "ptxbench/cli/emu_device.h"

namespace ptxbench::cli {
namespace {

struct PtxTarget {
  unsigned sm = 0;
  std::string suffix;  // "", "a", "f"
};

PtxTarget target_of(std::string_view ptx) {
  PtxTarget target;
  const std::size_t at = ptx.find(".target");
  const std::size_t sm = at == std::string_view::npos ? at : ptx.find("sm_", at);
  if (sm == std::string_view::npos || sm - at > 64) return target;
  std::size_t i = sm + 3;
  for (; i < ptx.size() && ptx[i] >= '0' && ptx[i] <= '9' && target.sm < 10000; ++i) {
    target.sm = target.sm * 10 + static_cast<unsigned>(ptx[i] - '0');
  }
  if (i < ptx.size() && (ptx[i] == 'a' || ptx[i] == 'f')) target.suffix = ptx[i];
  return target;
}

// 0: cannot run. Architecture-specific code runs on its own architecture only, generic code on newer ones too.
unsigned fitness(const PtxTarget& ptx, unsigned device_sm) {
  if (ptx.sm == 0 || ptx.sm > device_sm) return 0;
  if (!ptx.suffix.empty()) return ptx.sm == device_sm ? 100'000 : 0;
  return ptx.sm;
}

bool is_text(std::span<const std::byte> image) {
  constexpr std::string_view kDirective = ".version";
  const std::string_view text(reinterpret_cast<const char*>(image.data()), std::min<std::size_t>(image.size(), 4096));
  return text.find(kDirective) != std::string_view::npos && text.find('\0') == std::string_view::npos;
}

}  // namespace

wire::Answer<std::string> choose_ptx(std::span<const std::byte> image, emu::Target target) {
  const unsigned device_sm = target == emu::Target::kBlackwell ? 100 : 90;
  const char* wanted = target == emu::Target::kBlackwell ? "compute_100a" : "compute_90a";
  std::uint32_t magic = 0;
  if (image.size() >= sizeof magic) std::memcpy(&magic, image.data(), sizeof magic);
  if (magic != kFatbinMagic) {
    if (is_text(image)) {
      std::string text(reinterpret_cast<const char*>(image.data()), image.size());
      while (!text.empty() && text.back() == '\0') text.pop_back();
      return text;
    }
    return wire::refuse(wire::Code::kInvalidKernelImage, "the module image is neither a fat binary nor PTX text");
  }
  Result<std::vector<FatbinEntry>> entries = read_fatbin(image);
  if (!entries) return wire::refuse(wire::Code::kInvalidKernelImage, entries.error().message);

  const FatbinEntry* best = nullptr;
  unsigned best_fitness = 0;
  std::string found;
  for (const FatbinEntry& entry : *entries) {
    const bool ptx = entry.kind == FatbinKind::kPtx;
    const PtxTarget own = ptx ? target_of(entry.bytes) : PtxTarget{entry.sm, ""};
    found += fmt::format("{}{} sm_{}{}", found.empty() ? "" : ", ", ptx ? "PTX for" : "machine code for", own.sm,
                         own.suffix);
    const unsigned fit = ptx ? fitness(own, device_sm) : 0;
    if (fit > best_fitness) best = &entry, best_fitness = fit;
  }
  if (best == nullptr) {
    return wire::refuse(wire::Code::kNoKernelImageForDevice,
                        fmt::format("the module holds {}; the emulator runs PTX for sm_{} or older: compile with "
                                    "-gencode arch={},code={} (or code=[...,{}])",
                                    found.empty() ? "nothing" : found, device_sm, wanted, wanted, wanted));
  }
  return best->bytes;
}

}  // namespace ptxbench::cli
