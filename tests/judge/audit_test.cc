// A report of ncu 2025.3.1 about kernels/hopper/gemm.cu with M=128 N=1024 K=640 on an H200 (columns of other metrics cut
// out), against counts derived from the kernel's tiles: 128 x 256 outputs each, 64 of K a stage.
#include "ptxbench/judge/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/base/file.h"

namespace ptxbench::judge {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kTiles = 1024 / 256, kStages = 640 / 64;
// m64n256k16 by each of two consumer warpgroups of 128 threads, four of them a stage.
constexpr std::uint64_t kHgmmaThreads = kTiles * kStages * 4 * 2 * 128;
constexpr std::uint64_t kLoads = kTiles * kStages * 2;  // A and B, one thread each

std::string report() {
  return read_file(std::string(PTXBENCH_SOURCE_DIR) + "/tests/judge/data/ncu_gemm_m128_n1024_k640.h200.csv", 1 << 20)
      .value();
}

schema::InstructionCount count(const char* family, std::uint64_t threads) {
  schema::InstructionCount record;
  record.family = family;
  record.thread_instructions = threads;
  return record;
}

TEST(AuditReport, OpcodesAndInstructionsOfALaunch) {
  const auto launches = read_audit_report(report());
  ASSERT_TRUE(launches) << launches.error().format();
  ASSERT_EQ(launches->size(), 1u);
  const AuditedLaunch& launch = launches->front();
  EXPECT_THAT(launch.kernel, HasSubstr("gemm_kernel"));
  EXPECT_EQ(launch.opcodes.at("HGMMA.64x256x16.F32.BF16"), kHgmmaThreads);
  EXPECT_EQ(launch.opcodes.at("UTMALDG.2D"), kLoads);
  // Machine code of sm_90 has 16 bytes an instruction.
  for (std::size_t i = 0; i < launch.instructions.size(); ++i) EXPECT_EQ(launch.instructions[i].offset, 16 * i);
  // The first one is executed by all 12 warps of the four CTAs.
  EXPECT_EQ(launch.instructions.front().warp_instructions, kTiles * 12);
  EXPECT_EQ(launch.instructions.front().thread_instructions, kTiles * 384);
  std::uint64_t by_opcode = 0, by_offset = 0;
  for (const auto& [opcode, threads] : launch.opcodes) by_opcode += threads;
  for (const AuditedInstruction& instruction : launch.instructions) by_offset += instruction.thread_instructions;
  EXPECT_EQ(by_opcode, by_offset);
}

TEST(AuditReport, WhatIsNoTableSaysWhy) {
  const auto none = read_audit_report(
      "==PROF== Connected to process 5\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("ERR_NVGPUCTRPERM"));
  EXPECT_FALSE(read_audit_report(""));
  EXPECT_FALSE(read_audit_report("\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"0\",\"k\"\n"));
  std::string cut = report();
  cut.resize(cut.size() - 3000);
  EXPECT_FALSE(read_audit_report(cut));
}

TEST(Audit, EqualCountsAgree) {
  const auto launches = read_audit_report(report()).value();
  // Four stores of 64 columns for each warpgroup's half of a tile.
  const schema::Audit audit =
      compare_audit({count("wgmma", kHgmmaThreads), count("tma", kLoads + kTiles * 2 * 4), count("ldmatrix", 16384),
                     count("wgmma.sync", 21504), count("mbarrier", 5)},
                    launches);
  EXPECT_TRUE(audit.agrees) << audit.message;
  for (const schema::AuditRow& row : audit.rows) EXPECT_NE(row.family, "mbarrier");
}

TEST(Audit, ADifferenceIsNamed) {
  const auto launches = read_audit_report(report()).value();
  const schema::Audit audit = compare_audit({count("wgmma", kHgmmaThreads + 128)}, launches);
  EXPECT_FALSE(audit.agrees);
  EXPECT_FALSE(audit.message.empty());
  const auto row =
      std::find_if(audit.rows.begin(), audit.rows.end(), [](const auto& r) { return r.family == "wgmma"; });
  ASSERT_NE(row, audit.rows.end());
  EXPECT_EQ(row->counted, kHgmmaThreads + 128);
  EXPECT_EQ(row->audited, kHgmmaThreads);
}

}  // namespace
}  // namespace ptxbench::judge
