#include "ptxbench/agent/event_writer.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace ptxbench::agent {
namespace {

tl::unexpected<Error> fail_errno(const char* doing, const std::filesystem::path& file) {
  const int code = errno;
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {} '{}': {}", doing, file.string(), std::strerror(code)),
              code == ENOSPC ? "free some disk space, then go on with ptxbench run --resume" : "");
}

Status sync_folder(const std::filesystem::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) return fail_errno("make durable", folder);
  return {};
}

}  // namespace

Result<EventWriter> EventWriter::open(const std::filesystem::path& file, std::uint64_t whole_bytes) {
  UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (fd.get() < 0) return fail_errno("open", file);
  if (::ftruncate(fd.get(), static_cast<off_t>(whole_bytes)) != 0) return fail_errno("cut", file);
  if (::lseek(fd.get(), 0, SEEK_END) < 0) return fail_errno("seek in", file);
  PTXBENCH_TRY_STATUS(sync_folder(file.parent_path()));
  return EventWriter(file, std::move(fd), whole_bytes);
}

Status EventWriter::append(const schema::Event& event) {
  const std::string line = schema::to_json(event) + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t put = ::write(fd_.get(), line.data() + done, line.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      auto error = fail_errno("write", file_);
      // Best effort: the reader leaves an unfinished last line out in any case.
      if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) == 0) ::lseek(fd_.get(), 0, SEEK_END);
      return error;
    }
    done += static_cast<std::size_t>(put);
  }
  if (::fdatasync(fd_.get()) != 0) return fail_errno("write", file_);
  bytes_ += line.size();
  return {};
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03d}Z", fmt::gmtime(static_cast<std::time_t>(milliseconds / 1000)),
                     milliseconds % 1000);
}

}  // namespace ptxbench::agent
