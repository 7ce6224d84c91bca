// Kernels of one scalar instruction each, run over a table of operand triples.
//
//   CASE(name, d, a, b, c, "add.u32 %0, %1, %2;")
//
// d, a, b, c are register classes: h 16 bits, r 32 bits, l 64 bits; all untyped, so floats travel as their bits. The text
// may name %0 (result) to %3 and is put into braces of its own. Results print as samples and slice hashes, or in full
// under a tolerance with APPROXIMATE(mark, name, ...).
#pragma once

#include "capture.h"

#define TYPE_h uint16_t
#define TYPE_r uint32_t
#define TYPE_l uint64_t

struct ScalarCase {
  const char* name;
  const char* mark;  // nullptr: exact, in bulk
  int result_bytes, operand_bytes;
  void (*kernel)(const uint64_t* in, uint64_t* out);
};

inline std::vector<ScalarCase>& scalar_cases() {
  static std::vector<ScalarCase> cases;
  return cases;
}

struct ScalarRegistration {
  ScalarRegistration(const char* name, const char* mark, int result_bytes, int operand_bytes,
                     void (*kernel)(const uint64_t*, uint64_t*)) {
    scalar_cases().push_back({name, mark, result_bytes, operand_bytes, kernel});
  }
};

#define SCALAR_CASE(MARK, NAME, D, A, B, C, TEXT)                                                      \
  __global__ void NAME(const uint64_t* in, uint64_t* out) {                                            \
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;                                                \
    TYPE_##D d;                                                                                        \
    asm volatile("{" TEXT "}"                                                                          \
                 : "=" #D(d)                                                                           \
                 : #A((TYPE_##A)in[3 * i]), #B((TYPE_##B)in[3 * i + 1]), #C((TYPE_##C)in[3 * i + 2])); \
    out[i] = d;                                                                                        \
  }                                                                                                    \
  const ScalarRegistration register_##NAME(#NAME, MARK, sizeof(TYPE_##D), sizeof(TYPE_##A), NAME);
#define CASE(NAME, D, A, B, C, TEXT) SCALAR_CASE(nullptr, NAME, D, A, B, C, TEXT)
#define APPROXIMATE(MARK, NAME, D, A, B, C, TEXT) SCALAR_CASE(MARK, NAME, D, A, B, C, TEXT)

template <class T>
std::vector<T> narrow(const std::vector<uint64_t>& words, size_t count) {
  return std::vector<T>(words.begin(), words.begin() + count);
}

// Runs every registered case over its triples (a multiple of 128 of them; one table for cases whose first operand has 64
// bits, one for the others); approximate ones print the first 96 results.
inline void run_scalar_cases(const std::vector<uint64_t>& narrow_triples, const std::vector<uint64_t>& wide_triples) {
  using namespace capture;
  const size_t count = narrow_triples.size() / 3;
  Buffer<uint64_t> narrow_in(narrow_triples), wide_in(wide_triples), out(count);
  for (const ScalarCase& c : scalar_cases()) {
    if (!begin(c.name)) continue;
    c.kernel<<<uint32_t(count / 128), 128>>>(c.operand_bytes == 8 ? wide_in.get() : narrow_in.get(), out.get());
    sync();
    auto words = out.download();
    const size_t shown = c.mark ? 96 : count;
    auto print = [&](const auto& values) {
      if (c.mark) {
        print_all(values, c.mark);
      } else {
        print_bulk(values, 3, 4);
      }
    };
    if (c.result_bytes == 2) print(narrow<uint16_t>(words, shown));
    if (c.result_bytes == 4) print(narrow<uint32_t>(words, shown));
    if (c.result_bytes == 8) print(narrow<uint64_t>(words, shown));
  }
}

// `--dump` of a scalar program shows results only; this prints the operands too, for a search.
inline void print_triples(const std::vector<uint64_t>& triples) {
  for (size_t i = 0; i < triples.size(); i += 3)
    std::printf("# %zu: %016llx %016llx %016llx\n", i / 3, (unsigned long long)triples[i],
                (unsigned long long)triples[i + 1], (unsigned long long)triples[i + 2]);
}
