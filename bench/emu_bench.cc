// Speed of ordinary kernels on the emulated GPU: predicate-true thread instructions per second of one worker, as
// "instructions". The PTX has the shape that nvcc gives such kernels: unrolled inner loops, constant offsets.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "ptxbench/emu/machine.h"

namespace {

using namespace ptxbench;
using emu::Machine;

std::string module_of(const std::string& body, const std::string& shared = "") {
  return ".version 8.6\n.target sm_90a\n.address_size 64\n" + shared +
         ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u32 p3)\n{\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<40>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<16>;\n" +
         body + "ret;\n}\n";
}

// C = A B for n x n floats, n a multiple of 16; each CTA of 16 x 16 threads makes a tile, through shared memory.
std::string tiled_gemm() {
  std::string body = R"(
ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u64 %rd3, [p2]; ld.param.u32 %r1, [p3];
mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y;
shl.b32 %r6, %r5, 4; add.s32 %r6, %r6, %r3;
shl.b32 %r7, %r4, 4; add.s32 %r7, %r7, %r2;
mad.lo.s32 %r8, %r6, %r1, %r2; mul.wide.s32 %rd4, %r8, 4; add.s64 %rd5, %rd1, %rd4;
mad.lo.s32 %r9, %r3, %r1, %r7; mul.wide.s32 %rd6, %r9, 4; add.s64 %rd7, %rd2, %rd6;
mov.u32 %r10, tile_a; mov.u32 %r11, tile_b;
shl.b32 %r12, %r3, 6; add.s32 %r13, %r10, %r12; shl.b32 %r14, %r2, 2; add.s32 %r15, %r13, %r14;
add.s32 %r16, %r11, %r14; add.s32 %r17, %r16, %r12;
shl.b32 %r18, %r1, 6; cvt.u64.u32 %rd8, %r18;
mov.f32 %f1, 0f00000000; mov.u32 %r20, 0;
loop:
ld.global.f32 %f2, [%rd5]; st.shared.f32 [%r15], %f2;
ld.global.f32 %f3, [%rd7]; st.shared.f32 [%r17], %f3;
bar.sync 0;
)";
  for (int k = 0; k < 16; ++k)
    body += fmt::format("ld.shared.f32 %f4, [%r13+{}]; ld.shared.f32 %f5, [%r16+{}]; fma.rn.f32 %f1, %f4, %f5, %f1;\n",
                        4 * k, 64 * k);
  body += R"(
bar.sync 0;
add.s64 %rd5, %rd5, 64; add.s64 %rd7, %rd7, %rd8; add.s32 %r20, %r20, 16;
setp.lt.s32 %p1, %r20, %r1;
@%p1 bra loop;
mad.lo.s32 %r21, %r6, %r1, %r7; mul.wide.s32 %rd9, %r21, 4; add.s64 %rd10, %rd3, %rd9; st.global.f32 [%rd10], %f1;
)";
  return module_of(body, ".shared .align 4 .b8 tile_a[1024];\n.shared .align 4 .b8 tile_b[1024];\n");
}

// Each thread adds up every 65536th float of p0, then stores its sum.
std::string strided_sum() {
  std::string body = R"(
ld.param.u64 %rd1, [p0]; ld.param.u64 %rd3, [p2]; ld.param.u32 %r1, [p3];
mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.s32 %r4, %r3, 256, %r2;
mul.wide.s32 %rd4, %r4, 4; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd3, %rd4;
mov.f32 %f1, 0f00000000; mov.u32 %r5, 0;
loop:
)";
  for (int k = 0; k < 4; ++k) body += fmt::format("ld.global.f32 %f2, [%rd5+{}]; add.f32 %f1, %f1, %f2;\n", 262144 * k);
  body += R"(
add.s64 %rd5, %rd5, 1048576; add.s32 %r5, %r5, 4; setp.lt.s32 %p1, %r5, %r1;
@%p1 bra loop;
st.global.f32 [%rd6], %f1;
)";
  return module_of(body);
}

// p3 rounds of ex2, min, max and select per thread, as in a softmax.
std::string float_loop() {
  return module_of(R"(
ld.param.u64 %rd3, [p2]; ld.param.u32 %r1, [p3];
mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.s32 %r4, %r3, 256, %r2;
mul.wide.s32 %rd4, %r4, 4; add.s64 %rd6, %rd3, %rd4;
cvt.rn.f32.s32 %f1, %r2; mov.f32 %f2, 0f00000000; mov.u32 %r5, 0;
loop:
mul.f32 %f3, %f1, 0fBD000000; ex2.approx.ftz.f32 %f4, %f3; add.f32 %f2, %f2, %f4;
max.f32 %f5, %f4, %f2; min.f32 %f1, %f5, %f1; setp.gt.f32 %p2, %f1, %f2; selp.f32 %f1, %f1, %f2, %p2;
add.s32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, %r1;
@%p1 bra loop;
st.global.f32 [%rd6], %f2;
)");
}

void run(benchmark::State& state, const std::string& ptx, emu::Dim3 grid, emu::Dim3 block, std::size_t bytes,
         std::uint32_t count) {
  Machine machine({emu::Target::kHopper, std::uint64_t{1} << 28, 1});
  const auto module = machine.load_module(ptx);
  if (!module) return state.SkipWithError(module.error().format().c_str());
  std::uint64_t params[4] = {0, 0, 0, count};
  for (int i = 0; i < 3; ++i) {
    params[i] = *machine.alloc(bytes);
    const auto filled = machine.fill(params[i], 0x3f800000, 4, bytes / 4);
    if (!filled) return state.SkipWithError(filled.error().format().c_str());
  }
  emu::LaunchConfig config;
  config.module = *module;
  config.function = "k";
  config.grid = grid;
  config.block = block;
  double instructions = 0;
  for (auto _ : state) {
    const emu::LaunchResult result = machine.launch(config, std::as_bytes(std::span(params)).first(28));
    if (result.trap) return state.SkipWithError(result.trap->format().c_str());
    instructions += static_cast<double>(result.thread_instructions);
  }
  state.counters["instructions"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
}

void simt_gemm(benchmark::State& state) { run(state, tiled_gemm(), {16, 16, 1}, {16, 16, 1}, 256 * 256 * 4, 256); }
void strided_sum(benchmark::State& state) { run(state, strided_sum(), {256, 1, 1}, {256, 1, 1}, 64 << 20, 256); }
void float_loop(benchmark::State& state) { run(state, float_loop(), {16, 1, 1}, {256, 1, 1}, 1 << 20, 1000); }

BENCHMARK(simt_gemm)->Unit(benchmark::kMillisecond);
BENCHMARK(strided_sum)->Unit(benchmark::kMillisecond);
BENCHMARK(float_loop)->Unit(benchmark::kMillisecond);

}  // namespace
