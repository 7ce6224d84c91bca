// The two system call filters of sandbox.h, built with libseccomp.
#pragma once

#include <cstdint>
#include <string>

#include "ptxbench/base/result.h"

namespace ptxbench::supervisor {

// Loads the filter of SandboxProfile::kCompiler into the calling process: a list of refused calls (EPERM).
Status load_compiler_filter();

// Loads the allow list of a locked candidate into the calling process. Returns the descriptor on which the kernel
// announces other calls, or -1 if this kernel cannot: such a call then kills the process with SIGSYS.
Result<int> load_candidate_filter();

// "clone (a new thread)" for a call that the kernel announced; bare_name gets "clone".
std::string describe_call(int number, const std::uint64_t args[6], std::string& bare_name);

// Reads one announcement from the descriptor and describes it. False when there was none (the caller has died).
bool receive_violation(int listener, std::string& description, std::string& bare_name);

}  // namespace ptxbench::supervisor
