// What kernels print: the driver writes it to this process's stdout when it synchronises, so that goes to a file in
// memory.
#pragma once

#include <string>

namespace ptxbench::gpu {

class PrintfCapture {
 public:
  static constexpr long kMostBytes = 4 << 20;  // between two calls of take(); what is over is lost

  // Stdout of the whole process, from here on. On failure nothing is captured and stdout stays what it was.
  PrintfCapture();
  ~PrintfCapture();
  PrintfCapture(const PrintfCapture&) = delete;
  PrintfCapture& operator=(const PrintfCapture&) = delete;

  // What was printed since the last call, at most `limit` bytes of it.
  std::string take(std::size_t limit);

 private:
  int file_ = -1, saved_ = -1;
};

}  // namespace ptxbench::gpu
