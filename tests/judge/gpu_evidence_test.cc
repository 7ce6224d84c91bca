#include "ptxbench/judge/gpu_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/judge/sass_work.h"

namespace ptxbench::judge {
namespace {

using ::testing::HasSubstr;

// 2 M N K of the PTX instruction per group of threads; PTX ISA 9.0, "Matrix shape" of mma and wgmma.
TEST(SassWork, ShapesGiveFlops) {
  struct Case {
    const char* opcode;
    std::uint64_t threads, flops;
  };
  const Case cases[] = {
      {"HGMMA.64x256x16.F32.BF16", 128, 2ull * 64 * 256 * 16},
      {"HGMMA.64x8x8.F32.TF32", 128, 2ull * 64 * 8 * 8},
      {"QGMMA.64x128x32.F32.E4M3.E4M3", 256, 2 * 2ull * 64 * 128 * 32},
      {"IGMMA.64x16x32.S8.S8", 128, 2ull * 64 * 16 * 32},
      {"HMMA.16816.F32.BF16", 32, 2ull * 16 * 8 * 16},
      {"HMMA.1688.F32", 64, 2 * 2ull * 16 * 8 * 8},
      {"IMMA.16832.S8.S8", 32, 2ull * 16 * 8 * 32},
      {"DMMA.16x8x16", 32, 2ull * 16 * 8 * 16},
      {"HGMMA.SP.64x64x32.F32.BF16", 128, 2ull * 64 * 64 * 32},
  };
  for (const Case& c : cases) {
    const auto flops = sass_flops(c.opcode, c.threads);
    ASSERT_TRUE(flops) << c.opcode;
    EXPECT_EQ(*flops, c.flops) << c.opcode;
  }
}

TEST(SassWork, UnknownShapesAreRefusedByName) {
  for (const char* opcode :
       {"UTCHMMA", "UTCHMMA.2CTA", "HMMA", "HMMA.99999.F32", "HGMMA.64x256", "HGMMA.32x8x16.F32"}) {
    const auto flops = sass_flops(opcode, 128);
    ASSERT_FALSE(flops) << opcode;
    EXPECT_EQ(flops.error().kind, ErrorKind::kUnsupported);
    EXPECT_THAT(flops.error().message, HasSubstr(opcode));
  }
}

toolchain::SassFunction function_of(std::string name, std::vector<std::string> opcodes) {
  toolchain::SassFunction function;
  function.name = std::move(name);
  for (std::size_t i = 0; i < opcodes.size(); ++i)
    function.instructions.push_back({static_cast<std::uint32_t>(16 * i), std::move(opcodes[i])});
  return function;
}

wire::InstructionRecord counted(std::uint32_t offset, std::uint64_t warps, std::uint64_t threads) {
  wire::InstructionRecord record;
  record.offset = offset;
  record.warp_instructions = warps;
  record.thread_instructions = threads;
  return record;
}

// Recorded on an H200 (driver 580.159, CUDA 13.0, 2026-11-30) by CUPTI SASS metrics and equal in ncu: a GEMM with
// M=2048 N=7168 K=5120 in tiles of 128 x 256 x 64 executed 4,587,520 predicate-true threads in each of its eight HGMMA
// and 35,840 in each of its two UTMALDG.
TEST(GpuEvidence, RecordedCountsAreTheTasksWork) {
  const std::vector<toolchain::SassFunction> listing = {
      function_of("helper", {"EXIT"}),
      function_of("gemm",
                  {"LDC", "UTMALDG.2D", "UTMALDG.2D", "HGMMA.64x256x16.F32.BF16", "HGMMA.64x256x16.F32.BF16",
                   "HGMMA.64x256x16.F32.BF16", "HGMMA.64x256x16.F32.BF16", "HGMMA.64x256x16.F32.BF16",
                   "HGMMA.64x256x16.F32.BF16", "HGMMA.64x256x16.F32.BF16", "HGMMA.64x256x16.F32.BF16", "UTMASTG.2D"})};
  wire::LaunchRecord launch;
  launch.kernel = "gemm";
  launch.instructions.push_back(counted(0, 448 * 12, 448 * 384));
  for (std::uint32_t i = 0; i < 2; ++i) launch.instructions.push_back(counted(16 + 16 * i, 35'840, 35'840));
  for (std::uint32_t i = 0; i < 8; ++i) launch.instructions.push_back(counted(48 + 16 * i, 143'360, 4'587'520));
  std::vector<wire::LaunchRecord> launches = {launch};
  const Status joined = join_disassembly(listing, launches);
  ASSERT_TRUE(joined) << joined.error().format();
  ASSERT_EQ(launches[0].families.size(), 2u) << "UTMASTG was not executed, LDC has no family";
  const wire::FamilyRecord& tma = launches[0].families[0];
  EXPECT_EQ(tma.family, "tma");
  EXPECT_EQ(tma.thread_instructions, 71'680u);
  const wire::FamilyRecord& wgmma = launches[0].families[1];
  EXPECT_EQ(wgmma.family, "wgmma");
  EXPECT_EQ(wgmma.static_count, 8u);
  EXPECT_EQ(wgmma.warp_instructions, 8u * 143'360);
  EXPECT_EQ(wgmma.thread_instructions, 36'700'160u);
  EXPECT_EQ(wgmma.flops, 2ull * 2048 * 7168 * 5120);
  EXPECT_EQ(launches[0].thread_instructions, 448u * 384 + 71'680 + 36'700'160);
  EXPECT_EQ(launches[0].instructions[3].opcode, "HGMMA.64x256x16.F32.BF16");
}

TEST(GpuEvidence, CountsThatDoNotBelongAreErrors) {
  const std::vector<toolchain::SassFunction> listing = {function_of("gemm", {"LDC", "UTCHMMA", "EXIT"})};
  const auto error_of = [&](const char* kernel, std::vector<wire::InstructionRecord> counts) {
    wire::LaunchRecord launch;
    launch.kernel = kernel;
    launch.instructions = std::move(counts);
    std::vector<wire::LaunchRecord> launches = {launch};
    const Status joined = join_disassembly(listing, launches);
    return joined ? std::string("joined") : joined.error().message;
  };
  EXPECT_THAT(error_of("gemm", {counted(64, 1, 32)}), HasSubstr("offset 0x40"));
  wire::InstructionRecord callee = counted(0, 1, 32);
  callee.function = "callee";
  EXPECT_THAT(error_of("gemm", {callee}), HasSubstr("callee is not in the artifact's code"));
  EXPECT_THAT(error_of("gemm", {counted(8, 1, 32)}), HasSubstr("offset 0x8"));
  EXPECT_THAT(error_of("gemm2", {counted(0, 1, 32)}), HasSubstr("gemm2 is not in the artifact's code"));
  EXPECT_THAT(error_of("gemm", {}), HasSubstr("no instruction of kernel gemm was counted"));
  EXPECT_THAT(error_of("gemm", {counted(16, 1, 32)}), HasSubstr("FLOPs of 'UTCHMMA' are not known: its shape"));
  EXPECT_EQ(error_of("gemm", {counted(16, 0, 0)}), "joined") << "what no thread executed does no work";
}

// It ran well before, so the counters' pace has shown something; "no instruction was counted" would hide it.
TEST(GpuEvidence, AKernelThatFailsWhileItIsCountedIsSaid) {
  wire::LaunchRecord launch;
  launch.kernel = "gemm";
  launch.trap.emplace();
  launch.trap->kind = "out_of_bounds";
  launch.trap->message = "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered";
  std::vector<wire::LaunchRecord> launches = {launch};
  const Status joined = join_disassembly({function_of("gemm", {"EXIT"})}, launches);
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("kernel gemm failed while its instructions were counted"));
  EXPECT_THAT(joined.error().message, HasSubstr("out_of_bounds: CUDA_ERROR_ILLEGAL_ADDRESS"));
}

}  // namespace
}  // namespace ptxbench::judge
