// Loads, stores, atomics, cache hints.
#include "ptxbench/emu/decode/lowering.h"

namespace ptxbench::emu {

using isa::FormId;
using isa::Mod;
using isa::Slot;
using isa::Space;
using isa::Type;
using ptx::OperandKind;

namespace {

std::uint8_t register_bytes(Lowering& l, const ptx::Operand& operand, Type type) {
  for (const ptx::Operand& element :
       operand.kind == OperandKind::kVector ? l.function().elements(operand) : std::span(&operand, 1))
    if (element.kind == OperandKind::kReg) return std::uint8_t(l.register_bits(element.reg) / 8);
  return std::uint8_t(isa::bits(type) <= 32 ? 4 : isa::bits(type) / 8);
}

void set_address(MemoryExtra& x, const AddressOperand& address) {
  x.space = address.space;
  x.base_is_64 = address.base_is_64;
  x.adds_shared_base = address.adds_shared_base;
}

bool is_strong(const ptx::Instruction& i) {
  return i.has(Mod::kVolatile) || i.slot(Slot::kSem) != Mod::kNone || i.has(Mod::kMmio);
}

// .param and .param::entry / ::func mean the kernel's parameters in an entry and local memory in a function.
Space access_space(Lowering& l) {
  const std::string_view spelled = isa::spelling(l.instruction().slot(Slot::kSpace));
  return spelled.starts_with("param") ? Space::kParam : l.space();
}

void lower_load(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  const auto operands = l.operands();
  const Type type = i.type(Slot::kType);
  const AddressOperand address = l.address(operands[1], access_space(l));
  const auto registers = l.destinations(operands[0]);
  MemoryExtra x;
  set_address(x, address);
  x.registers = registers;
  x.bytes = std::uint8_t(isa::bytes(type));
  x.register_bytes = register_bytes(l, operands[0], type);
  x.sign_extend = isa::type_class(type) == isa::TypeClass::kSigned;
  x.strong = is_strong(i);
  x.range = l.new_range();
  const bool uniform = address.space == Space::kParam && address.base == kNoRef;
  const ExecFn fn = uniform ? exec_set().load_param : exec_set().load(x);
  if (fn == nullptr) throw Lowering::Unsupported{"a load of this width"};
  if (uniform) {
    const std::uint64_t size = l.function().param_bytes();
    if (address.offset < 0 || std::uint64_t(address.offset) + x.bytes * registers.size() > size)
      throw Lowering::Unsupported{"a load past the end of the kernel's parameters"};
  }
  Op& op = l.emit(fn);
  op.a = address.base;
  op.imm = address.offset;
  l.extra<MemoryExtra>(op) = x;
}

void lower_store(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  const auto operands = l.operands();
  const Type type = i.type(Slot::kType);
  const AddressOperand address = l.address(operands[0], access_space(l));
  MemoryExtra x;
  set_address(x, address);
  x.registers = l.values(operands[1], type);
  x.bytes = std::uint8_t(isa::bytes(type));
  x.register_bytes = register_bytes(l, operands[1], type);
  x.strong = is_strong(i);
  x.range = l.new_range();
  const ExecFn fn = exec_set().store(x);
  if (fn == nullptr) throw Lowering::Unsupported{"a store of this width"};
  Op& op = l.emit(fn);
  op.a = address.base;
  op.imm = address.offset;
  l.extra<MemoryExtra>(op) = x;
}

// atom d, [a], b{, c} and red [a], b.
void lower_atomic(Lowering& l, bool returns) {
  const ptx::Instruction& i = l.instruction();
  const auto operands = l.operands();
  const std::size_t at = returns ? 1 : 0;
  const Type type = i.type(Slot::kType);
  const AddressOperand address = l.address(operands[at], l.space());
  MemoryExtra x;
  set_address(x, address);
  x.bytes = std::uint8_t(isa::bytes(type));
  x.type = type;
  x.operation = i.slot(Slot::kOp);
  x.range = l.new_range();
  const bool vector = operands[at + 1].kind == OperandKind::kVector;
  Ref d = kNoRef, b = kNoRef, c = kNoRef;
  if (vector) {
    const auto values = l.values(operands[at + 1], type);
    x.registers = returns ? l.destinations(operands[0]) : std::vector<Ref>(values.size(), kNoRef);
    x.registers.insert(x.registers.end(), values.begin(), values.end());
  } else {
    if (returns) d = l.destination(operands[0]);
    b = l.value(operands[at + 1], type);
    if (i.form == FormId::kAtomCas) c = l.value(operands[at + 2], type);
  }
  Op& op = l.emit(atomic_function(x, returns));
  op.a = address.base;
  op.imm = address.offset;
  op.d = d;
  op.b = b;
  op.c = c;
  l.extra<MemoryExtra>(op) = x;
}

}  // namespace

bool lower_memory(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  switch (i.form) {
    case FormId::kLd:
    case FormId::kLdVolatile:
    case FormId::kLdOrdered:
    case FormId::kLdMmio:
    case FormId::kLdNc:
    case FormId::kLdu: lower_load(l); return true;
    case FormId::kSt:
    case FormId::kStVolatile:
    case FormId::kStOrdered:
    case FormId::kStMmio: lower_store(l); return true;
    case FormId::kAtomAdd:
    case FormId::kAtomIncDec:
    case FormId::kAtomMinMax:
    case FormId::kAtomLogic:
    case FormId::kAtomExch:
    case FormId::kAtomCas:
    case FormId::kAtomAddHalf:
    case FormId::kAtomVecF32:
    case FormId::kAtomVecHalf: lower_atomic(l, true); return true;
    case FormId::kRedAdd:
    case FormId::kRedIncDec:
    case FormId::kRedMinMax:
    case FormId::kRedLogic:
    case FormId::kRedAddHalf:
    case FormId::kRedVecF32:
    case FormId::kRedVecHalf: lower_atomic(l, false); return true;
    case FormId::kPrefetchTensormap: {
      const Space space = isa::spelling(i.slot(Slot::kSpace)).starts_with("param") ? Space::kParam : l.space();
      const AddressOperand address = l.address(l.operands()[0], space);
      ComplexExtra* x;
      l.emit_complex(exec::prefetch, x);
      x->address[0] = address;
      x->flag = true;
      return true;
    }
    case FormId::kPrefetch:
    case FormId::kPrefetchEvict:
    case FormId::kPrefetchu:
    case FormId::kApplypriority:
    case FormId::kDiscard: l.emit(exec::nothing); return true;
    case FormId::kCreatepolicyFractional:
    case FormId::kCreatepolicyRange:
    case FormId::kCreatepolicyCvt: {  // a policy has no effect on results; its value is opaque
      const Ref d = l.destination(l.operands()[0]), zero = l.constant(0, 64);
      Op& op = l.emit(exec_set().move64);
      op.d = d;
      op.a = zero;
      return true;
    }
    case FormId::kStAsync: {
      const auto operands = l.operands();
      const Type type = i.type(Slot::kType);
      const AddressOperand to = l.address(operands[0], Space::kSharedCluster),
                           mbar = l.address(operands[2], Space::kSharedCluster);
      const auto values = l.values(operands[1], type);
      ComplexExtra* x;
      l.emit_complex(exec::st_async, x);
      x->address[0] = to;
      x->address[1] = mbar;
      x->b = values;
      x->imm[0] = isa::bytes(type);
      return true;
    }
    default: return false;
  }
}

}  // namespace ptxbench::emu
