// ptxbench doctor: every tool and library, found or missed, what it is for, how to get it, and what works without it.
#include <fmt/format.h>

#include <thread>

#include "ptxbench/cli/command.h"
#include "ptxbench/cli/inventory.h"
#include "ptxbench/judge/gpu_station.h"
#include "ptxbench/judge/quarantine.h"
#include "ptxbench/judge/runner.h"
#include "ptxbench/judge/suite.h"
#include "ptxbench/judge/tool_runs.h"
#include "ptxbench/toolchain/locate.h"

namespace ptxbench::cli {
namespace {

using schema::Piece;
using schema::PieceState;

constexpr char kParts[] = "Parts of ptxbench", kGpus[] = "GPUs", kTools[] = "Tools for work on a GPU";

Piece begin(const char* group, std::string name, std::string purpose) {
  Piece piece;
  piece.group = group;
  piece.name = std::move(name);
  piece.purpose = std::move(purpose);
  return piece;
}

Piece found(Piece piece, const std::filesystem::path& path, std::string version = {}) {
  piece.state = PieceState::kFound;
  piece.path = path.string();
  piece.version = std::move(version);
  return piece;
}

Piece not_found(Piece piece, PieceState state, const Error& error) {
  piece.state = state;
  piece.problem = error.message;
  piece.how_to_get = error.hint;
  piece.notes = error.notes;
  return piece;
}

Piece piece_of(const toolchain::Tool& tool) {
  Piece piece = begin("Tools and headers", tool.name, tool.purpose);
  if (tool.found) return found(std::move(piece), tool.path, tool.version);
  piece.state = tool.required ? PieceState::kMissing : PieceState::kAbsent;
  piece.problem = tool.problem;
  piece.how_to_get = tool.how_to_get;
  piece.without = tool.without;
  return piece;
}

void add_parts(std::vector<Piece>& pieces) {
  judge::RunRequest programs;
  if (auto located = judge::locate_programs(programs)) {
    pieces.push_back(found(begin(kParts, "device-emu", "the emulated GPU"), programs.device_program));
    pieces.push_back(found(begin(kParts, "host", "runs a candidate's host code"), programs.host_program));
    pieces.push_back(found(begin(kParts, "shim", "the CUDA runtime that it gets"), programs.shim_folder));
  } else {
    pieces.push_back(not_found(begin(kParts, "programs", "run candidates"), PieceState::kMissing, located.error()));
  }
  Piece suites = begin(kParts, "suites", "the tasks");
  if (auto folder = judge::default_suite_folder())
    pieces.push_back(found(std::move(suites), *folder));
  else
    pieces.push_back(not_found(std::move(suites), PieceState::kMissing, folder.error()));
}

// In a process of its own: what opening a broken library does stays there.
Result<std::vector<Piece>> probe(const judge::DeviceProgram& gpu) {
  PTXBENCH_TRY(const Finished answer, judge::ask_device_program(gpu, {"--probe", "--json"}));
  if (answer.exit.how != Ending::kExited || answer.out.bytes.empty()) {
    Error error{ErrorKind::kUnavailable, "ptxbench-device-gpu --probe " + answer.exit.describe(), {}, {}, {}};
    if (!answer.err.bytes.empty()) error.notes = {answer.err.bytes};
    error.hint = "run it by hand: one of NVIDIA's libraries may be broken";
    return fail(std::move(error));
  }
  PTXBENCH_TRY(schema::Inventory inventory,
               schema::inventory_from_json(answer.out.bytes, "ptxbench-device-gpu --probe"));
  return std::move(inventory.pieces);
}

void add_gpus(std::vector<Piece>& pieces) {
  for (const judge::Quarantined& card : judge::quarantined_cards()) {
    Piece piece = begin(kGpus, "in quarantine", "GPU " + card.card + ", after a failed health check");
    piece.problem = card.why;
    piece.how_to_get = "see that it works, then: ptxbench doctor --clear-quarantine";
    piece.without = "everything, on other GPUs and on the emulator";
    pieces.push_back(std::move(piece));
  }
  Piece process = begin(kGpus, "device-gpu", "the process that drives a GPU");
  process.without = "everything that the emulator does";
  const auto program = judge::gpu_program(0);
  if (!program) return pieces.push_back(not_found(std::move(process), PieceState::kAbsent, program.error()));
  auto probed = probe(*program);
  if (!probed) return pieces.push_back(not_found(std::move(process), PieceState::kAbsent, probed.error()));
  process.without.clear();
  pieces.push_back(found(std::move(process), program->program));
  for (Piece& piece : *probed) pieces.push_back(std::move(piece));
}

struct GpuTool {
  const char *name, *purpose, *how_to_get, *without;
};
constexpr GpuTool kGpuTools[] = {
    {"compute-sanitizer", "eval --sanitize",
     "a CUDA toolkit, or package cuda-sanitizer-13-0 of NVIDIA's repository; the wheel nvidia-cuda-sanitizer-api has "
     "it in "
     "nvidia/cu13/bin, which must then be on PATH",
     "all but --sanitize; the emulator names out-of-bounds accesses and deadlocks by itself"},
    {"ncu", "eval --audit: a second count of the instructions",
     "a CUDA toolkit, or package cuda-nsight-compute-13-0 of NVIDIA's repository", "all but --audit"},
};

void add_tools(std::vector<Piece>& pieces) {
  for (const GpuTool& tool : kGpuTools) {
    Piece piece = begin(kTools, tool.name, tool.purpose);
    const auto path = judge::locate_cuda_tool(tool.name);
    if (path) {
      const auto version = toolchain::tool_version(*path, "Version ");
      piece = found(std::move(piece), *path, version.value_or(""));
      if (!version) piece.notes.push_back(version.error().message);
    } else {
      piece.problem = path.error().message;
      piece.how_to_get = tool.how_to_get;
      piece.without = tool.without;
    }
    pieces.push_back(std::move(piece));
  }
}

schema::Inventory take_stock() {
  schema::Inventory inventory;
  for (const toolchain::Tool& tool : toolchain::locate_all()) inventory.pieces.push_back(piece_of(tool));
  add_parts(inventory.pieces);
  Piece emulator =
      begin("Emulated GPU", "emulator", fmt::format("{} host threads", std::thread::hardware_concurrency()));
  emulator.state = PieceState::kFound;
  inventory.pieces.push_back(std::move(emulator));
  add_gpus(inventory.pieces);
  add_tools(inventory.pieces);
  return inventory;
}

int doctor(bool json) {
  const schema::Inventory inventory = take_stock();
  const int missing = inventory.missing();
  if (json)
    fmt::print("{}", to_json(inventory));
  else
    fmt::print("{}{}\n", render(inventory),
               missing == 0 ? "Everything that is needed is here."
                            : fmt::format("{} needed piece{} missing.", missing, missing == 1 ? " is" : "s are"));
  return missing == 0 ? kExitPassed : kExitInfrastructure;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* command = add_command(app, "doctor", "Names every tool and library that was found or missed, and every GPU",
                                  "ptxbench doctor");
  auto clear = std::make_shared<bool>(false);
  auto json = std::make_shared<bool>(false);
  command->add_flag("--clear-quarantine", *clear, "Take GPUs back that failed their health check after a hang");
  command->add_flag("--json", *json, "Print the record ptxbench.inventory.v1");
  command->callback([&exit_code, clear, json] {
    if (*clear) fmt::print(stderr, "{} GPUs taken back\n", judge::clear_quarantine());
    exit_code = doctor(*json);
  });
}

}  // namespace ptxbench::cli
