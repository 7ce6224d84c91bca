// What every subcommand shares. A subcommand is one file with one function that adds it to the program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "ptxbench/base/result.h"

namespace ptxbench::cli {

// Exit codes of every command.
inline constexpr int kExitPassed = 0;          // done; for eval: passed in every layer that was measured
inline constexpr int kExitFailed = 1;          // the candidate failed
inline constexpr int kExitUsage = 2;           // bad usage or input
inline constexpr int kExitInfrastructure = 3;  // this machine failed: no compiler, disk full, device ill

void add_eval(CLI::App& app, int& exit_code);
void add_tasks(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_emulate(CLI::App& app, int& exit_code);
void add_packs(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_serve_report(CLI::App& app, int& exit_code);
void add_import_paper(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_models(CLI::App& app, int& exit_code);

// "gpu:N", as an option's value.
CLI::Validator gpu_name();

// Prints the error to stderr and gives the exit code that its kind asks for.
int report(const Error& error);

// A subcommand with its help: what it does, then an example (every command shows one).
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& example);

}  // namespace ptxbench::cli
