// Control flow and calls.
#include "ptxbench/emu/decode/lowering.h"

namespace ptxbench::emu {

using isa::FormId;
using isa::Space;
using isa::Type;
using ptx::OperandKind;

void Lowering::lower_flow() {
  const std::uint32_t index = std::uint32_t(instruction_ - function().instructions.data());
  const std::uint32_t block = frame_->graph.block_of[index];
  const std::uint32_t join = frame_->graph.blocks[block].join;
  switch (instruction_->form) {
    case FormId::kRet: emit(exec::ret); return;
    case FormId::kExit: emit(exec::exit); return;
    case FormId::kBra: {
      const auto targets = branch_targets(function(), *instruction_);
      emit(exec::bra);
      jumps_.push_back({program_->ops.size() - 1, frame_->graph.block_of[targets.at(0)], join});
      return;
    }
    default: break;
  }
  // brx.idx: one comparison and branch for each entry of the list; an index past it is undefined in PTX and traps here.
  const Ref index_value = value(0);
  counted_op_ = std::uint32_t(program_->ops.size());
  const auto targets = branch_targets(function(), *instruction_);
  const Ref hit = temporary(32);
  ptx::Instruction compare;
  compare.form = FormId::kSetpInt;
  const auto elements = isa::modifier_elements(FormId::kSetpInt);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].slot == isa::Slot::kCmp) compare.mods[i] = isa::Mod::kEq;
    if (elements[i].slot == isa::Slot::kType) compare.mods[i] = isa::Mod::kU32;
  }
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const Ref number = constant(k, 32);
    Op& test = emit(exec_set().compare(compare));
    test.d = hit;
    test.a = index_value;
    test.b = number;
    test.small = kNoRef;
    Op& jump = emit(exec::bra);
    if (jump.guard != kNoRef) throw Unsupported{"a brx.idx under a predicate"};
    jump.guard = hit;
    jumps_.push_back({program_->ops.size() - 1, frame_->graph.block_of[targets[k]], join});
  }
  emit(exec::trap_instruction);
}

// Lane by lane copies between the callers' and the callees' parameter areas, which are both local memory.
void Lowering::copy_local(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  ComplexExtra* x;
  emit_complex(exec::copy_local, x);
  x->imm = {std::int64_t(to), std::int64_t(from), std::int64_t(bytes), 0};
}

void Lowering::lower_call() {
  const ptx::Function* callee = callee_of(function(), *instruction_);
  if (callee == nullptr) throw Unsupported{"an indirect call"};
  if (!callee->has_body) return lower_external_call(callee->name);
  if (recursive_.count(callee) != 0) throw Unsupported{fmt::format("a call of {}, which is recursive", callee->name)};
  Frame& target = *frame_of_.at(callee);
  const ptx::Operand *arguments = find("params"), *results = find("returns");
  const auto actual = arguments == nullptr ? std::span<const ptx::Operand>{} : function().elements(*arguments);
  const auto returned = results == nullptr ? std::span<const ptx::Operand>{} : function().elements(*results);
  if (actual.size() != callee->params.size() || returned.size() != callee->returns.size())
    throw Unsupported{fmt::format("a call of {} with another number of arguments than it has", callee->name)};
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const ptx::Param& formal = callee->params[i];
    if (actual[i].kind == OperandKind::kSymbol && !formal.is_register) {
      copy_local(target.params[i], symbol_address(actual[i].symbol), formal.size);
      continue;
    }
    const Ref source = value(actual[i], formal.type);
    const unsigned bits = isa::bits(formal.type);
    if (formal.is_register) {
      Op& move = emit(bits == 64 ? exec_set().move64 : exec_set().move32);
      move.a = source;
      move.d = target.places.of.at(formal.reg);
      if (move.d == kNoRef) move.d = temporary(bits);
      continue;
    }
    MemoryExtra memory;
    memory.registers = {source};
    memory.space = Space::kLocal;
    memory.bytes = std::uint8_t(isa::bytes(formal.type));
    memory.register_bytes = bits == 64 ? 8 : 4;
    Op& store = emit(exec_set().store(memory));
    store.imm = std::int64_t(target.params[i]);
    extra<MemoryExtra>(store) = memory;
  }
  Op& call = emit(exec::call);
  call.imm = std::int64_t(program_->ops.size());  // the join that follows
  calls_.push_back({program_->ops.size() - 1, callee});
  counted_op_ = std::uint32_t(program_->ops.size() - 1);
  Op& back = emit(exec::join);
  back.guard = kNoRef;
  for (std::size_t i = 0; i < returned.size(); ++i) {
    const ptx::Param& formal = callee->returns[i];
    if (returned[i].kind == OperandKind::kSymbol && !formal.is_register) {
      copy_local(symbol_address(returned[i].symbol), target.returns[i], formal.size);
    } else if (formal.is_register) {
      const Ref d = destination(returned[i]);
      Op& move = emit(isa::bits(formal.type) == 64 ? exec_set().move64 : exec_set().move32);
      move.d = d;
      move.a = target.places.of.at(formal.reg);
    } else {
      throw Unsupported{fmt::format("a call of {} that returns .param into a register", callee->name)};
    }
  }
}

void Lowering::lower_external_call(const std::string& name) {
  const ptx::Operand *arguments = find("params"), *results = find("returns");
  const auto actual = arguments == nullptr ? std::span<const ptx::Operand>{} : function().elements(*arguments);
  auto local = [&](std::size_t i) {
    if (i >= actual.size() || actual[i].kind != OperandKind::kSymbol)
      throw Unsupported{fmt::format("a call of {} without .param arguments", name)};
    AddressOperand operand;
    operand.space = Space::kLocal;
    operand.offset = std::int64_t(symbol_address(actual[i].symbol));
    return operand;
  };
  if (name == "vprintf") {
    PrintfExtra x;
    x.format = local(0);
    x.arguments = local(1);
    if (results != nullptr && !function().elements(*results).empty()) {
      const ptx::Operand& result = function().elements(*results)[0];
      if (result.kind == OperandKind::kSymbol) {
        x.has_result = true;
        x.result.space = Space::kLocal;
        x.result.offset = std::int64_t(symbol_address(result.symbol));
      }
    }
    Op& op = emit(exec::printf);
    auto& kept = extra<PrintfExtra>(op);
    kept.format = x.format;
    kept.arguments = x.arguments;
    kept.result = x.result;
    kept.has_result = x.has_result;
    return;
  }
  if (name == "__assertfail") {
    const std::array<AddressOperand, 4> addresses{local(0), local(1), local(2), local(3)};
    ComplexExtra* x;
    emit_complex(exec::assert_fail, x);
    x->address = addresses;
    return;
  }
  throw Unsupported{fmt::format("a call of the external function {}", name)};
}

}  // namespace ptxbench::emu
