#include "ptxbench/judge/turn.h"

#include <filesystem>

#include "ptxbench/base/file_lock.h"
#include "ptxbench/toolchain/build.h"

namespace ptxbench::judge {

Result<UniqueFd> take_turn(const std::string& card, const std::function<void()>& waiting) {
  const std::filesystem::path folder = toolchain::default_cache_folder() / "turns";
  std::error_code ignored;  // opening the file says what is wrong
  std::filesystem::create_directories(folder, ignored);
  PTXBENCH_TRY(std::optional<UniqueFd> turn, try_lock_file(folder / card, LockKind::kExclusive));
  if (turn) return std::move(*turn);
  if (waiting) waiting();
  return lock_file(folder / card, LockKind::kExclusive);
}

}  // namespace ptxbench::judge
