// ptxbench-host: loads one candidate library and calls its entry once. Started by the judge inside the sandbox with two
// sockets: orders (argument --orders-fd) and the device (PTXBENCH_DEVICE_FD, read by the CUDA shim). It locks itself
// before the first instruction of the candidate runs. Everything after that is the candidate's process: what it reports
// is a claim.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "ptxbench/base/sandbox.h"
#include "ptxbench/cli/tvm_ffi_abi.h"
#include "ptxbench/wire/connection.h"
#include "ptxbench/wire/host_orders.h"

namespace {

using namespace ptxbench;

constexpr std::size_t kMaxErrorText = 8192;

bool send(wire::Connection& judge, wire::HostMessage type, const std::string& payload) {
  wire::Header header;
  header.type = static_cast<std::uint16_t>(type);
  return judge.send(header, payload);
}

bool receive_orders(wire::Connection& judge, wire::HostOrders& orders) {
  wire::Header header;
  std::string payload;
  return judge.receive(header, payload, wire::kMaxHostPayload) == wire::Connection::Receive::kMessage &&
         header.type == static_cast<std::uint16_t>(wire::HostMessage::kOrders) && wire::decode(payload, orders);
}

// The arguments of the call and what they point at.
struct Call {
  std::deque<tvm::DLTensor> tensors;
  std::deque<std::vector<std::int64_t>> strides;
  std::vector<tvm::Any> args;
};

void add_argument(Call& call, wire::HostArgument& argument) {
  tvm::Any any{};
  switch (argument.kind) {
    case wire::ArgumentKind::kTensor: {
      std::vector<std::int64_t>& strides = call.strides.emplace_back(argument.shape.size(), 1);
      for (std::size_t i = argument.shape.size(); i-- > 1;) strides[i - 1] = strides[i] * argument.shape[i];
      tvm::DLTensor& tensor = call.tensors.emplace_back();
      tensor = {reinterpret_cast<void*>(argument.address),
                2,
                0,
                static_cast<std::int32_t>(argument.shape.size()),
                argument.code,
                argument.bits,
                argument.lanes,
                argument.shape.data(),
                strides.data(),
                0};
      any.type_index = tvm::kDLTensorPtr;
      any.pointer = &tensor;
      break;
    }
    case wire::ArgumentKind::kInt: any.type_index = tvm::kInt, any.integer = argument.integer; break;
    case wire::ArgumentKind::kBool: any.type_index = tvm::kBool, any.integer = argument.integer != 0; break;
    case wire::ArgumentKind::kFloat: any.type_index = tvm::kFloat, any.real = argument.real; break;
    case wire::ArgumentKind::kNone: any.type_index = tvm::kNone; break;
  }
  call.args.push_back(any);
}

wire::HostResult run(wire::HostOrders& orders) {
  wire::HostResult result;
  void* library = ::dlopen(orders.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    result.error_text = ::dlerror();
    return result;
  }
  const auto entry = reinterpret_cast<tvm::SafeCall>(::dlsym(library, orders.symbol.c_str()));
  if (entry == nullptr) {
    result.error_text = "the library exports no '" + orders.symbol + "'";
    return result;
  }
  result.loaded = true;
  Call call;
  for (wire::HostArgument& argument : orders.arguments) add_argument(call, argument);
  tvm::Any returned{};
  // A candidate may throw anything through its C interface; that is its outcome, not our end.
  try {
    result.return_code = entry(nullptr, call.args.data(), static_cast<std::int32_t>(call.args.size()), &returned);
    if (result.return_code != 0) result.error_text = tvm::raised_error();
  } catch (const std::exception& error) {
    result.return_code = -1;
    result.error_text = std::string("uncaught C++ exception: ") + error.what();
  } catch (...) {
    result.return_code = -1;
    result.error_text = "uncaught C++ exception of an unknown type";
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--orders-fd") != 0) {
    std::fputs(
        "ptxbench-host: loads a candidate for the judge; ptxbench starts it, it is not meant to be run by hand\n",
        stderr);
    return 2;
  }
  wire::Connection judge(std::atoi(argv[2]));
  wire::HostOrders orders;
  if (!receive_orders(judge, orders)) {
    std::fputs("ptxbench-host: no orders on --orders-fd\n", stderr);
    return 2;
  }
  if (Status locked = apply_candidate_seccomp(); !locked) {
    std::fprintf(stderr, "ptxbench-host: %s\n", locked.error().format().c_str());
    return 3;
  }
  if (!send(judge, wire::HostMessage::kReady, {})) return 3;
  wire::HostResult result = run(orders);
  if (result.error_text.size() > kMaxErrorText) result.error_text.resize(kMaxErrorText);
  std::fflush(nullptr);
  send(judge, wire::HostMessage::kResult, wire::encode(result));
  // No destructors and exit handlers of the candidate: its turn is over.
  ::_exit(0);
}
