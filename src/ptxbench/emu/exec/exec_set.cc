#include "ptxbench/emu/exec/exec_set.h"

#include "ptxbench/numeric/simd.h"

namespace ptxbench::emu {

namespace baseline {
const ExecSet& exec_set();
}
namespace avx2 {
const ExecSet& exec_set();
}

const ExecSet& exec_set() {
  static const ExecSet& set =
      numeric::simd_level() == numeric::SimdLevel::kGeneric ? baseline::exec_set() : avx2::exec_set();
  return set;
}

}  // namespace ptxbench::emu
