// ptxbench import-paper: results of the PTXBench paper as a folder for `ptxbench report`.
#include "ptxbench/report/import_paper.h"

#include <fmt/format.h>

#include <set>

#include "ptxbench/cli/command.h"

namespace ptxbench::cli {
namespace {

namespace fs = std::filesystem;

Status import_folders(const std::vector<fs::path>& from, const std::string& to) {
  PTXBENCH_TRY(schema::ObservationsFolder made, schema::ObservationsFolder::create(to));
  PTXBENCH_TRY(const schema::Observations data,
               report::import_paper(from, [&](std::uint32_t trajectory, const schema::Transcript& transcript) {
                 return made.add(trajectory, transcript);
               }));
  PTXBENCH_TRY_STATUS(made.finish(data));
  std::set<std::string> runs;
  for (const schema::Cell& cell : data.cells) runs.insert(cell.run);
  fmt::print("{}: {} runs, {} trajectories, {} turns\n", to, runs.size(), data.trajectories.size(), data.turns.size());
  return {};
}

}  // namespace

void add_import_paper(CLI::App& app, int& exit_code) {
  CLI::App* command =
      add_command(app, "import-paper", "Reads results of the PTXBench paper: public tables, run folders",
                  "ptxbench import-paper data/paper --out paper-run");
  struct Folders {
    std::vector<fs::path> from;
    std::string to;
  };
  auto folders = std::make_shared<Folders>();
  command
      ->add_option("DIR", folders->from,
                   "The folder with the CSV files (plain or gzipped), run folders of the paper's implementation "
                   "(plan.json and trajectories/), or folders that hold some")
      ->required();
  command->add_option("--out", folders->to, "New folder, for `ptxbench report`")->required();
  command->callback([&exit_code, folders] {
    const Status done = import_folders(folders->from, folders->to);
    exit_code = done ? kExitPassed : report(done.error());
  });
}

}  // namespace ptxbench::cli
