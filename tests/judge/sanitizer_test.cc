// Reports of compute-sanitizer 2025.3.1 for data/sanitizer_faults.cu on an H200 (host stacks cut out), against what that
// source does wrong: which line, which thread, which address.
#include "ptxbench/judge/sanitizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/base/file.h"

namespace ptxbench::judge {
namespace {

using testing::HasSubstr;

std::string report(const std::string& name) {
  return read_file(std::string(PTXBENCH_SOURCE_DIR) + "/tests/judge/data/sanitizer_" + name + ".h200.xml", 1 << 20)
      .value();
}

std::vector<schema::SanitizerFinding> findings(const std::string& name) {
  return read_sanitizer_report(report(name)).value();
}

TEST(SanitizerReport, AWriteBehindAnAllocation) {
  // 256 bytes; threads 0 and 1 write the ints behind it, which are one finding.
  const auto found = findings("out_of_bounds");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "out of bounds");
  EXPECT_EQ(found[0].severity, "error");
  EXPECT_EQ(found[0].kernel, "write_behind");
  EXPECT_EQ(found[0].source_file, "faults.cu");
  EXPECT_EQ(found[0].source_line, 5);
  EXPECT_EQ(found[0].count, 2);
  ASSERT_TRUE(found[0].address);
  EXPECT_EQ(*found[0].address % 4096, 256u);
  EXPECT_EQ(found[0].message,
            "Invalid __global__ write of size 4 bytes is out of bounds, first by thread (0,0,0) of block (0,0,0)");
}

TEST(SanitizerReport, AMisalignedWrite) {
  const auto found = findings("misaligned");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "misaligned");
  EXPECT_EQ(found[0].source_line, 6);
  EXPECT_EQ(*found[0].address % 256, 1u);
}

TEST(SanitizerReport, ARaceAsRacecheckAnalysesIt) {
  // Thread i of 64 reads what thread 63-i wrote: 64 ints of which each byte is counted.
  const auto found = findings("race");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "race");
  EXPECT_EQ(found[0].count, 64 * 4);
  EXPECT_EQ(found[0].source_line, 9);
  EXPECT_EQ(found[0].message, "Race condition between write at faults.cu:9 and read at faults.cu:10");
}

TEST(SanitizerReport, HazardsOneByOne) {
  const auto found = findings("hazard");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "RAW hazard");
  EXPECT_EQ(found[0].count, 2);
  // The int of thread 31 is read by thread 32 = 63 - 31.
  EXPECT_THAT(found[0].message, HasSubstr("first by thread (31,0,0) and thread (32,0,0) of block (0,0,0)"));
}

TEST(SanitizerReport, ADivergentBarrier) {
  const auto found = findings("barrier");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "barrier");
  EXPECT_EQ(found[0].source_line, 13);
  EXPECT_THAT(found[0].message, HasSubstr("Divergent thread(s) in warp"));
}

TEST(SanitizerReport, AReadOfUnsetMemory) {
  const auto found = findings("uninitialized");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "uninitialized read");
  EXPECT_EQ(found[0].source_line, 16);
  EXPECT_TRUE(found[0].address);
}

TEST(SanitizerReport, AKernelWithoutFaults) { EXPECT_TRUE(findings("clean").empty()); }

TEST(SanitizerReport, WhatIsCutOffIsNoCleanReport) {
  const std::string whole = report("barrier");
  for (const std::size_t length : {std::size_t{0}, std::size_t{20}, whole.size() / 2, whole.size() - 5}) {
    const auto cut = read_sanitizer_report(std::string_view(whole).substr(0, length));
    ASSERT_FALSE(cut) << length;
    EXPECT_EQ(cut.error().kind, ErrorKind::kProtocol);
  }
  EXPECT_FALSE(read_sanitizer_report("<Other/>"));
}

TEST(SanitizerReport, NumbersThatAreNoneDoNoHarm) {
  const auto found = read_sanitizer_report(
      "<ComputeSanitizerOutput><record><kind>Precise</kind><what><text>t</text><address>0xzz</address></what><where>"
      "<line>99999999999999999999</line></where></record><record/></ComputeSanitizerOutput>");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_FALSE((*found)[0].address);
  EXPECT_EQ((*found)[0].source_line, 0);
}

TEST(SanitizerTools, AListIsReadAndRefusedByName) {
  const auto tools = sanitizer_tools_from("racecheck,memcheck");
  ASSERT_TRUE(tools);
  EXPECT_THAT(*tools, testing::ElementsAre(SanitizerTool::kRacecheck, SanitizerTool::kMemcheck));
  EXPECT_THAT(sanitizer_tools_from("memcheck,leakcheck").error().message, HasSubstr("'leakcheck'"));
  EXPECT_FALSE(sanitizer_tools_from("memcheck,memcheck"));
  EXPECT_FALSE(sanitizer_tools_from(""));
  EXPECT_FALSE(sanitizer_tools_from("memcheck,"));
}

TEST(SanitizerPrefix, XmlGoesToAFile) {
  // The tool refuses --xml without --save, and --xml with a value.
  const auto argv = sanitizer_prefix("/cuda/bin/compute-sanitizer", SanitizerTool::kSynccheck, "/t/r.xml", "/t/log");
  const auto at = std::find(argv.begin(), argv.end(), "--xml");
  ASSERT_NE(at, argv.end());
  EXPECT_EQ(at[1], "--save");
  EXPECT_EQ(at[2], "/t/r.xml");
  EXPECT_EQ(argv[0], "/cuda/bin/compute-sanitizer");
  EXPECT_EQ(argv[2], "synccheck");
  // The option exists for memcheck alone.
  EXPECT_EQ(std::count(argv.begin(), argv.end(), "--report-api-errors"), 0);
  const auto memcheck = sanitizer_prefix("/cuda/bin/compute-sanitizer", SanitizerTool::kMemcheck, "/t/r.xml", "/t/log");
  const auto api = std::find(memcheck.begin(), memcheck.end(), "--report-api-errors");
  ASSERT_NE(api, memcheck.end());
  EXPECT_EQ(api[1], "no");
}

}  // namespace
}  // namespace ptxbench::judge
