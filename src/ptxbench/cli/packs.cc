// ptxbench packs: the knowledge packs, their levels, files and sizes; or the text of one level.
#include "ptxbench/agent/packs.h"

#include <fmt/format.h>

#include "ptxbench/cli/command.h"

namespace ptxbench::cli {
namespace {

using agent::PackFile;
using agent::PackLevel;
using agent::PackPrompt;
using agent::PackSet;
using agent::TargetPack;

struct Options {
  std::string target, level;
  bool json = false;
};

constexpr const char* kRecount = "a count is missing where a file changed: scripts/count_tokens";

Result<PackSet> load() {
  PTXBENCH_TRY(const std::filesystem::path folder, agent::default_pack_folder());
  return agent::load_packs(folder);
}

std::string count_text(std::optional<int> tokens) { return tokens ? fmt::format("{}", *tokens) : "?"; }

void list(const PackSet& set) {
  bool missing = false;
  for (const TargetPack& pack : set.targets) {
    fmt::print("{}\n", pack.target);
    int total = 0;
    for (const PackLevel& level : pack.levels) {
      const auto tokens = level.tokens();
      missing = missing || !tokens;
      total += tokens.value_or(0);
      fmt::print("  {} {:<46} +{:>6} = {:>6} tokens\n", level.name, level.title, count_text(tokens),
                 missing ? "?" : fmt::format("{}", total));
      for (const PackFile& file : level.files)
        fmt::print("     {:<62} {:>6}{}\n", file.path,
                   file.kind == PackFile::Kind::kSupport ? "" : count_text(file.tokens),
                   file.kind == PackFile::Kind::kSupport ? "  found by the compiler, not shown" : "");
    }
  }
  fmt::print("\nTokens as counted by {}.{}\nptxbench packs TARGET LEVEL prints the text.\n", set.tokenizer,
             missing ? fmt::format(" {}.", kRecount) : "");
}

int packs(const Options& options) {
  auto set = load();
  if (!set) return report(set.error());
  if (options.target.empty()) {
    if (options.json)
      fmt::print("{}\n", agent::to_json(*set));
    else
      list(*set);
    return kExitPassed;
  }
  if (options.level.empty())
    return report(Error{ErrorKind::kInvalidInput, "a target without a level", "ptxbench packs hopper L2", {}, {}});
  auto prompt = set->prompt(options.target, options.level);
  if (!prompt) return report(prompt.error());
  fmt::print("{}", prompt->text);
  return kExitPassed;
}

}  // namespace

void add_packs(CLI::App& app, int& exit_code) {
  CLI::App* command =
      add_command(app, "packs", "Lists the knowledge packs for prompts, or prints the text of one level",
                  "ptxbench packs hopper L3");
  auto options = std::make_shared<Options>();
  command->add_option("TARGET", options->target, "hopper or blackwell; none: list all");
  command->add_option("LEVEL", options->level, "L0 to L4; a level has everything of those below");
  command->add_flag("--json", options->json, "List as a JSON record, ptxbench.packs.v1");
  command->callback([&exit_code, options] { exit_code = packs(*options); });
}

}  // namespace ptxbench::cli
