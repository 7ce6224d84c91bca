// Runs ptxbench-device-gpu with its stand-alone options.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "ptxbench/base/subprocess.h"

namespace ptxbench::gpu {

inline Finished run_device(std::vector<std::string> options, std::vector<std::string> environment = {}) {
  Command command;
  command.argv = {PTXBENCH_BINARY_DIR "/bin/ptxbench-device-gpu"};
  command.argv.insert(command.argv.end(), options.begin(), options.end());
  command.environment = std::move(environment);
  command.stdout_to = command.stderr_to = OutputTo::capture();
  Result<Finished> finished = run(command, std::chrono::seconds(30));
  EXPECT_TRUE(finished) << finished.error().format();
  return finished ? std::move(*finished) : Finished{};
}

}  // namespace ptxbench::gpu
