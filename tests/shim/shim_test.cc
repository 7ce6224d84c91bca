// CUDA programs of nvcc's against the shim and a device process with native kernels (fake_device.h).
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "compile.h"
#include "ptxbench/wire/emulate.h"

namespace ptxbench {
namespace {

namespace fs = std::filesystem;
const fs::path kPrograms = fs::path(PTXBENCH_SOURCE_DIR) / "tests/shim/programs";
const fs::path kShim = fs::path(PTXBENCH_BINARY_DIR) / "lib/ptxbench/shim";

struct Ran {
  wire::EmulateOutcome outcome;
  std::string output;
};

// Runs a program with its stdout in a file.
Ran run_program(const fs::path& program, const fs::path& folder, const char* device = "ptxbench-device-fake") {
  Ran ran;
  wire::EmulateRequest request;
  const fs::path out = folder / "stdout";
  request.argv = {"/bin/sh", "-c", "exec \"$0\" > \"$1\"", program.string(), out.string()};
  request.device_program = fs::path(PTXBENCH_BINARY_DIR) / "bin" / device;
  request.shim_folder = kShim;
  Result<wire::EmulateOutcome> outcome = wire::emulate(request);
  EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().format());
  if (outcome) ran.outcome = std::move(*outcome);
  ran.output = read_file(out).value_or("");
  return ran;
}

TEST(Shim, LaunchesOfEveryKindCarryTheirArguments) {
  PTXBENCH_NEEDS_NVCC();
  const TempDir folder = *TempDir::create();
  const fs::path program = folder.path() / "launches";
  ASSERT_TRUE(compile(kPrograms / "launches.cu", program, {"-L" + kShim.string(), "-l:libcuda.so.1"}));
  const Ran ran = run_program(program, folder.path());
  EXPECT_EQ(ran.outcome.exit_code, 0) << ran.output;
  EXPECT_EQ(ran.output.find("BAD"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("arguments 1\n"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("unknown attribute 801\n"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("encode 0 linked the same 1\n"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("im2col 801\n"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("graph 801 cudaErrorNotSupported\n"), std::string::npos) << ran.output;

  const wire::RunReply& report = ran.outcome.report;
  std::vector<std::string> refused;
  for (const wire::Refusal& refusal : report.refusals) refused.push_back(refusal.call);
  EXPECT_EQ(refused, (std::vector<std::string>{"cudaLaunchKernelEx", "cuTensorMapEncodeIm2col", "cudaGraphCreate"}));
  ASSERT_EQ(report.launches.size(), 10u);
  EXPECT_EQ(report.launches[1].geometry.grid, (wire::Dim3{2, 3, 4}));
  EXPECT_EQ(report.launches[1].geometry.block, (wire::Dim3{8, 4, 2}));
  EXPECT_EQ(report.launches[1].geometry.dynamic_shared, 128u);
  EXPECT_TRUE(report.launches[3].geometry.cooperative);
  EXPECT_EQ(report.launches[4].geometry.cluster, (wire::Dim3{4, 1, 1}));
  EXPECT_TRUE(report.launches[4].geometry.programmatic_serialization);
  EXPECT_NE(report.commands[4].kind, wire::CommandKind::kAlloc);
}

TEST(Shim, AProgramWithoutADeviceIsToldWhatToDo) {
  PTXBENCH_NEEDS_NVCC();
  const TempDir folder = *TempDir::create();
  const fs::path program = folder.path() / "attributes";
  ASSERT_TRUE(compile(kPrograms / "attributes.cu", program));
  Command command;
  command.argv = {program.string()};
  command.environment = {"LD_LIBRARY_PATH=" + kShim.string()};
  command.stdout_to = OutputTo::capture();
  const Result<Finished> finished = run(command);
  ASSERT_TRUE(finished);
  EXPECT_NE(finished->out.bytes.find("attribute 1 error 3"), std::string::npos);  // cudaErrorInitializationError
}

// Line by line what a real H200 says of itself, except for memory size (ours is the emulator's), PCI ids, pool and clock
// facts of the card and the machine.
TEST(Shim, DeviceFactsEqualAnH200s) {
  PTXBENCH_NEEDS_NVCC();
  const TempDir folder = *TempDir::create();
  const fs::path program = folder.path() / "attributes";
  ASSERT_TRUE(compile(kPrograms / "attributes.cu", program));
  const Ran ran = run_program(program, folder.path());
  EXPECT_EQ(ran.outcome.exit_code, 0);
  std::istringstream got(ran.output), want(*read_file(kPrograms / "attributes.expected"));
  const std::set<std::string> ours{"totalGlobalMem", "attribute 33", "attribute 34"};
  std::string a, b;
  int lines = 0;
  while (std::getline(want, b)) {
    ASSERT_TRUE(std::getline(got, a)) << "nothing for: " << b;
    const bool skip =
        std::any_of(ours.begin(), ours.end(), [&](const std::string& name) { return b.starts_with(name + " "); });
    if (!skip) {
      EXPECT_EQ(a, b);
    }
    ++lines;
  }
  EXPECT_GT(lines, 200);
}

// The names that a library exports, without versions.
std::set<std::string> exports(const fs::path& library) {
  std::set<std::string> names;
  const std::string bytes = read_file(library).value_or("");
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return names;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, strings;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_DYNSYM) continue;
    std::memcpy(&strings, bytes.data() + header.e_shoff + section.sh_link * sizeof strings, sizeof strings);
    for (std::uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes.data() + section.sh_offset + at, sizeof symbol);
      if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) {
        names.insert(bytes.data() + strings.sh_offset + symbol.st_name);
      }
    }
  }
  return names;
}

TEST(Shim, ExportsEveryFunctionOfTheRealLibraries) {
  for (const auto& [library, table] :
       {std::pair{"libcudart.so.13", "cudart_names.def"}, {"libcuda.so.1", "cuda_names.def"}}) {
    const std::set<std::string> ours = exports(kShim / library);
    std::istringstream names(*read_file(fs::path(PTXBENCH_SOURCE_DIR) / "src/ptxbench/shim" / table));
    std::string line;
    std::size_t count = 0;
    while (std::getline(names, line)) {
      if (!line.starts_with("PTXBENCH_API(")) continue;
      const std::string name = line.substr(13, line.find(')') - 13);
      EXPECT_TRUE(ours.contains(name)) << library << " lacks " << name;
      ++count;
    }
    EXPECT_GT(count, 400u);
    // Nothing else leaks out but the link between the two libraries.
    for (const std::string& name : ours) {
      EXPECT_TRUE(name.starts_with("cu") || name.starts_with("__cuda") || name.starts_with("ptxbench_shim_")) << name;
    }
  }
}

TEST(Shim, NamesAreThoseOfTheToolkit) {
  PTXBENCH_NEEDS_NVCC();
  const fs::path root = fs::canonical(*find_nvcc()).parent_path().parent_path();
  fs::path real;
  for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
    if (fs::exists(root / folder / "libcudart.so.13")) real = root / folder / "libcudart.so.13";
  }
  if (real.empty()) GTEST_SKIP() << "no libcudart.so.13 beside nvcc";
  const std::set<std::string> ours = exports(kShim / "libcudart.so.13");
  for (const std::string& name : exports(real)) EXPECT_TRUE(ours.contains(name)) << name;
}

TEST(Shim, StructuresAreThoseOfTheToolkit) {
  PTXBENCH_NEEDS_NVCC();
  const TempDir folder = *TempDir::create();
  EXPECT_TRUE(compile(fs::path(PTXBENCH_SOURCE_DIR) / "tests/shim/abi_test.cu", folder.path() / "abi",
                      {"-I", (fs::path(PTXBENCH_SOURCE_DIR) / "src").string()}));
}

}  // namespace
}  // namespace ptxbench
