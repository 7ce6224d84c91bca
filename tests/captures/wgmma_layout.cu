// How wgmma reads shared memory: all swizzles and majors, leading and stride offsets, base offsets and start addresses, for
// A and for B. Shared memory holds random small integers everywhere, so any descriptor has one right answer, and a wrong
// address anywhere changes the hash.
#include "wgmma_kernels.h"

using namespace capture;

WGMMA_SS(n8_kk, 8, 4, "k16.f32.bf16.bf16", ", 1, 1, 0, 0")
WGMMA_SS(n8_mnk, 8, 4, "k16.f32.bf16.bf16", ", 1, 1, 1, 0")
WGMMA_SS(n64_kk, 64, 32, "k16.f32.bf16.bf16", ", 1, 1, 0, 0")
WGMMA_SS(n64_kmn, 64, 32, "k16.f32.bf16.bf16", ", 1, 1, 0, 1")
WGMMA_SS(n80_kmn, 80, 40, "k16.f32.bf16.bf16", ", 1, 1, 0, 1")

constexpr uint32_t kImageWords = 64 * 1024 / 4;
constexpr uint32_t kOther = 56 * 1024;  // where the operand that does not vary lies: unswizzled, packed
const char* kSwizzleNames[] = {"none", "sw128", "sw64", "sw32"};

struct Shape {
  const char* name;
  uint32_t registers;
  WgmmaKernel kernel;
  bool vary_a;
};
const Shape kShapes[] = {{"a-k", 4, n8_kk, true},
                         {"a-mn", 4, n8_mnk, true},
                         {"b-k-n64", 32, n64_kk, false},
                         {"b-mn-n64", 32, n64_kmn, false},
                         {"b-mn-n80", 40, n80_kmn, false}};

const std::vector<uint32_t>& image() {
  static const std::vector<uint32_t> words = integer_pairs(kImageWords, kBf16, 7, 11);
  return words;
}

void run(const Shape& shape, const std::string& tail, Descriptor varied) {
  if (!begin(std::string(shape.name) + "-" + kSwizzleNames[varied.swizzle] + tail)) return;
  Descriptor fixed{kOther, 128, 256, 0, 0};
  std::vector<uint32_t> zero(128 * shape.registers);
  print_bulk(run_wgmma(shape.kernel, shape.registers, image(), shape.vary_a ? varied : fixed,
                       shape.vary_a ? fixed : varied, 0, zero),
             1, 1);
}

void offsets(const Shape& shape) {
  for (uint32_t swizzle = 0; swizzle < 4; ++swizzle)
    for (uint32_t leading : {16u, 128u, 512u, 2048u})
      for (uint32_t stride : {128u, 256u, 1024u, 2176u})
        run(shape, "-lbo" + std::to_string(leading) + "-sbo" + std::to_string(stride),
            {0, leading, stride, 0, swizzle});
}

// Start addresses that are not a multiple of the swizzle period, with and without the base offset that PTX asks for.
void starts(const Shape& shape) {
  for (uint32_t swizzle = 0; swizzle < 4; ++swizzle) {
    for (uint32_t address : {16u, 32u, 48u, 64u, 96u, 128u, 256u, 384u, 512u, 640u, 896u, 1024u, 1056u})
      run(shape, "-start" + std::to_string(address), {address, 1024, 1024, 0, swizzle});
    for (uint32_t base_offset = 1; base_offset < 8; ++base_offset)
      run(shape, "-base" + std::to_string(base_offset), {0, 1024, 1024, base_offset, swizzle});
    for (uint32_t base_offset : {1u, 2u, 4u, 7u})
      run(shape, "-start" + std::to_string(base_offset * 128) + "-base" + std::to_string(base_offset),
          {base_offset * 128, 1024, 1024, base_offset, swizzle});
  }
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  for (const Shape& shape : kShapes) offsets(shape);
  for (const Shape& shape : {kShapes[0], kShapes[1], kShapes[2], kShapes[3]}) starts(shape);
}
