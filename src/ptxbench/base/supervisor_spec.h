// What subprocess.cc tells the supervisor program, and what that answers. Both are lists of "key=value" records, each
// ended by a NUL byte: the first in a memory file, the second as one packet each on a socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/base/subprocess.h"

namespace ptxbench::supervisor {

// Descriptors of the supervisor itself. Payload descriptors are 0-2, 3..99 and kSandboxControlFd.
inline constexpr int kSpecFd = 201;
inline constexpr int kChannelFd = 202;

struct Spec {
  std::vector<std::string> argv, environment;
  std::string working_folder;
  std::vector<int> inherited;  // numbers to keep open in the payload
  std::optional<SandboxPolicy> sandbox;
};

std::string encode(const Spec& spec);
Result<Spec> decode(std::string_view bytes);

// Packets from the supervisor.
struct Started {  // the payload runs
  SandboxKind sandbox = SandboxKind::kNone;
};
std::string encode_started(const Started& started);
std::string encode_error(const Error& error);
std::string encode_exit(const Exit& exit);

Result<Started> decode_started(std::string_view packet);  // an error packet becomes the Error
Result<Exit> decode_exit(std::string_view packet);

}  // namespace ptxbench::supervisor
