#include "ptxbench/emu/decode/lowering.h"

#include <algorithm>
#include <cstring>

#include "ptxbench/base/check.h"
#include "ptxbench/emu/cta.h"
#include "ptxbench/emu/decode/operands.h"
#include "ptxbench/emu/memory.h"
#include "ptxbench/emu/wgmma_queue.h"

namespace ptxbench::emu {

using isa::FormId;
using isa::Space;
using isa::Type;
using ptx::OperandKind;
using ptx::SymbolKind;

namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return unit == 0 ? value : (value + unit - 1) / unit * unit;
}
constexpr std::uint32_t kTemporaryBytes = 16 * 256;

bool is_shared(Space space) {
  return space == Space::kShared || space == Space::kSharedCta || space == Space::kSharedCluster;
}

// Families as evidence wants them: under "tma" only what moves data (not fences, prefetches and edits of tensor maps).
isa::Family counted_family(FormId form) {
  const isa::Family family = isa::form(form).family;
  if (family != isa::Family::kTma && family != isa::Family::kBulk) return family;
  switch (form) {
    case FormId::kCpAsyncBulkTensorG2S:
    case FormId::kCpAsyncBulkTensorG2SCta:
    case FormId::kCpAsyncBulkTensorS2G:
    case FormId::kCpReduceAsyncBulkTensor: return isa::Family::kTma;
    default: break;
  }
  const bool moves = isa::form(form).form_class == isa::FormClass::kAsyncCopy && family == isa::Family::kBulk &&
                     form != FormId::kCpAsyncBulkPrefetch && form != FormId::kCpAsyncBulkCommitGroup &&
                     form != FormId::kCpAsyncBulkWaitGroup;
  return moves ? isa::Family::kBulk : isa::Family::kNone;
}

}  // namespace

Lowering::Lowering(const ptx::Module& module, const GlobalAddresses& globals, const ptx::Function& entry)
    : module_(module), globals_(globals), entry_(entry), program_(std::make_unique<Program>()) {}

// The function that a direct call names: its definition, if the module has one.
const ptx::Function* Lowering::callee_of(const ptx::Function& function, const ptx::Instruction& instruction) const {
  for (const ptx::Operand& operand : function.operands(instruction)) {
    if (operand.kind != OperandKind::kSymbol || operand.symbol.kind != SymbolKind::kFunction) continue;
    const ptx::Function* callee = &module_.functions.at(operand.symbol.index);
    if (!callee->alias_of.empty()) callee = module_.function(callee->alias_of);
    if (callee != nullptr && !callee->has_body) {
      const ptx::Function* definition = module_.function(callee->name);
      if (definition != nullptr && definition->has_body) callee = definition;
    }
    return callee;
  }
  return nullptr;
}

void Lowering::collect_callees(const ptx::Function& function, std::vector<const ptx::Function*>& path) {
  path.push_back(&function);
  for (const ptx::Instruction& instruction : function.instructions) {
    if (instruction.form != FormId::kCall) continue;
    const ptx::Function* callee = callee_of(function, instruction);
    if (callee == nullptr || !callee->has_body) continue;
    const auto on_path = std::find(path.begin(), path.end(), callee);
    if (on_path != path.end()) {
      for (auto f = on_path; f != path.end(); ++f) recursive_[*f] = true;
      continue;
    }
    if (frame_of_.count(callee) != 0) continue;
    plan_function(*callee, false);
    collect_callees(*callee, path);
  }
  path.pop_back();
}

// Registers, local variables and call parameters of a function have fixed places: functions are not recursive.
void Lowering::plan_function(const ptx::Function& function, bool is_entry) {
  frames_.push_back(std::make_unique<Frame>(function));
  Frame& frame = *frames_.back();
  frame_of_[&function] = &frame;
  frame.places = allocate_registers(function, frame.graph, frame_end_);
  frame_end_ = frame.places.frame_bytes;
  program_->register_estimate += frame.places.words_live;
  auto place_local = [&](std::uint64_t size, std::uint64_t align) {
    local_end_ = std::uint32_t(round_up(local_end_, std::max<std::uint64_t>(align, 1)));
    const std::uint64_t at = local_end_;
    local_end_ += std::uint32_t(size);
    return at;
  };
  for (const ptx::Variable& variable : function.variables)
    frame.variables.push_back(variable.space == Space::kLocal || variable.space == Space::kParam
                                  ? place_local(variable.size, variable.align)
                                  : 0);
  if (is_entry) {
    for (const ptx::Param& param : function.params) frame.params.push_back(param.offset);
    return;
  }
  for (const ptx::Param& param : function.params)
    frame.params.push_back(place_local(param.size, std::max<std::uint64_t>(param.align, 8)));
  for (const ptx::Param& result : function.returns)
    frame.returns.push_back(place_local(result.size, std::max<std::uint64_t>(result.align, 8)));
}

// Shared variables of the kernel and its callees one after the other, then the dynamic part, on which all unsized extern arrays lie.
void Lowering::place_shared() {
  std::uint64_t end = kSharedStart, dynamic_align = 16;
  std::vector<char> used(module_.variables.size(), 0);
  for (const auto& frame : frames_)
    for (const ptx::Operand& operand : frame->function->operand_pool)
      if ((operand.kind == OperandKind::kSymbol || operand.kind == OperandKind::kAddress) &&
          operand.symbol.kind == SymbolKind::kGlobal && operand.symbol.index < used.size() &&
          (operand.kind == OperandKind::kSymbol || operand.base == ptx::AddressBase::kSymbol))
        used[operand.symbol.index] = 1;
  std::vector<std::uint32_t> dynamic;
  for (std::uint32_t v = 0; v < module_.variables.size(); ++v) {
    const ptx::Variable& variable = module_.variables[v];
    if (used[v] == 0 || !is_shared(variable.space)) continue;
    if (variable.size == 0) {
      dynamic_align = std::max<std::uint64_t>(dynamic_align, variable.align);
      dynamic.push_back(v);
      continue;
    }
    end = round_up(end, variable.align);
    module_shared_[{0, v}] = end;
    end += variable.size;
  }
  for (const auto& frame : frames_) {
    for (std::size_t v = 0; v < frame->function->variables.size(); ++v) {
      const ptx::Variable& variable = frame->function->variables[v];
      if (!is_shared(variable.space)) continue;
      end = round_up(end, variable.align);
      frame->variables[v] = end;
      end += variable.size;
    }
  }
  if (!dynamic.empty()) end = round_up(end, dynamic_align);
  for (std::uint32_t v : dynamic) module_shared_[{0, v}] = end;
  program_->static_shared = std::uint32_t(end - kSharedStart);
}

std::unique_ptr<Program> Lowering::run() {
  program_->module = &module_;
  program_->entry = &entry_;
  plan_function(entry_, true);
  std::vector<const ptx::Function*> path;
  collect_callees(entry_, path);
  temporary_base_ = frame_end_;
  frame_end_ += kTemporaryBytes;
  accumulator_.assign(frame_end_ / 128 + 1, 0);
  for (const auto& frame : frames_)
    for (const ptx::Instruction& instruction : frame->function->instructions)
      if (isa::form(instruction.form).family == isa::Family::kWgmma) {
        ++program_->wgmma_issues;
        for (std::uint32_t r : register_access(*frame->function, instruction).defs)
          accumulator_[frame->places.of[r] / 128] = 1;
      }
  place_shared();
  for (const auto& frame : frames_) lower_function(*frame);
  for (const auto& [op, callee] : calls_) program_->ops[op].small = frame_of_.at(callee)->first_pc;
  program_->frame_bytes = frame_end_;
  program_->local_bytes = std::uint32_t(round_up(local_end_, 16));
  program_->register_estimate = std::min<std::uint32_t>(255, std::max<std::uint32_t>(16, program_->register_estimate));
  // constant_base() finds the 64-byte aligned start; leave room for it.
  program_->constants.resize(pool_.size() + 64);
  std::ranges::copy(pool_, const_cast<std::byte*>(program_->constant_base()));
  return std::move(program_);
}

void Lowering::lower_function(Frame& frame) {
  frame_ = &frame;
  frame.first_pc = std::uint32_t(program_->ops.size());
  frame.block_pc.assign(frame.graph.blocks.size(), 0);
  const std::size_t first_jump = jumps_.size();
  for (std::size_t b = 0; b < frame.graph.blocks.size(); ++b) {
    const FlowGraph::Block& block = frame.graph.blocks[b];
    frame.block_pc[b] = std::uint32_t(program_->ops.size());
    if (block.is_join) {
      program_->sites.push_back({frame.function, nullptr, false, 0, isa::Family::kNone});
      site_ = std::uint32_t(program_->sites.size() - 1);
      instruction_ = nullptr;
      emit(exec::join);
    }
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      instruction_ = &frame.function->instructions[i];
      lower_instruction();
    }
  }
  // Falling off the end returns.
  program_->sites.push_back({frame.function, nullptr, false, 0, isa::Family::kNone});
  site_ = std::uint32_t(program_->sites.size() - 1);
  instruction_ = nullptr;
  emit(exec::ret);
  for (std::size_t j = first_jump; j < jumps_.size(); ++j) {
    Op& op = program_->ops[jumps_[j].op];
    op.small = frame.block_pc[jumps_[j].block];
    op.imm = jumps_[j].join == kNoPc ? kNoPc : frame.block_pc[jumps_[j].join];
  }
}

void Lowering::lower_instruction() {
  const std::size_t first_op = program_->ops.size();
  site_ = std::uint32_t(program_->sites.size());
  program_->sites.push_back({frame_->function, instruction_, true, 0, counted_family(instruction_->form)});
  patterns_ = match_operands(*instruction_);
  temporaries_ = 0;
  counted_op_ = kNoPc;
  std::string why;
  try {
    dispatch();
    guard_accumulators(first_op);
  } catch (const Unsupported& unsupported) {
    why = unsupported.what;
  }
  if (!why.empty()) {
    program_->ops.resize(first_op);
    counted_op_ = kNoPc;
    while (!jumps_.empty() && jumps_.back().op >= first_op) jumps_.pop_back();
    while (!calls_.empty() && calls_.back().first >= first_op) calls_.pop_back();
    Op& op = emit(exec::unsupported);
    extra<UnsupportedExtra>(op).what = why;
  }
  program_->sites[site_].counted_pc = counted_op_ != kNoPc ? counted_op_ : std::uint32_t(program_->ops.size() - 1);
}

void Lowering::dispatch() {
  const isa::Form& form = isa::form(instruction_->form);
  if (form.status != isa::FormStatus::kFull)
    throw Unsupported{form.status == isa::FormStatus::kRefused
                          ? fmt::format("{} is refused: {}", form.head, form.refused_why)
                          : fmt::format("{} ({}) is parsed but not executed", form.head, form.name)};
  switch (instruction_->form) {
    case FormId::kBra:
    case FormId::kBrxIdx:
    case FormId::kRet:
    case FormId::kExit: return lower_flow();
    case FormId::kCall: return lower_call();
    default: break;
  }
  if (lower_arithmetic(*this) || lower_move(*this) || lower_memory(*this) || lower_sync(*this) || lower_async(*this) ||
      lower_matrix(*this))
    return;
  throw Unsupported{fmt::format("{} ({}) is not executed by the emulator yet", form.head, form.name)};
}

// Ordinary operations on a wgmma accumulator check that no wgmma that writes it is pending.
void Lowering::guard_accumulators(std::size_t first_op) {
  if (program_->wgmma_issues == 0 || isa::form(instruction_->form).family == isa::Family::kWgmma) return;
  const RegisterAccess access = register_access(*frame_->function, *instruction_);
  std::vector<Ref> touched;
  auto note = [&](std::uint32_t reg) {
    const Ref ref = frame_->places.of[reg];
    if (ref != kNoRef && accumulator_[ref / 128] != 0) touched.push_back(ref);
  };
  for (std::uint32_t r : access.uses) note(r);
  for (std::uint32_t r : access.defs) note(r);
  if (touched.empty() || program_->ops.size() == first_op) return;
  Op& outer = program_->ops.back();
  if (outer.fn == exec::nothing) return;  // a copy that needs no operation
  const Op inner = outer;
  AccumulatorExtra& guard = extra<AccumulatorExtra>(outer);
  guard.inner = inner;
  guard.touched = std::move(touched);
  guard.is_move = instruction_->form == FormId::kMov;
  outer.fn = exec::guard_accumulator;
}

Op& Lowering::emit(ExecFn fn) {
  Op op;
  op.fn = fn;
  op.site = site_;
  if (instruction_ != nullptr && instruction_->predicate.reg != ptx::kNone) {
    op.guard = register_ref(instruction_->predicate.reg);
    op.guard_flip = instruction_->predicate.negated ? kAllLanes : 0;
  }
  program_->ops.push_back(op);
  return program_->ops.back();
}

Op& Lowering::emit_complex(ExecFn fn, ComplexExtra*& out) {
  Op& op = emit(fn);
  out = &extra<ComplexExtra>(op);
  out->form = instruction_->form;
  return op;
}

const ptx::Operand* Lowering::find(std::string_view name) const {
  const auto all = operands();
  for (std::size_t i = 0; i < patterns_.size() && i < all.size(); ++i)
    if (patterns_[i]->name == name) return &all[i];
  return nullptr;
}

Type Lowering::type_of(std::size_t operand) const {
  return operand_type(*instruction_, chosen_alternative(pattern(operand), operands()[operand]));
}

Ref Lowering::register_ref(std::uint32_t reg) const {
  const Ref ref = frame_->places.of.at(reg);
  PTXBENCH_CHECK(ref != kNoRef, "register {} of {} has no place", frame_->function->registers.at(reg).name,
                 frame_->function->name);
  return ref;
}
unsigned Lowering::register_bits(std::uint32_t reg) const {
  return isa::bits(frame_->function->registers.at(reg).type);
}

Ref Lowering::constant(std::uint64_t bits, unsigned width) {
  const unsigned bucket = width == 1 ? 1 : width <= 32 ? 32 : width;
  if (bucket <= 32) bits &= 0xffffffffu;
  auto [found, fresh] = constants_.try_emplace({bucket, bits}, 0);
  if (!fresh) return found->second;
  const std::size_t offset = round_up(pool_.size(), 64);
  pool_.resize(offset + (bucket == 1 ? 4 : bucket == 32 ? 128 : bucket == 64 ? 256 : 512));
  std::byte* at = pool_.data() + offset;
  if (bucket == 1) {
    const Mask mask = bits != 0 ? kAllLanes : 0;
    std::memcpy(at, &mask, 4);
  } else {
    for (unsigned i = 0; i < kLanes; ++i) std::memcpy(at + i * (bucket == 32 ? 4 : 8), &bits, bucket == 32 ? 4 : 8);
    if (bucket == 128) {
      const std::uint64_t high = std::int64_t(bits) < 0 ? ~std::uint64_t{0} : 0;
      for (unsigned i = 0; i < kLanes; ++i) std::memcpy(at + 256 + i * 8, &high, 8);
    }
  }
  return found->second = Ref(offset) | kConstantBit;
}

Ref Lowering::temporary(unsigned bits) {
  const std::uint32_t slot = temporaries_++;
  if (slot >= kTemporaryBytes / 256 || bits > 64)
    throw Unsupported{"an instruction with too many operands that are not registers"};
  return temporary_base_ + slot * 256;
}

Ref Lowering::value(const ptx::Operand& operand, Type type) {
  const bool predicate = type == Type::kPred;
  const unsigned width = predicate ? 1 : isa::bits(type);
  switch (operand.kind) {
    case OperandKind::kReg: {
      const Ref ref = register_ref(operand.reg);
      if (!operand.negated) return ref;
      const Ref flipped = temporary(32);
      ptx::Instruction invert;
      invert.form = FormId::kNotPred;
      Op& op = emit(exec_set().alu(invert));
      op.d = flipped;
      op.a = ref;
      return flipped;
    }
    case OperandKind::kImm: {
      std::uint64_t bits = std::uint64_t(operand.value);
      if (predicate) return constant(bits != 0, 1);
      if (operand.imm_kind == ptx::ImmKind::kF32 && type == Type::kF64)
        bits = std::bit_cast<std::uint64_t>(double(std::bit_cast<float>(std::uint32_t(bits))));
      if (operand.imm_kind == ptx::ImmKind::kF64 && width == 32)
        bits = std::bit_cast<std::uint32_t>(float(std::bit_cast<double>(bits)));
      if (width < 32) bits &= (std::uint64_t{1} << width) - 1;
      return constant(bits, width);
    }
    case OperandKind::kSpecial: {
      const Ref ref = temporary(isa::bits(isa::info(operand.sreg).type));
      Op& op = emit(exec::special_register);
      op.d = ref;
      op.imm = std::int64_t(operand.sreg);
      return ref;
    }
    case OperandKind::kSymbol: {
      if (symbol_is_shared(operand.symbol)) {
        const Ref ref = temporary(width);
        const std::uint64_t at = symbol_address(operand.symbol);
        Op& op = emit(exec::shared_symbol);
        op.d = ref;
        op.small = width;
        op.imm = std::int64_t(at) + operand.value;
        return ref;
      }
      return constant(symbol_address(operand.symbol) + std::uint64_t(operand.value), width);
    }
    default: throw Unsupported{"an operand of a kind that the emulator does not read here"};
  }
}

Ref Lowering::destination(const ptx::Operand& operand) const {
  if (operand.kind == OperandKind::kSink) return kNoRef;
  if (operand.kind != OperandKind::kReg) throw Unsupported{"a destination that is no register"};
  return register_ref(operand.reg);
}

std::vector<Ref> Lowering::destinations(const ptx::Operand& operand) const {
  if (operand.kind != OperandKind::kVector) return {destination(operand)};
  std::vector<Ref> refs;
  for (const ptx::Operand& element : function().elements(operand)) refs.push_back(destination(element));
  return refs;
}

std::vector<Ref> Lowering::values(const ptx::Operand& operand, Type type) {
  if (operand.kind != OperandKind::kVector) return {value(operand, type)};
  std::vector<Ref> refs;
  for (const ptx::Operand& element : function().elements(operand)) refs.push_back(value(element, type));
  return refs;
}

std::int64_t Lowering::immediate(const ptx::Operand& operand) const {
  if (operand.kind != OperandKind::kImm) throw Unsupported{"an operand that must be an immediate"};
  return operand.value;
}

Space Lowering::symbol_space(const ptx::Symbol& symbol) const {
  switch (symbol.kind) {
    case SymbolKind::kGlobal: return module_.variables.at(symbol.index).space;
    case SymbolKind::kVariable:
      return function().variables.at(symbol.index).space == Space::kParam ? Space::kLocal
                                                                          : function().variables.at(symbol.index).space;
    case SymbolKind::kParam: return function().is_entry ? Space::kParam : Space::kLocal;
    case SymbolKind::kReturn: return Space::kLocal;
    case SymbolKind::kFunction: break;
  }
  throw Unsupported{"the address of a function (indirect calls are not executed)"};
}
bool Lowering::symbol_is_shared(const ptx::Symbol& symbol) const { return is_shared(symbol_space(symbol)); }

std::uint64_t Lowering::symbol_address(const ptx::Symbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::kGlobal:
      if (is_shared(module_.variables.at(symbol.index).space)) return module_shared_.at({0, symbol.index});
      if (globals_.at(symbol.index) == 0)
        throw Unsupported{
            fmt::format("variable {} is declared extern and defined nowhere", module_.variables[symbol.index].name)};
      return globals_.at(symbol.index);
    case SymbolKind::kVariable: return frame_->variables.at(symbol.index);
    case SymbolKind::kParam: return frame_->params.at(symbol.index);
    case SymbolKind::kReturn: return frame_->returns.at(symbol.index);
    case SymbolKind::kFunction: break;
  }
  throw Unsupported{"the address of a function (indirect calls are not executed)"};
}

Space Lowering::space() const {
  const isa::Mod mod = instruction_->slot(isa::Slot::kSpace);
  if (mod == isa::Mod::kNone) return Space::kGeneric;
  const Space space = isa::space_of(mod);
  return space == Space::kShared ? Space::kSharedCta : space;
}

AddressOperand Lowering::address(const ptx::Operand& operand, Space space) {
  if (operand.kind != OperandKind::kAddress) throw Unsupported{"an operand that must be an address"};
  AddressOperand out;
  out.space = space;
  out.offset = operand.value;
  switch (operand.base) {
    case ptx::AddressBase::kReg:
      out.base = register_ref(operand.reg);
      out.base_is_64 = register_bits(operand.reg) == 64;
      if (space == Space::kParam && !function().is_entry) out.space = Space::kLocal;
      break;
    case ptx::AddressBase::kImm: break;
    case ptx::AddressBase::kSymbol: {
      out.offset += std::int64_t(symbol_address(operand.symbol));
      const Space own = symbol_space(operand.symbol);
      if (is_shared(own)) {
        out.adds_shared_base = true;
        if (space == Space::kGeneric) out.offset += std::int64_t(window_base(Window::kShared));
      } else if (own == Space::kLocal && space == Space::kGeneric) {
        out.space = Space::kLocal;
      } else if (space == Space::kParam || space == Space::kGeneric) {
        out.space = own;
      }
      break;
    }
  }
  return out;
}

}  // namespace ptxbench::emu
