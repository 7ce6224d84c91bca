// Files: whole-file reads with a limit, atomic writes, temporary folders that remove themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "ptxbench/base/result.h"

namespace ptxbench {

// The bytes of a regular file. kNotFound, kTooLarge (over max_bytes) or kUnavailable, each naming the path.
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes = std::uint64_t{1} << 30);

// Writes beside the target, fsyncs, renames: readers see the old file or the new one, also after kill -9.
Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes);

// A folder under $TMPDIR (or /tmp), removed with its contents by the destructor. The name carries the owner's process id,
// so that remove_stale_temp_dirs() can clear what a killed process left.
class TempDir {
 public:
  static Result<TempDir> create(std::string_view prefix = "ptxbench");
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Removes this user's temporary folders of processes that no longer exist. Best effort.
void remove_stale_temp_dirs();

// Removes the live TempDirs of this process; for the way out on a signal (interrupt.h).
void remove_live_temp_dirs();

}  // namespace ptxbench
