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

TempDir::~TempDir() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  std::lock_guard lock(live_temp_dirs().mutex);
  live_temp_dirs().paths.erase(path_);
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
    pid_t owner = 0;
    const char* begin = name.data() + std::strlen("ptxbench.");
    if (std::from_chars(begin, name.data() + name.size(), owner).ec != std::errc{} || owner <= 0) continue;
    if (::kill(owner, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace ptxbench
