// Locks between processes: flock(2) on a file, which is made where it is missing and stays. Held until the descriptor closes,
// so kill -9 leaves nothing locked. Two descriptors exclude each other in one process, too.
#pragma once

#include <filesystem>
#include <optional>

#include "ptxbench/base/result.h"
#include "ptxbench/base/unique_fd.h"

namespace ptxbench {

enum class LockKind { kShared, kExclusive };

// Waits for whoever holds it. kUnavailable: the file cannot be opened or locked.
Result<UniqueFd> lock_file(const std::filesystem::path& path, LockKind kind);
// Does not wait: none when somebody else holds it.
Result<std::optional<UniqueFd>> try_lock_file(const std::filesystem::path& path, LockKind kind);

}  // namespace ptxbench
