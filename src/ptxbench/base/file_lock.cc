#include "ptxbench/base/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

namespace ptxbench {
namespace {

tl::unexpected<Error> fail_errno(const char* doing, const std::filesystem::path& path, int code) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {} '{}': {}", doing, path.string(), std::strerror(code)));
}

Result<UniqueFd> open_file(const std::filesystem::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return fail_errno("open", path, errno);
  return fd;
}

// 0, or an error number: EWOULDBLOCK when somebody else holds it.
int lock(const UniqueFd& fd, LockKind kind, int more) {
  while (::flock(fd.get(), (kind == LockKind::kShared ? LOCK_SH : LOCK_EX) | more) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

}  // namespace

Result<UniqueFd> lock_file(const std::filesystem::path& path, LockKind kind) {
  PTXBENCH_TRY(UniqueFd fd, open_file(path));
  if (const int code = lock(fd, kind, 0); code != 0) return fail_errno("lock", path, code);
  return fd;
}

Result<std::optional<UniqueFd>> try_lock_file(const std::filesystem::path& path, LockKind kind) {
  PTXBENCH_TRY(UniqueFd fd, open_file(path));
  const int code = lock(fd, kind, LOCK_NB);
  if (code == EWOULDBLOCK) return std::nullopt;
  if (code != 0) return fail_errno("lock", path, code);
  return fd;
}

}  // namespace ptxbench
