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

// A folder that is filled beside its place and takes it in one step: readers see the old folder or the new one, also after
// kill -9. Removed with its contents if it never takes its place.
class PartialFolder {
 public:
  // Also removes what killed processes left beside the same place.
  static Result<PartialFolder> create(const std::filesystem::path& place);
  PartialFolder(PartialFolder&& other) noexcept;
  PartialFolder& operator=(PartialFolder&& other) = delete;
  ~PartialFolder();
  const std::filesystem::path& path() const { return path_; }  // fill this
  Status take_place();                                         // what stood there is removed

 private:
  PartialFolder(std::filesystem::path place, std::filesystem::path path)
      : place_(std::move(place)), path_(std::move(path)) {}
  std::filesystem::path place_, path_;
};

// Removes this user's temporary folders of processes that no longer exist. Best effort.
void remove_stale_temp_dirs();

// Removes the live TempDirs and PartialFolders of this process; for the way out on a signal (interrupt.h).
void remove_live_temp_dirs();

}  // namespace ptxbench
