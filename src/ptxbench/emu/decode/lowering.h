// Lowering: turns the instructions of a kernel and of the functions it calls into operations of a Program.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptxbench/emu/decode/allocate.h"
#include "ptxbench/emu/decode/flow_graph.h"
#include "ptxbench/emu/exec/operations.h"
#include "ptxbench/emu/program.h"
#include "ptxbench/isa/operands.h"
#include "ptxbench/ptx/ast.h"

namespace ptxbench::emu {

// Device addresses of a module's .global and .const variables, by index; 0 for other spaces.
using GlobalAddresses = std::vector<std::uint64_t>;

class Lowering {
 public:
  Lowering(const ptx::Module& module, const GlobalAddresses& globals, const ptx::Function& entry);
  std::unique_ptr<Program> run();

  // --- for the per-chapter lower_*() functions; they work on the current instruction ---
  struct Unsupported {
    std::string what;
  };
  const ptx::Function& function() const { return *frame_->function; }
  const ptx::Instruction& instruction() const { return *instruction_; }
  std::span<const ptx::Operand> operands() const { return function().operands(*instruction_); }
  const isa::OperandPattern& pattern(std::size_t operand) const { return *patterns_.at(operand); }
  const ptx::Operand* find(std::string_view name) const;  // the operand of that name; nullptr if absent
  isa::Type type_of(std::size_t operand) const;

  // An operation of the current instruction, under its guard.
  Op& emit(ExecFn fn);
  template <class E>
  E& extra(Op& op) {
    auto owned = std::make_unique<E>();
    E& reference = *owned;
    program_->extras.push_back(std::move(owned));
    op.extra = &reference;
    return reference;
  }
  // Emits `fn` with a ComplexExtra whose form is set.
  Op& emit_complex(ExecFn fn, ComplexExtra*& extra);

  Ref register_ref(std::uint32_t reg) const;
  unsigned register_bits(std::uint32_t reg) const;
  // A source operand as a register array: registers, immediates, special registers, symbols, negated predicates.
  Ref value(const ptx::Operand& operand, isa::Type type);
  Ref value(std::size_t operand) { return value(operands()[operand], type_of(operand)); }
  // A destination: its register, or kNoRef for '_'.
  Ref destination(const ptx::Operand& operand) const;
  std::vector<Ref> destinations(const ptx::Operand& operand) const;
  std::vector<Ref> values(const ptx::Operand& operand, isa::Type type);
  std::int64_t immediate(const ptx::Operand& operand) const;
  AddressOperand address(const ptx::Operand& operand, isa::Space space);
  Ref constant(std::uint64_t bits, unsigned width);  // width 1: a predicate, all lanes
  Ref temporary(unsigned bits);
  isa::Space space() const;  // of the instruction's .space slot; shared::cta for '.shared'
  std::uint32_t new_range() { return std::uint32_t(program_->ops.size()); }
  bool symbol_is_shared(const ptx::Symbol& symbol) const;
  std::uint64_t symbol_address(const ptx::Symbol& symbol);  // in its own space
  isa::Space symbol_space(const ptx::Symbol& symbol) const;

  void lower_flow();  // bra, brx, call, ret, exit
  void lower_call();

 private:
  struct Frame {  // one function
    const ptx::Function* function = nullptr;
    FlowGraph graph;
    RegisterPlaces places;
    std::vector<std::uint64_t> variables, params, returns;  // local or shared addresses
    std::uint32_t first_pc = 0;
    std::vector<std::uint32_t> block_pc;
    Frame(const ptx::Function& f) : function(&f), graph(f) {}
  };
  struct Jump {
    std::size_t op;
    std::uint32_t block, join;  // of the current frame; join kNoPc: none
  };

  void plan_function(const ptx::Function& function, bool is_entry);
  void collect_callees(const ptx::Function& function, std::vector<const ptx::Function*>& path);
  const ptx::Function* callee_of(const ptx::Function& function, const ptx::Instruction& instruction) const;
  void place_shared();
  void lower_function(Frame& frame);
  void lower_instruction();
  void dispatch();
  void guard_accumulators(std::size_t first_op);
  void copy_local(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
  void lower_external_call(const std::string& name);

  const ptx::Module& module_;
  const GlobalAddresses& globals_;
  const ptx::Function& entry_;
  std::unique_ptr<Program> program_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::unordered_map<const ptx::Function*, Frame*> frame_of_;
  std::unordered_map<const ptx::Function*, bool> recursive_;
  Frame* frame_ = nullptr;
  const ptx::Instruction* instruction_ = nullptr;
  std::vector<const isa::OperandPattern*> patterns_;
  std::uint32_t site_ = 0;
  std::uint32_t counted_op_ = kNoPc;  // the operation that counts for the instruction; kNoPc: its last one
  std::uint32_t frame_end_ = 0, local_end_ = 0, temporaries_ = 0, temporary_end_ = 0, temporary_base_ = 0;
  std::map<std::pair<unsigned, std::uint64_t>, Ref> constants_;
  std::vector<std::byte> pool_;
  std::map<std::pair<int, std::uint32_t>, std::uint64_t> module_shared_;  // module variables in shared memory
  std::vector<Jump> jumps_;
  std::vector<std::pair<std::size_t, const ptx::Function*>> calls_;
  std::vector<char> accumulator_;  // by frame offset / 128: a wgmma accumulator
};

// Each returns false if the form is not one of its chapter.
bool lower_arithmetic(Lowering& l);
bool lower_move(Lowering& l);
bool lower_memory(Lowering& l);
bool lower_sync(Lowering& l);
bool lower_async(Lowering& l);
bool lower_matrix(Lowering& l);

// The program of an entry. Never fails: what cannot be executed becomes an operation that traps.
std::unique_ptr<Program> decode(const ptx::Module& module, const GlobalAddresses& globals, const ptx::Function& entry);

}  // namespace ptxbench::emu
