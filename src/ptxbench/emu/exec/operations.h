// The exec functions that are not lane-wise arithmetic, and the operands that they take. The decoder (decode/) fills them in.
#pragma once

#include <array>
#include <vector>

#include "ptxbench/emu/exec/address.h"
#include "ptxbench/emu/exec/exec_set.h"
#include "ptxbench/emu/tensor/mma_f64.h"
#include "ptxbench/emu/tensor/mma_sync.h"
#include "ptxbench/emu/warp.h"

namespace ptxbench::emu {

// [base + offset] with its state space.
struct AddressOperand {
  Ref base = kNoRef;
  bool base_is_64 = false;
  bool adds_shared_base = false;
  std::int64_t offset = 0;
  isa::Space space = isa::Space::kGeneric;
  std::uint64_t of(const Warp& warp, unsigned lane) const {
    return lane_address(warp, base, base_is_64, offset, adds_shared_base, lane);
  }
};

// Operands of everything with more than op.d .. op.c: which field is what, each function says.
struct ComplexExtra : OpExtra {
  isa::FormId form = isa::FormId::kCount;
  isa::Mod operation = isa::Mod::kNone;
  isa::Type type = isa::Type::kNone;
  std::array<AddressOperand, 4> address;
  std::vector<Ref> d, a, b, c;  // registers of vector operands
  std::vector<Ref> coords;      // tensor coordinates
  Ref mask = kNoRef;            // multicast CTA mask
  std::array<std::int64_t, 4> imm{};
  bool flag = false;
};

// mma.sync with its checked form.
struct MmaExtra : OpExtra {
  MmaForm form;
  std::vector<Ref> d, a, b, c;
  std::uint64_t flops = 0;
};

struct MmaF64Extra : OpExtra {
  MmaF64Shape shape;
  std::vector<Ref> d, a, b, c;
  std::uint64_t flops = 0;
};

struct PrintfExtra : OpExtra {
  AddressOperand format, arguments, result;
  bool has_result = false;
};

namespace exec {
// control.cc. bra: op.small target, op.imm join pc (kNoPc: none). call: op.small target, op.imm return pc.
Flow bra(Warp&, const Op&, Mask);
Flow join(Warp&, const Op&, Mask);
Flow call(Warp&, const Op&, Mask);
Flow ret(Warp&, const Op&, Mask);
Flow exit(Warp&, const Op&, Mask);
Flow trap_instruction(Warp&, const Op&, Mask);
Flow unsupported(Warp&, const Op&, Mask);  // op.extra: UnsupportedExtra
Flow nothing(Warp&, const Op&, Mask);      // fences, hints, events
Flow nanosleep(Warp&, const Op&, Mask);
Flow special_register(Warp&, const Op&, Mask);  // op.d, op.imm: the Sreg
Flow printf(Warp&, const Op&, Mask);
Flow assert_fail(Warp&, const Op&, Mask);  // ComplexExtra: address[0] message, [1] file, [2] line, [3] function
// move.cc
Flow move128(Warp&, const Op&, Mask);
Flow pack(Warp&, const Op&, Mask);        // ComplexExtra: a -> op.d; imm[0] element bits, imm[1] register bits
Flow unpack(Warp&, const Op&, Mask);      // op.a -> ComplexExtra d
Flow add_window(Warp&, const Op&, Mask);  // op.d (64) = op.a (64) + op.imm; a zero pointer stays zero
Flow sub_window(Warp&, const Op&, Mask);
Flow shared_symbol(Warp&, const Op&, Mask);  // op.d (op.small bits) = op.imm + window base of the CTA
Flow lop3_bool(Warp&, const Op&, Mask);
Flow set_result(Warp&, const Op&, Mask);  // op.d = op.a ? op.imm : 0; with op.b (the high half) two 16-bit values
Flow mapa(Warp&, const Op&, Mask);
Flow getctarank(Warp&, const Op&, Mask);
Flow isspacep(Warp&, const Op&, Mask);
Flow prefetch(Warp&, const Op&, Mask);
Flow copy_local(Warp&, const Op&, Mask);  // ComplexExtra imm: to, from, bytes in local memory
// sync.cc
Flow barrier(Warp&, const Op&, Mask);  // bar / barrier, all kinds
Flow warp_sync(Warp&, const Op&, Mask);
Flow cluster_arrive(Warp&, const Op&, Mask);
Flow cluster_wait(Warp&, const Op&, Mask);
Flow setmaxnreg(Warp&, const Op&, Mask);  // op.imm: count, op.small: 1 for inc
Flow mbarrier_init(Warp&, const Op&, Mask);
Flow mbarrier_inval(Warp&, const Op&, Mask);
Flow mbarrier_arrive(Warp&, const Op&, Mask);
Flow mbarrier_expect_tx(Warp&, const Op&, Mask);
Flow mbarrier_wait(Warp&, const Op&, Mask);
Flow mbarrier_pending_count(Warp&, const Op&, Mask);
// collective.cc: op.d, op.a, op.b membermask; op.small second destination
Flow vote(Warp&, const Op&, Mask);
Flow match(Warp&, const Op&, Mask);
Flow redux(Warp&, const Op&, Mask);
Flow elect(Warp&, const Op&, Mask);
Flow activemask(Warp&, const Op&, Mask);
// async_copy.cc
Flow cp_async(Warp&, const Op&, Mask);
Flow cp_async_commit(Warp&, const Op&, Mask);
Flow cp_async_wait(Warp&, const Op&, Mask);  // op.imm: groups that may stay, -1: wait_all
Flow cp_async_mbarrier_arrive(Warp&, const Op&, Mask);
Flow bulk_copy(Warp&, const Op&, Mask);    // cp.async.bulk, cp.reduce.async.bulk
Flow tensor_copy(Warp&, const Op&, Mask);  // cp.async.bulk.tensor, cp.reduce.async.bulk.tensor
Flow tensor_prefetch(Warp&, const Op&, Mask);
Flow bulk_commit(Warp&, const Op&, Mask);
Flow bulk_wait(Warp&, const Op&, Mask);  // op.imm: groups that may stay
Flow st_async(Warp&, const Op&, Mask);
Flow tensormap_replace(Warp&, const Op&, Mask);
// matrix.cc
Flow ldmatrix(Warp&, const Op&, Mask);
Flow stmatrix(Warp&, const Op&, Mask);
Flow movmatrix(Warp&, const Op&, Mask);
Flow mma(Warp&, const Op&, Mask);
Flow mma_f64(Warp&, const Op&, Mask);
Flow wgmma(Warp&, const Op&, Mask);  // WgmmaExtra
Flow wgmma_commit(Warp&, const Op&, Mask);
Flow wgmma_wait(Warp&, const Op&, Mask);         // op.imm: groups that may stay
Flow aligned_nothing(Warp&, const Op&, Mask);    // wgmma.fence
Flow guard_accumulator(Warp&, const Op&, Mask);  // AccumulatorExtra: an ordinary operation on a wgmma accumulator
}  // namespace exec

struct UnsupportedExtra : OpExtra {
  std::string what;
};
struct AccumulatorExtra : OpExtra {
  Op inner;                  // the operation itself
  std::vector<Ref> touched;  // accumulator registers that it reads or writes
  bool is_move = false;
};

}  // namespace ptxbench::emu
