#include "ptxbench/gpu/output.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace ptxbench::gpu {

// A file of fixed size: a kernel's "%100000000d" must not cost as much memory as it says.
PrintfCapture::PrintfCapture() {
  file_ = ::memfd_create("kernel output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file_ < 0) return;
  if (::ftruncate(file_, kMostBytes) != 0 || ::fcntl(file_, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    ::close(std::exchange(file_, -1));
    return;
  }
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
  if (file_ < 0) return {};
  std::fflush(stdout);
  ::__fpurge(stdout);                                 // what no longer fitted
  const off_t written = ::lseek(file_, 0, SEEK_CUR);  // stdout shares this offset
  if (written <= 0) return {};
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(written), limit), '\0');
  const ssize_t got = ::pread(file_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::lseek(file_, 0, SEEK_SET);
  return text;
}

}  // namespace ptxbench::gpu
