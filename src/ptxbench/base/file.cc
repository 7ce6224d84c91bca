#include "ptxbench/base/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include <fmt/format.h>

namespace ptxbench {
namespace fs = std::filesystem;

namespace {

tl::unexpected<Error> fail_errno(const char* doing, const fs::path& path) {
  const int code = errno;
  const ErrorKind kind = code == ENOENT || code == ENOTDIR ? ErrorKind::kNotFound : ErrorKind::kUnavailable;
  return fail(kind, fmt::format("cannot {} '{}': {}", doing, path.string(), std::strerror(code)),
              code == ENOSPC ? "free some disk space or set TMPDIR to another disk" : "");
}

// The TempDirs that exist, for remove_live_temp_dirs(). Leaked on purpose: destructors of static TempDirs may run late.
struct LiveTempDirs {
  std::mutex mutex;
  std::set<fs::path> paths;
};
LiveTempDirs& live_temp_dirs() {
  static auto* live = new LiveTempDirs;
  return *live;
}

fs::path temp_root() {
  const char* root = std::getenv("TMPDIR");
  return root && *root ? root : "/tmp";
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::uint64_t max_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno("open", path);
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail_errno("examine", path);
  if (!S_ISREG(info.st_mode))
    return fail(ErrorKind::kInvalidInput, fmt::format("'{}' is not a regular file", path.string()));
  if (static_cast<std::uint64_t>(info.st_size) > max_bytes)
    return fail(ErrorKind::kTooLarge,
                fmt::format("'{}' has {} bytes, the limit is {}", path.string(), info.st_size, max_bytes));
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read", path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Status write_file_atomic(const fs::path& path, std::string_view bytes) {
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return fail_errno("create", temporary);
  ::fchmod(fd, 0644);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      auto error = fail_errno("write", temporary);
      ::close(fd);
      ::unlink(temporary.c_str());
      return error;
    }
    done += static_cast<std::size_t>(put);
  }
  const bool synced = ::fsync(fd) == 0;
  ::close(fd);
  if (!synced || ::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = fail_errno("write", path);
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

Result<TempDir> TempDir::create(std::string_view prefix) {
  std::string pattern = (temp_root() / fmt::format("{}.{}.XXXXXX", prefix, ::getpid())).string();
  if (!::mkdtemp(pattern.data())) return fail_errno("create a temporary folder", pattern);
  std::lock_guard lock(live_temp_dirs().mutex);
  live_temp_dirs().paths.insert(pattern);
  return TempDir(fs::path(pattern));
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

namespace {

// With its contents.
void remove_live(const fs::path& path) {
  if (path.empty()) return;
  std::error_code ignored;
  fs::remove_all(path, ignored);
  std::lock_guard lock(live_temp_dirs().mutex);
  live_temp_dirs().paths.erase(path);
}

// The process id at the beginning of `text` belongs to no process.
bool owner_is_gone(std::string_view text) {
  pid_t owner = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), owner).ec != std::errc{} || owner <= 0) return false;
  return ::kill(owner, 0) != 0 && errno == ESRCH;
}

}  // namespace

TempDir::~TempDir() { remove_live(path_); }

Result<PartialFolder> PartialFolder::create(const fs::path& named) {
  // "out/" means the folder out: what stands beside it must not stand in it.
  const fs::path place = named.has_filename() ? named : named.parent_path();
  const fs::path parent = place.has_parent_path() ? place.parent_path() : fs::path(".");
  const std::string prefix = place.filename().string() + ".partial-";
  std::error_code error;
  fs::create_directories(parent, error);
  if (error)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot create '{}': {}", parent.string(), error.message()));
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && owner_is_gone(std::string_view(name).substr(prefix.size())))
      fs::remove_all(entry.path(), error);
  }
  std::string pattern = (parent / fmt::format("{}{}.XXXXXX", prefix, ::getpid())).string();
  if (!::mkdtemp(pattern.data())) return fail_errno("create the folder", pattern);
  ::chmod(pattern.c_str(), 0755);  // mkdtemp() leaves it to this user alone
  std::lock_guard lock(live_temp_dirs().mutex);
  live_temp_dirs().paths.insert(pattern);
  return PartialFolder(place, pattern);
}

PartialFolder::PartialFolder(PartialFolder&& other) noexcept
    : place_(std::move(other.place_)), path_(std::exchange(other.path_, {})) {}

PartialFolder::~PartialFolder() { remove_live(path_); }

Status PartialFolder::take_place() {
  const unsigned flags = fs::exists(place_) ? RENAME_EXCHANGE : 0;
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, place_.c_str(), flags) != 0)
    return fail_errno("put a folder in place", place_);
  remove_live(std::exchange(path_, {}));  // after an exchange, what stood there
  return {};
}

void remove_live_temp_dirs() {
  std::lock_guard lock(live_temp_dirs().mutex);
  std::error_code ignored;
  for (const fs::path& path : live_temp_dirs().paths) fs::remove_all(path, ignored);
}

void remove_stale_temp_dirs() {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(temp_root(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("ptxbench.", 0) != 0) continue;
    struct stat info {};
    if (::lstat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) continue;
    if (owner_is_gone(std::string_view(name).substr(std::strlen("ptxbench.")))) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace ptxbench
