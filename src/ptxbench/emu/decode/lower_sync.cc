// Barriers, fences, mbarrier objects and machine control.
#include "ptxbench/emu/decode/lowering.h"

namespace ptxbench::emu {

using isa::FormId;
using isa::Mod;
using isa::Slot;
using isa::Space;
using isa::Type;

namespace {

enum class Barrier { kSync, kArrive, kReduce };

void lower_barrier(Lowering& l, Barrier kind, bool aligned) {
  const ptx::Operand *number = l.find("a"), *threads = l.find("b"),
                     *predicate = kind == Barrier::kReduce ? l.find("c") : nullptr;
  Ref d = kNoRef;
  if (kind == Barrier::kReduce) d = l.destination(l.operands()[0]);
  const Ref a = l.value(*number, Type::kU32);
  const Ref b = threads == nullptr ? kNoRef : l.value(*threads, Type::kU32);
  const Ref c = predicate == nullptr ? kNoRef : l.value(*predicate, Type::kPred);
  ComplexExtra* x;
  Op& op = l.emit_complex(exec::barrier, x);
  op.d = d;
  op.a = a;
  op.b = b;
  x->imm = {kind == Barrier::kArrive, aligned, 0, 0};
  if (kind == Barrier::kReduce) {
    x->operation = l.instruction().slot(Slot::kOp);
    x->a = {c};
  }
}

// Address, then for most a count, a byte count, a state or a parity.
void lower_mbarrier(Lowering& l, ExecFn fn, const char* operand, Type type, std::int64_t imm0, std::int64_t imm1) {
  const ptx::Operand *addr = l.find("addr"), *value = operand == nullptr ? nullptr : l.find(operand);
  const AddressOperand address = l.address(*addr, l.space());
  const Ref a = value == nullptr ? kNoRef : l.value(*value, type);
  const ptx::Operand* state = l.find("state");
  const ptx::Operand* complete = l.find("wait_complete");
  Ref d = kNoRef;
  if (complete != nullptr) {
    d = l.destination(*complete);
  } else if (state != nullptr) {
    d = l.destination(*state);
  }
  ComplexExtra* x;
  Op& op = l.emit_complex(fn, x);
  op.d = d;
  op.a = a;
  x->address[0] = address;
  x->imm = {imm0, imm1, 0, 0};
}

void lower_cluster_barrier(Lowering& l, ExecFn fn) { l.emit(fn).small = l.instruction().has(Mod::kAligned); }

void lower_setmaxnreg(Lowering& l, bool increase) {
  const std::int64_t count = l.immediate(l.operands()[0]);
  Op& op = l.emit(exec::setmaxnreg);
  op.imm = count;
  op.small = increase;
}

bool lower_mbarrier_form(Lowering& l) {
  switch (l.instruction().form) {
    case FormId::kMbarrierInit: lower_mbarrier(l, exec::mbarrier_init, "count", Type::kU32, 0, 0); return true;
    case FormId::kMbarrierInval: lower_mbarrier(l, exec::mbarrier_inval, nullptr, Type::kNone, 0, 0); return true;
    case FormId::kMbarrierExpectTx:
      lower_mbarrier(l, exec::mbarrier_expect_tx, "tx_count", Type::kU32, 1, 0);
      return true;
    case FormId::kMbarrierCompleteTx:
      lower_mbarrier(l, exec::mbarrier_expect_tx, "tx_count", Type::kU32, -1, 0);
      return true;
    case FormId::kMbarrierArrive:
    case FormId::kMbarrierArriveNoComplete:
      lower_mbarrier(l, exec::mbarrier_arrive, "count", Type::kU32, 0, 0);
      return true;
    case FormId::kMbarrierArriveExpectTx:
      lower_mbarrier(l, exec::mbarrier_arrive, "tx_count", Type::kU32, 1, 0);
      return true;
    case FormId::kMbarrierArriveDrop:
    case FormId::kMbarrierArriveDropNoComplete:
      lower_mbarrier(l, exec::mbarrier_arrive, "count", Type::kU32, 0, 1);
      return true;
    case FormId::kMbarrierArriveDropExpectTx:
      lower_mbarrier(l, exec::mbarrier_arrive, "tx_count", Type::kU32, 1, 1);
      return true;
    case FormId::kMbarrierTestWait: lower_mbarrier(l, exec::mbarrier_wait, "state", Type::kU64, 0, 0); return true;
    case FormId::kMbarrierTestWaitParity:
      lower_mbarrier(l, exec::mbarrier_wait, "phase_parity", Type::kU32, 1, 0);
      return true;
    case FormId::kMbarrierTryWait: lower_mbarrier(l, exec::mbarrier_wait, "state", Type::kU64, 0, 1); return true;
    case FormId::kMbarrierTryWaitParity:
      lower_mbarrier(l, exec::mbarrier_wait, "phase_parity", Type::kU32, 1, 1);
      return true;
    case FormId::kMbarrierPendingCount: {
      const Ref d = l.destination(l.operands()[0]), a = l.value(1);
      Op& op = l.emit(exec::mbarrier_pending_count);
      op.d = d;
      op.a = a;
      return true;
    }
    case FormId::kCpAsyncMbarrierArrive: {
      const AddressOperand address = l.address(*l.find("addr"), l.space());
      ComplexExtra* x;
      l.emit_complex(exec::cp_async_mbarrier_arrive, x);
      x->address[0] = address;
      x->flag = l.instruction().has(Mod::kNoinc);
      return true;
    }
    default: return false;
  }
}

}  // namespace

bool lower_sync(Lowering& l) {
  if (lower_mbarrier_form(l)) return true;
  const bool aligned = l.instruction().has(Mod::kAligned);
  switch (l.instruction().form) {
    case FormId::kBarSync:
    case FormId::kBarCtaSync: lower_barrier(l, Barrier::kSync, true); return true;
    case FormId::kBarArrive:
    case FormId::kBarCtaArrive: lower_barrier(l, Barrier::kArrive, true); return true;
    case FormId::kBarRedPopc:
    case FormId::kBarRedPred:
    case FormId::kBarCtaRedPopc:
    case FormId::kBarCtaRedPred: lower_barrier(l, Barrier::kReduce, true); return true;
    case FormId::kBarrierSync:
    case FormId::kBarrierCtaSync: lower_barrier(l, Barrier::kSync, aligned); return true;
    case FormId::kBarrierArrive:
    case FormId::kBarrierCtaArrive: lower_barrier(l, Barrier::kArrive, aligned); return true;
    case FormId::kBarrierRedPopc:
    case FormId::kBarrierRedPred:
    case FormId::kBarrierCtaRedPopc:
    case FormId::kBarrierCtaRedPred: lower_barrier(l, Barrier::kReduce, aligned); return true;
    case FormId::kBarWarpSync: {
      const Ref member = l.value(0);
      l.emit(exec::warp_sync).a = member;
      return true;
    }
    case FormId::kBarrierClusterArrive: lower_cluster_barrier(l, exec::cluster_arrive); return true;
    case FormId::kBarrierClusterWait: lower_cluster_barrier(l, exec::cluster_wait); return true;
    case FormId::kSetmaxnregInc: lower_setmaxnreg(l, true); return true;
    case FormId::kSetmaxnregDec: lower_setmaxnreg(l, false); return true;
    case FormId::kNanosleep: l.emit(exec::nanosleep); return true;
    case FormId::kTrap:
    case FormId::kBrkpt: l.emit(exec::trap_instruction); return true;
    // Fences order memory that this machine never reorders; the operation is the hook for a checker of missing ones.
    case FormId::kMembar:
    case FormId::kFenceThread:
    case FormId::kFenceSyncRestrictAcquire:
    case FormId::kFenceSyncRestrictRelease:
    case FormId::kFenceMbarrierInit:
    case FormId::kMembarProxy:
    case FormId::kFenceProxyAlias:
    case FormId::kFenceProxyAsync:
    case FormId::kFenceProxyTensormapRelease:
    case FormId::kFenceProxyTensormapAcquire:
    case FormId::kFenceProxyAsyncGenericAcquire:
    case FormId::kFenceProxyAsyncGenericRelease:
    // Launches are synchronous: the grid before has ended, and the grid after starts when this one has.
    case FormId::kGriddepcontrolWait:
    case FormId::kGriddepcontrolLaunchDependents:
    case FormId::kPmevent:
    case FormId::kPmeventMask: l.emit(exec::nothing); return true;
    default: return false;
  }
}

}  // namespace ptxbench::emu
