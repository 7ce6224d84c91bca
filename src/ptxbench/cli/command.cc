#include "ptxbench/cli/command.h"

#include <fmt/format.h>

namespace ptxbench::cli {

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
