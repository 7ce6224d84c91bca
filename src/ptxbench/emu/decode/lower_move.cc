// Moves, packing, addresses and warp exchange.
#include "ptxbench/emu/decode/lowering.h"
#include "ptxbench/emu/memory.h"
#include "ptxbench/isa/sregs.h"

namespace ptxbench::emu {

using isa::FormId;
using isa::Mod;
using isa::Slot;
using isa::Space;
using isa::Type;
using ptx::OperandKind;

namespace {

ExecFn move_function(unsigned bits) {
  return bits == 128 ? exec::move128 : bits == 64 ? exec_set().move64 : exec_set().move32;
}

void lower_mov(Lowering& l) {
  const auto operands = l.operands();
  const Type type = l.instruction().type(Slot::kType);
  const unsigned bits = isa::bits(type);
  const ptx::Operand &to = operands[0], &from = operands[1];
  if (to.kind == OperandKind::kVector) {
    const auto count = unsigned(l.function().elements(to).size());
    const Ref a = l.value(from, type);
    const auto d = l.destinations(to);
    ComplexExtra* x;
    Op& op = l.emit_complex(exec::unpack, x);
    op.a = a;
    x->d = d;
    x->imm = {bits / count, bits, 0, 0};
    return;
  }
  const Ref d = l.destination(to);
  if (from.kind == OperandKind::kVector) {
    const auto elements = l.function().elements(from);
    const unsigned element = bits / unsigned(elements.size());
    const Type element_type = element == 64   ? Type::kB64
                              : element == 32 ? Type::kB32
                              : element == 16 ? Type::kB16
                                              : Type::kB8;
    const auto sources = l.values(from, element_type);
    ComplexExtra* x;
    Op& op = l.emit_complex(exec::pack, x);
    op.d = d;
    x->a = sources;
    x->imm = {element, bits, 0, 0};
    return;
  }
  if (from.kind == OperandKind::kSpecial) {
    const unsigned width = isa::bits(isa::info(from.sreg).type);
    if (width == (bits < 32 ? 32 : bits)) {
      Op& op = l.emit(exec::special_register);
      op.d = d;
      op.imm = std::int64_t(from.sreg);
      return;
    }
    throw Lowering::Unsupported{"a special register moved to a register of another width"};
  }
  const Ref a = l.value(from, type);
  if (a == d) {
    l.emit(exec::nothing);
    return;
  }
  Op& op = l.emit(move_function(bits));
  op.d = d;
  op.a = a;
}

// cvta and cvta.to: global and const addresses are generic addresses already.
void lower_cvta(Lowering& l, bool to_space) {
  const auto operands = l.operands();
  const Space space = l.space();
  const unsigned bits = isa::bits(l.instruction().type(Slot::kType));
  std::int64_t base = 0;
  if (space == Space::kSharedCta || space == Space::kSharedCluster) base = std::int64_t(window_base(Window::kShared));
  if (space == Space::kLocal) base = std::int64_t(window_base(Window::kLocal));
  if (space == Space::kParam) base = std::int64_t(window_base(l.function().is_entry ? Window::kParam : Window::kLocal));
  if (isa::spelling(l.instruction().slot(Slot::kSpace)).starts_with("param"))
    base = std::int64_t(window_base(l.function().is_entry ? Window::kParam : Window::kLocal));
  const Ref d = l.destination(operands[0]);
  const Ref a = l.value(operands[1], l.instruction().type(Slot::kType));
  if (bits != 64) {
    if (base != 0) throw Lowering::Unsupported{"cvta of 32-bit generic addresses"};
    Op& op = l.emit(exec_set().move32);
    op.d = d;
    op.a = a;
    return;
  }
  Op& op = l.emit(base == 0 ? exec_set().move64 : to_space ? exec::sub_window : exec::add_window);
  op.d = d;
  op.a = a;
  op.imm = base;
}

void lower_mapa(Lowering& l, ExecFn fn) {
  const auto operands = l.operands();
  const unsigned bits = isa::bits(l.instruction().type(Slot::kType));
  const Ref d = l.destination(operands[0]);
  const Ref a = l.value(operands[1], l.instruction().type(Slot::kType));
  const Ref b = operands.size() > 2 ? l.value(2) : kNoRef;
  ComplexExtra* x;
  Op& op = l.emit_complex(fn, x);
  op.d = d;
  op.a = a;
  op.b = b;
  op.small = bits;
  x->flag = l.instruction().has(Mod::kSharedCluster);
}

void lower_shuffle(Lowering& l) {
  const auto operands = l.operands();
  Ref d, p = kNoRef;
  if (operands[0].kind == OperandKind::kPair) {
    d = l.destination(l.function().elements(operands[0])[0]);
    p = l.destination(l.function().elements(operands[0])[1]);
  } else {
    d = l.destination(operands[0]);
  }
  const Ref a = l.value(1), b = l.value(2), c = l.value(3), member = l.value(4);
  Op& op = l.emit(exec_set().shuffle(l.instruction()));
  op.d = d;
  op.a = a;
  op.b = b;
  op.c = c;
  op.small = member;
  op.imm = p;
}

// vote, match, redux, elect: destination(s), [value], membermask.
void lower_collective(Lowering& l, ExecFn fn) {
  const auto operands = l.operands();
  Ref d, p = kNoRef;
  if (operands[0].kind == OperandKind::kPair) {
    d = l.destination(l.function().elements(operands[0])[0]);
    p = l.destination(l.function().elements(operands[0])[1]);
  } else {
    d = l.destination(operands[0]);
  }
  const bool has_value = operands.size() > 2;
  const bool predicate = has_value && l.pattern(1).alternatives.front().shape == isa::OperandShape::kPredVal;
  const Ref a = has_value ? l.value(operands[1], predicate ? Type::kPred : l.type_of(1)) : kNoRef;
  const Ref member = l.value(operands.size() - 1);
  ComplexExtra* x;
  Op& op = l.emit_complex(fn, x);
  op.d = d;
  op.a = a;
  op.b = member;
  op.small = p;
  x->operation = l.instruction().slot(Slot::kOp);
  x->type = l.instruction().type(Slot::kType);
  x->imm[0] = isa::bits(x->type);
}

}  // namespace

bool lower_move(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  const auto operands = l.operands();
  switch (i.form) {
    case FormId::kMov: lower_mov(l); return true;
    case FormId::kMovPred: {
      const Ref d = l.destination(operands[0]), a = l.value(operands[1], Type::kPred);
      Op& op = l.emit(exec_set().move_predicate);
      op.d = d;
      op.a = a;
      return true;
    }
    case FormId::kCvta: lower_cvta(l, false); return true;
    case FormId::kCvtaTo: lower_cvta(l, true); return true;
    case FormId::kMapa: lower_mapa(l, exec::mapa); return true;
    case FormId::kGetctarank: lower_mapa(l, exec::getctarank); return true;
    case FormId::kIsspacep: {
      const Ref d = l.destination(operands[0]), a = l.value(operands[1], Type::kU64);
      ComplexExtra* x;
      Op& op = l.emit_complex(exec::isspacep, x);
      op.d = d;
      op.a = a;
      const bool param = isa::spelling(i.slot(Slot::kSpace)).starts_with("param");
      x->imm[0] = std::int64_t(param ? Space::kParam : l.space());
      return true;
    }
    case FormId::kLop3Bool: {
      Ref d = kNoRef, p = kNoRef;
      if (operands[0].kind == OperandKind::kPair) {
        d = l.destination(l.function().elements(operands[0])[0]);
        p = l.destination(l.function().elements(operands[0])[1]);
      } else {
        d = l.destination(operands[0]);
      }
      const Ref a = l.value(1), b = l.value(2), c = l.value(3), q = l.value(operands[5], Type::kPred);
      ComplexExtra* x;
      Op& op = l.emit_complex(exec::lop3_bool, x);
      op.d = d;
      op.a = a;
      op.b = b;
      op.c = c;
      op.small = p;
      op.imm = l.immediate(operands[4]);
      x->a = {q};
      x->operation = i.slot(Slot::kBool);
      return true;
    }
    case FormId::kShflSync: lower_shuffle(l); return true;
    case FormId::kVoteSync:
    case FormId::kVoteSyncBallot: lower_collective(l, exec::vote); return true;
    case FormId::kMatchAny:
    case FormId::kMatchAll: lower_collective(l, exec::match); return true;
    case FormId::kReduxInt:
    case FormId::kReduxLogic: lower_collective(l, exec::redux); return true;
    case FormId::kElectSync: lower_collective(l, exec::elect); return true;
    case FormId::kActivemask: {
      const Ref d = l.destination(operands[0]);
      l.emit(exec::activemask).d = d;
      return true;
    }
    default: return false;
  }
}

}  // namespace ptxbench::emu
