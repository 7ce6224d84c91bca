#include "ptxbench/cli/command.h"

#include <fmt/format.h>

#include "ptxbench/schema/device_name.h"

namespace ptxbench::cli {

CLI::Validator gpu_name() {
  // CLI11's convention: empty when it is well formed.
  return CLI::Validator(
      [](const std::string& text) {
        return schema::gpu_number(text) ? "" : fmt::format("'{}' is none of emu, gpu, gpu:N, ...", text);
      },
      "gpu:N");
}

int report(const Error& error) {
  fmt::print(stderr, "ptxbench: {}\n", error.format());
  switch (error.kind) {
    case ErrorKind::kInvalidInput:
    case ErrorKind::kNotFound:
    case ErrorKind::kUnsupported:
    case ErrorKind::kTooLarge: return kExitUsage;
    case ErrorKind::kTimeout:
    case ErrorKind::kUnavailable:
    case ErrorKind::kProtocol: return kExitInfrastructure;
  }
  return kExitInfrastructure;
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& example) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer("Example:\n  " + example);
  return command;
}

}  // namespace ptxbench::cli
