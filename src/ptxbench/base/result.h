// Result<T>: a value or an Error. PTXBENCH_TRY propagates the Error.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "ptxbench/base/error.h"

namespace ptxbench {

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> fail(ErrorKind kind, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{kind, std::move(message), std::move(hint), {}, {}});
}

}  // namespace ptxbench

#define PTXBENCH_CONCAT_(a, b) a##b
#define PTXBENCH_CONCAT(a, b) PTXBENCH_CONCAT_(a, b)

// PTXBENCH_TRY(auto text, read_file(path)); returns the Error from the enclosing function, or binds the value.
#define PTXBENCH_TRY(declaration, expression) PTXBENCH_TRY_(declaration, expression, PTXBENCH_CONCAT(try_, __LINE__))
#define PTXBENCH_TRY_(declaration, expression, temporary)                \
  auto temporary = (expression);                                         \
  if (!temporary) return ::ptxbench::fail(std::move(temporary).error()); \
  declaration = std::move(*temporary)

// The same for a Status.
#define PTXBENCH_TRY_STATUS(expression)                                                             \
  do {                                                                                              \
    if (auto status_ = (expression); !status_) return ::ptxbench::fail(std::move(status_).error()); \
  } while (false)
