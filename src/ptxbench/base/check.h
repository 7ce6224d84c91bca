// PTXBENCH_CHECK: our own assumptions. A failure throws InternalError, which only process and thread roots catch.
// No user input may reach a failing check.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace ptxbench {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void internal_error(const char* file, int line, const char* condition, const std::string& what) {
  throw InternalError(fmt::format("{}:{}: internal error: {} ({})", file, line, what, condition));
}

}  // namespace ptxbench

#define PTXBENCH_CHECK(condition, ...)                                                        \
  do {                                                                                        \
    if (!(condition)) [[unlikely]]                                                            \
      ::ptxbench::internal_error(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
