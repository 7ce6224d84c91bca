// What each chapter of exec/simd offers to the set of its SIMD level.
#pragma once

#include "ptxbench/emu/exec/exec_set.h"

namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE {

ExecFn integer_function(const ptx::Instruction& instruction);
ExecFn float_function(const ptx::Instruction& instruction);
ExecFn half_function(const ptx::Instruction& instruction);
ExecFn select_function(const ptx::Instruction& instruction);   // set, selp, slct, testp
ExecFn compare_function(const ptx::Instruction& instruction);  // setp
ExecFn convert_function(const ptx::Instruction& instruction, unsigned destination_bits);
std::int64_t convert_descriptor(const ptx::Instruction& instruction);
ExecFn load_function(const MemoryExtra& extra);
ExecFn store_function(const MemoryExtra& extra);
ExecFn shuffle_function(const ptx::Instruction& instruction);
Flow load_param(Warp& warp, const Op& op, Mask mask);
Flow move32(Warp& warp, const Op& op, Mask mask);
Flow move64(Warp& warp, const Op& op, Mask mask);
Flow move_predicate(Warp& warp, const Op& op, Mask mask);

}  // namespace ptxbench::emu::PTXBENCH_EXEC_NAMESPACE
