// One sandboxed nvcc run in a folder that is already there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/toolchain/build.h"
#include "ptxbench/toolchain/locate.h"

namespace ptxbench::toolchain {

struct Compiled {
  bool ok = false;
  std::string failure;               // not ok: the reason when it is not in the log: out of time, out of memory
  std::string log;                   // as printed
  std::string ptx, cubin;            // of this compilation; ptx is there also when only ptxas failed
  std::vector<std::string> fatbins;  // the containers that went into the library
  double seconds = 0;
  SandboxKind sandbox = SandboxKind::kNone;
};

// The compiler line for people and for the cache's key; paths of this machine are not part of it.
std::vector<std::string> compiler_options(schema::GpuTarget target);

// Writes folder/kernel.cu (the source behind a #line with the author's name) and, if it compiles, folder/kernel.so.
// Errors: no sandbox, disk full, compiler crashed by itself (kUnavailable).
// Of the request: target, include folders, limits, sandbox.
Result<Compiled> compile(const std::string& source, const std::string& name, const BuildRequest& request,
                         const Toolkit& toolkit, const std::filesystem::path& folder);

}  // namespace ptxbench::toolchain
