// Lane-wise arithmetic, comparison, selection and conversion: operands in the order of the form.
#include "ptxbench/emu/decode/lowering.h"
#include "ptxbench/isa/sregs.h"

namespace ptxbench::emu {

using isa::FormId;
using isa::Mod;
using isa::Slot;
using isa::Type;
using ptx::OperandKind;

namespace {

// The two destinations of setp, shfl and the like.
std::pair<Ref, Ref> destination_pair(Lowering& l, const ptx::Operand& operand) {
  if (operand.kind != OperandKind::kPair) return {l.destination(operand), kNoRef};
  const auto elements = l.function().elements(operand);
  return {l.destination(elements[0]), l.destination(elements[1])};
}

// setp: p{|q}, a, b{, c}.
bool lower_setp(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  const ExecFn fn = exec_set().compare(i);
  if (fn == nullptr) return false;
  const auto operands = l.operands();
  const auto [p, q] = destination_pair(l, operands[0]);
  const Ref a = l.value(1), b = l.value(2);
  const Ref c = operands.size() > 3 ? l.value(operands[3], Type::kPred) : kNoRef;
  Op& op = l.emit(fn);
  op.d = p;
  op.a = a;
  op.b = b;
  op.c = c;
  op.small = q;
  op.imm = std::int64_t(i.slot(Slot::kBool));
  return true;
}

// set: a comparison into temporaries, then the word for true or false (all ones, or 1.0).
bool lower_set(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  const ExecFn fn = exec_set().compare(i);
  if (fn == nullptr) return false;
  const auto operands = l.operands();
  const bool pair = i.type(Slot::kStype) == Type::kF16x2 || i.type(Slot::kStype) == Type::kBf16x2;
  const Ref d = l.destination(operands[0]), a = l.value(1), b = l.value(2);
  const Ref c = operands.size() > 3 ? l.value(operands[3], Type::kPred) : kNoRef;
  const Ref low = l.temporary(32), high = l.temporary(32);
  Op& compare = l.emit(fn);
  compare.d = low;
  compare.a = a;
  compare.b = b;
  compare.c = c;
  compare.small = high;
  compare.imm = std::int64_t(i.slot(Slot::kBool));
  std::uint32_t yes = 0xffffffffu;
  switch (i.type(Slot::kDtype)) {
    case Type::kF32: yes = 0x3f800000u; break;
    case Type::kF16:
    case Type::kF16x2: yes = 0x3c00u; break;
    case Type::kBf16:
    case Type::kBf16x2: yes = 0x3f80u; break;
    case Type::kU16:
    case Type::kS16: yes = 0xffffu; break;
    default: yes = pair ? 0xffffu : 0xffffffffu; break;
  }
  Op& op = l.emit(exec::set_result);
  op.d = d;
  op.a = low;
  op.b = pair ? high : kNoRef;
  op.imm = yes;
  return true;
}

bool lower_convert(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  const auto operands = l.operands();
  const unsigned bits = operands[0].kind == OperandKind::kReg ? l.register_bits(operands[0].reg) : 32;
  const ExecFn fn = exec_set().convert(i, bits < 16 ? 16 : bits);
  if (fn == nullptr) return false;
  const Ref d = l.destination(operands[0]);
  const Ref a = l.value(1), b = operands.size() > 2 ? l.value(2) : kNoRef;
  Op& op = l.emit(fn);
  op.d = d;
  op.a = a;
  op.b = b;
  op.imm = exec_set().convert_descriptor(i);
  op.small = bits == 64 ? 0 : bits < 32 ? 0xffffu : 0xffffffffu;
  return true;
}

}  // namespace

bool lower_arithmetic(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  switch (i.form) {
    case FormId::kSetpInt:
    case FormId::kSetpBoolInt:
    case FormId::kSetpF32:
    case FormId::kSetpBoolF32:
    case FormId::kSetpF64:
    case FormId::kSetpBoolF64:
    case FormId::kSetpF16:
    case FormId::kSetpBoolF16:
    case FormId::kSetpBf16:
    case FormId::kSetpBoolBf16:
    case FormId::kSetpF16x2:
    case FormId::kSetpBoolF16x2:
    case FormId::kSetpBf16x2:
    case FormId::kSetpBoolBf16x2: return lower_setp(l);
    case FormId::kSetInt:
    case FormId::kSetBoolInt:
    case FormId::kSetF32:
    case FormId::kSetBoolF32:
    case FormId::kSetF64:
    case FormId::kSetBoolF64:
    case FormId::kSetF16:
    case FormId::kSetBoolF16:
    case FormId::kSetBf16:
    case FormId::kSetBoolBf16: return lower_set(l);
    default: break;
  }
  if (isa::form(i.form).form_class == isa::FormClass::kConvert) return lower_convert(l);
  const ExecFn fn = exec_set().alu(i);
  if (fn == nullptr) return false;
  const auto operands = l.operands();
  const Ref d = l.destination(operands[0]);
  Ref source[4] = {kNoRef, kNoRef, kNoRef, kNoRef};
  std::int64_t imm = 0;
  if (i.form == FormId::kLop3) {
    for (std::size_t k = 0; k < 3; ++k) source[k] = l.value(k + 1);
    imm = l.immediate(operands[4]);
  } else {
    for (std::size_t k = 1; k < operands.size() && k <= 4; ++k) source[k - 1] = l.value(k);
    imm = i.form == FormId::kBfi     ? std::int64_t(source[3])
          : i.form == FormId::kTestp ? std::int64_t(i.slot(Slot::kOp))
                                     : 0;
  }
  Op& op = l.emit(fn);
  op.d = d;
  op.a = source[0];
  op.b = source[1];
  op.c = source[2];
  op.imm = imm;
  return true;
}

}  // namespace ptxbench::emu
