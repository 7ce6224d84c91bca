// Answer<T>: what a device gives back, a value or a Failure with its CUDA error number.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "ptxbench/wire/messages.h"

namespace ptxbench::wire {

// Why a request was not carried out. `call` is set when an unsupported feature was refused by name.
struct Failure {
  Code code = Code::kUnknown;
  std::string message;
  std::string call;
};

template <class T>
using Answer = tl::expected<T, Failure>;

inline tl::unexpected<Failure> refuse(Code code, std::string message, std::string call = {}) {
  return tl::unexpected<Failure>(Failure{code, std::move(message), std::move(call)});
}

}  // namespace ptxbench::wire
