#include "ptxbench/gpu/output.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace ptxbench::gpu {

PrintfCapture::PrintfCapture() {
  file_ = ::memfd_create("kernel output", MFD_CLOEXEC);
  if (file_ < 0) return;
  std::fflush(stdout);
  saved_ = ::dup(STDOUT_FILENO);
  ::dup2(file_, STDOUT_FILENO);
}

PrintfCapture::~PrintfCapture() {
  if (file_ < 0) return;
  std::fflush(stdout);
  if (saved_ >= 0) {
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  ::close(file_);
}

std::string PrintfCapture::take(std::size_t limit) {
  std::fflush(stdout);
  struct stat info;
  if (file_ < 0 || ::fstat(file_, &info) != 0 || info.st_size == 0) return {};
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(info.st_size), limit), '\0');
  const ssize_t got = ::pread(file_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  // Stdout shares this offset, so what follows starts at the front again.
  if (::ftruncate(file_, 0) == 0) ::lseek(file_, 0, SEEK_SET);
  return text;
}

}  // namespace ptxbench::gpu
