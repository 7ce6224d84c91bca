#include "ptxbench/judge/quarantine.h"

#include <algorithm>
#include <filesystem>

#include "ptxbench/base/file.h"
#include "ptxbench/toolchain/build.h"

namespace ptxbench::judge {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return toolchain::default_cache_folder() / "quarantine"; }

}  // namespace

void quarantine(const std::string& card, const std::string& why) {
  std::error_code ignored;
  fs::create_directories(folder(), ignored);
  static_cast<void>(write_file_atomic(folder() / card, why));
}

Status check_quarantine(const std::string& card) {
  const auto note = read_file(folder() / card);
  if (!note) return {};
  return fail(ErrorKind::kUnavailable, "the GPU is quarantined since it failed its health check: " + *note,
              "see that it works, then: ptxbench doctor --clear-quarantine");
}

std::vector<Quarantined> quarantined_cards() {
  std::vector<Quarantined> cards;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder(), ignored))
    cards.push_back({entry.path().filename().string(), read_file(entry.path()).value_or("")});
  std::ranges::sort(cards, {}, &Quarantined::card);
  return cards;
}

int clear_quarantine() {
  const auto cards = static_cast<int>(quarantined_cards().size());
  std::error_code ignored;
  fs::remove_all(folder(), ignored);
  return cards;
}

}  // namespace ptxbench::judge
