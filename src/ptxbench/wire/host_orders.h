// What the judge tells a host process to do, and what that process says of it. On a socket of their own, in the framing
// of connection.h. The result is a claim of the candidate's process: outputs and launches come from the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptxbench/wire/codec.h"

namespace ptxbench::wire {

enum class HostMessage : std::uint16_t {
  kOrders = 200,  // judge -> host
  kReady = 201,   // host -> judge, empty: locked down, about to load the library
  kResult = 202,  // host -> judge
};
constexpr std::uint32_t kMaxHostPayload = 1u << 20;

enum class ArgumentKind : std::uint8_t { kTensor, kInt, kFloat, kBool, kNone };
constexpr bool in_range(ArgumentKind k) { return k <= ArgumentKind::kNone; }

struct HostArgument {
  ArgumentKind kind = ArgumentKind::kTensor;
  std::uint64_t address = 0;
  std::uint8_t code = 0, bits = 0;  // DLPack element type
  std::uint16_t lanes = 1;
  std::vector<std::int64_t> shape;
  std::int64_t integer = 0;
  double real = 0;
  template <class V>
  void fields(V& v) {
    v(kind, address, code, bits, lanes, shape, integer, real);
  }
};

struct HostOrders {
  std::string library;  // absolute path, as the host process sees it
  std::string symbol;   // "__tvm_ffi_run"
  std::vector<HostArgument> arguments;
  template <class V>
  void fields(V& v) {
    v(library, symbol, arguments);
  }
};

struct HostResult {
  bool loaded = false;
  std::int32_t return_code = 0;
  std::string error_text;
  template <class V>
  void fields(V& v) {
    v(loaded, return_code, error_text);
  }
};

}  // namespace ptxbench::wire
