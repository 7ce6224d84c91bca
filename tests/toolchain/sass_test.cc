// Counts of a text in nvdisasm's format, and of real kernels. The expected numbers of the latter follow from their source:
// each asm statement stands in straight-line code and becomes one machine instruction (checked by hand with nvdisasm).
#include "ptxbench/toolchain/sass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ptxbench/base/file.h"
#include "ptxbench/base/subprocess.h"
#include "ptxbench/toolchain/inspect.h"
#include "ptxbench/toolchain/locate.h"
#include "ptxbench/toolchain/ptx_counts.h"
#include "tests/toolchain/test_support.h"

namespace ptxbench::toolchain {
namespace {

using testing::HasSubstr;

TEST(Sass, FamiliesOfOpcodes) {
  for (const char* opcode : {"HGMMA.64x256x16.F32.BF16", "QGMMA", "IGMMA.64x8x32", "BGMMA"})
    EXPECT_EQ(sass_family(opcode), "wgmma") << opcode;
  for (const char* opcode : {"UTMALDG.2D", "UTMASTG.3D", "UTMAREDG.1D.ADD", "UTMAPF"})
    EXPECT_EQ(sass_family(opcode), "tma") << opcode;
  for (const char* opcode : {"UTCHMMA", "UTCQMMA.2CTA", "UTCIMMA", "UTCOMMA"})
    EXPECT_EQ(sass_family(opcode), "tcgen05.mma") << opcode;
  for (const char* opcode : {"HMMA.16816.F32.BF16", "IMMA.16832.S8.S8", "DMMA.8x8x4"})
    EXPECT_EQ(sass_family(opcode), "mma") << opcode;
  EXPECT_EQ(sass_family("UBLKCP.S.G"), "bulk");
  EXPECT_EQ(sass_family("LDTM.16dp256bit"), "tcgen05.ld");
  EXPECT_EQ(sass_family("UTCATOMSWS.AND"), "tcgen05");
  for (const char* opcode : {"FADD", "LDG.E", "UTMACMDFLUSH", "UTMACCTL.PF", "HFMA2.MMA", "BRA"})
    EXPECT_EQ(sass_family(opcode), "") << opcode;
}

TEST(Sass, CountsADisassembly) {
  const StaticCounts counts = count_disassembly(
      "\t.target\tsm_90a\n"
      "//--------------------- .text.first     ---\n"
      "\t.section\t.text.first,\"ax\",@progbits\n"
      "first:\n.text.first:\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
      "        /*0010*/              @!P0 UTMALDG.2D [UR8], [UR4], desc[UR6] ;\n"
      "        /*0020*/              @UP1 UTMALDG.2D [UR8], [UR4], desc[UR6] ;\n"
      "        /* not an instruction */\n"
      "        /*0030*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24 ;\n"
      ".L_x_1:\n"
      "\t.section\t.text.second,\"ax\",@progbits\n"
      "        /*0000*/                   EXIT ;\n");
  ASSERT_EQ(counts.kernels.size(), 2u);
  EXPECT_EQ(counts.kernels[0].name, "first");
  EXPECT_EQ(counts.kernels[0].instructions, 4);
  EXPECT_EQ(counts.kernels[0].families.at("tma"), 2);
  EXPECT_EQ(counts.kernels[0].opcodes.at("HGMMA"), 1);
  EXPECT_EQ(counts.kernels[1].instructions, 1);
  EXPECT_EQ(counts.families.at("tma"), 2);
  EXPECT_EQ(counts.families.at("wgmma"), 1);
  EXPECT_EQ(counts.families.at("mma"), 0);
}

TEST(Sass, ReadsOffsetsAndWholeOpcodes) {
  const std::vector<SassFunction> functions = read_disassembly(
      "\t.section\t.text.first,\"ax\",@progbits\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
      "        /*0a70*/              @!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR5+0x38020], RZ ;\n"
      "        /*10e0*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR16], R24, UP0 ;\n"
      "        /*0xyz*/                   NOP ;\n        /**/ EXIT ;\n"
      "\t.section\t.text.second,\"ax\",@progbits\n");
  ASSERT_EQ(functions.size(), 2u);
  ASSERT_EQ(functions[0].instructions.size(), 3u);
  EXPECT_EQ(functions[0].instructions[1].offset, 0xa70u);
  EXPECT_EQ(functions[0].instructions[1].opcode, "SYNCS.ARRIVE.TRANS64.A1T0");
  EXPECT_EQ(functions[0].instructions[2].offset, 0x10e0u);
  EXPECT_EQ(functions[0].instructions[2].opcode, "HGMMA.64x256x16.F32.BF16");
  EXPECT_EQ(functions[1].name, "second");
}

// Blackwell cannot be run here, but assembled: what ptxas makes of each PTX instruction is found in the right family.
TEST(Sass, EachTcgen05AndBulkInstructionOfBlackwellIsCountedOnce) {
  const auto toolkit = locate_toolkit();
  if (!toolkit || !locate_nvdisasm()) GTEST_SKIP() << "no ptxas or no nvdisasm (scripts/setup)";
  const TempDir folder = *TempDir::create();
  Command command;
  command.argv = {toolkit->ptxas.string(), "-arch=sm_100a", "-o", (folder.path() / "k.cubin").string(),
                  PTXBENCH_SOURCE_DIR "/tests/toolchain/blackwell.ptx"};
  command.stderr_to = OutputTo::capture();
  const auto assembled = run(command, std::chrono::seconds(60));
  ASSERT_TRUE(assembled && assembled->exit.ok()) << assembled->err.bytes;
  const auto counts = count_sass(folder.path() / "k.cubin");
  ASSERT_TRUE(counts) << counts.error().format();
  EXPECT_EQ(counts->families.at("tcgen05.mma"), 11);
  EXPECT_EQ(counts->families.at("tcgen05.ld"), 2 + 1 + 3 + 1);  // ld, st, cp, shift
  EXPECT_EQ(counts->families.at("tma"), 3 + 2 + 1 + 1);         // load, store, reduce, prefetch
  EXPECT_EQ(counts->families.at("bulk"), 1 + 1 + 1 + 1);
  EXPECT_GE(counts->families.at("tcgen05"), 2);  // commit, and the loops that allocate and free
  EXPECT_EQ(counts->families.at("wgmma"), 0);
  EXPECT_EQ(counts->families.at("mma"), 0);
  const std::map<std::string, std::int64_t>& opcodes = counts->kernels.at(0).opcodes;
  EXPECT_EQ(opcodes.at("UTCHMMA"), 5);  // f16 (twice), tf32, sparse, weight stationary
  EXPECT_EQ(opcodes.at("UTCQMMA"), 2);  // f8f6f4, mxf8f6f4
  EXPECT_EQ(opcodes.at("UTCIMMA"), 2);  // i8, weight stationary
  EXPECT_EQ(opcodes.at("UTCOMMA"), 2);  // mxf4, mxf4nvf4
}

TEST(Ptx, CountsPerFunction) {
  const auto counts = count_ptx(
      ".version 8.0\n.target sm_90a\n.address_size 64\n"
      ".visible .entry k() {\n"
      "  wgmma.fence.sync.aligned;\n"
      "  wgmma.commit_group.sync.aligned;\n"
      "  ret;\n"
      "}\n",
      "k.ptx");
  ASSERT_TRUE(counts) << counts.error().format();
  ASSERT_EQ(counts->kernels.size(), 1u);
  EXPECT_EQ(counts->kernels[0].name, "k");
  EXPECT_EQ(counts->kernels[0].instructions, 3);
  EXPECT_EQ(counts->families.at("wgmma.sync"), 2);
  EXPECT_EQ(counts->families.at("wgmma"), 0);
}

TEST(Ptx, BrokenTextIsAnErrorNotAZero) { EXPECT_FALSE(count_ptx("this is no PTX", "x.ptx")); }

class InspectTest : public BuildTest {
 protected:
  // Two mma.sync per thread, in straight-line code.
  const std::string source_ = candidate(
      "unsigned d0 = i, d1 = 0, d2 = 0, d3 = 0;\n"
      "  asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, "
      "{%0,%1,%2,%3};\" : \"+r\"(d0), \"+r\"(d1), \"+r\"(d2), \"+r\"(d3) : \"r\"(i));\n"
      "  asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, "
      "{%0,%1,%2,%3};\" : \"+r\"(d0), \"+r\"(d1), \"+r\"(d2), \"+r\"(d3) : \"r\"(i));\n"
      "  c[i] = __uint_as_float(d0 ^ d1 ^ d2 ^ d3);");

  Inspection look_at(const std::filesystem::path& path) {
    request_.source = path;
    auto outcome = inspect(request_);
    EXPECT_TRUE(outcome) << outcome.error().format();
    if (!outcome || !std::holds_alternative<Inspection>(*outcome)) {
      ADD_FAILURE() << "no inspection";
      return {};
    }
    return std::get<Inspection>(*outcome);
  }
  void expect_two_mma(const std::optional<StaticCounts>& counts) {
    ASSERT_TRUE(counts);
    ASSERT_EQ(counts->kernels.size(), 1u);
    EXPECT_THAT(counts->kernels[0].name, HasSubstr("add"));
    EXPECT_EQ(counts->families.at("mma"), 2);
    EXPECT_EQ(counts->families.at("wgmma"), 0);
  }
};

TEST_F(InspectTest, EveryKindOfFileTellsTheSame) {
  const Built made = built(source_);
  const bool has_nvdisasm = locate_nvdisasm().has_value();
  const std::map<std::string, std::int64_t> recorded(made.artifact.static_ptx.begin(), made.artifact.static_ptx.end());
  EXPECT_EQ(recorded.at("mma"), 2);
  EXPECT_EQ(made.artifact.static_sass.empty(), !has_nvdisasm);

  const Inspection source = look_at(request_.source);
  EXPECT_EQ(source.kernels.size(), 1u);
  expect_two_mma(source.ptx);
  expect_two_mma(look_at(made.artifact.ptx()).ptx);
  const Inspection library = look_at(made.artifact.library());
  expect_two_mma(library.ptx);
  EXPECT_THAT(library.notes, testing::Contains(HasSubstr("PTX for sm_90")));
  if (!has_nvdisasm) GTEST_SKIP() << "no nvdisasm (scripts/setup): machine code not looked at";
  expect_two_mma(source.sass);
  expect_two_mma(library.sass);
  expect_two_mma(look_at(made.artifact.cubin()).sass);
}

TEST_F(InspectTest, AbsentDisassemblerIsNamedAndNeverZero) {
  const Built made = built(source_);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("PATH", "/nonexistent", 1);
    // A checkout with a fetched nvdisasm has one whatever PATH says.
    if (locate_nvdisasm()) ::_exit(0);
    const auto counts = count_sass(made.artifact.cubin());
    ::_exit(!counts && counts.error().kind == ErrorKind::kUnavailable &&
                    counts.error().message.find("nvdisasm") != std::string::npos
                ? 0
                : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(InspectTest, BadFilesAreAnswered) {
  const auto refuse = [&](const char* name, const std::string& bytes) {
    request_.source = folder_->path() / name;
    EXPECT_TRUE(write_file_atomic(request_.source, bytes));
    const auto outcome = inspect(request_);
    EXPECT_FALSE(outcome) << name;
    return outcome ? Error{} : outcome.error();
  };
  EXPECT_THAT(refuse("a.txt", "x").message, HasSubstr("none of .cu, .so, .cubin, .ptx"));
  EXPECT_THAT(refuse("a.so", "x").message, HasSubstr("ELF"));
  EXPECT_THAT(refuse("a.so", std::string("\x7f"
                                         "ELF\2\1\1") +
                                 std::string(200, '\xff'))
                  .message,
              HasSubstr("ELF"));
  EXPECT_THAT(refuse("a.cubin", "").message, HasSubstr("ELF"));
  EXPECT_EQ(refuse("a.ptx", "junk").kind, ErrorKind::kInvalidInput);
  request_.source = folder_->path() / "missing.cubin";
  EXPECT_EQ(inspect(request_).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace ptxbench::toolchain
