// The set of this SIMD level.
#include "ptxbench/emu/exec/simd/chapters.h"

namespace ptxbench::emu {
namespace PTXBENCH_EXEC_NAMESPACE {
namespace {

ExecFn alu_function(const ptx::Instruction& instruction) {
  if (ExecFn fn = integer_function(instruction)) return fn;
  if (ExecFn fn = float_function(instruction)) return fn;
  if (ExecFn fn = half_function(instruction)) return fn;
  return select_function(instruction);
}

}  // namespace

const ExecSet& exec_set() {
  static const ExecSet set{alu_function,  convert_function, convert_descriptor, compare_function,
                           move32,        move64,           move_predicate,     load_param,
                           load_function, store_function,   shuffle_function};
  return set;
}

}  // namespace PTXBENCH_EXEC_NAMESPACE
}  // namespace ptxbench::emu
