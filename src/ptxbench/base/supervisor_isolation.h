// The supervisor's own half of a sandbox: what it does to itself, and to the payload just before exec.
#pragma once

#include <sys/types.h>

#include "ptxbench/base/result.h"
#include "ptxbench/base/sandbox.h"

namespace ptxbench::supervisor {

// Exit status of a process that got its namespaces and then could not use them (AppArmor lets some systems create
// a user namespace, but not mount in it): the caller then takes the Landlock way.
inline constexpr int kNoNamespaces = 77;

// fork() into new user, mount, pid, network, IPC and UTS namespaces: 0 in the child, which is process 1 there.
Result<pid_t> fork_into_namespaces();

// In process 1: builds the file tree of the policy (paths already resolved) and makes it the root.
Status build_root(const SandboxPolicy& policy);

// Whether this kernel has Landlock, and the rules for the payload. Both paths and /dev/{null,zero,urandom}.
bool landlock_available();
Status restrict_with_landlock(const SandboxPolicy& policy);

// Gives up every capability for good; the payload then is an ordinary process of its user, also if that is root.
Status drop_capabilities();

// CPU time, address space, file size, open files, core dumps.
Status set_resource_limits(const SandboxLimits& limits);

}  // namespace ptxbench::supervisor
