// The resolved form of a PTX module: what the parser produces and the emulator decodes. Names are resolved: registers,
// labels and variables of nested scopes have unique ids per function; blocks do not exist any more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/isa/form.h"
#include "ptxbench/isa/sregs.h"
#include "ptxbench/isa/target.h"
#include "ptxbench/isa/types.h"

namespace ptxbench::ptx {

inline constexpr std::uint32_t kNone = 0xffffffffu;  // "no register", "no index"

// Place in the PTX text; both count from 1.
struct TextPosition {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool operator==(const TextPosition&) const = default;
};

enum class SymbolKind : std::uint8_t {
  kGlobal,    // Module::variables[index]: .global, .const, .shared at module scope
  kVariable,  // Function::variables[index]: .local, .shared, .param, ... declared in a body
  kParam,     // Function::params[index]
  kReturn,    // Function::returns[index]
  kFunction,  // Module::functions[index]
};
struct Symbol {
  SymbolKind kind = SymbolKind::kGlobal;
  std::uint32_t index = kNone;
  bool operator==(const Symbol&) const = default;
};

enum class OperandKind : std::uint8_t {
  kReg,        // reg (negated: a predicate written '!p')
  kImm,        // value, imm_kind
  kSymbol,     // symbol + value: the address of a variable, parameter or function
  kSpecial,    // sreg
  kAddress,    // [base + value]; elements: tensor coordinates or further parts, as written in the inner vector
  kVector,     // {a, b, ...}: elements
  kPair,       // d|p: two elements, either may be kSink
  kSink,       // _
  kLabel,      // value: index of an instruction of this function (== instructions.size() for a label at the end)
  kPrototype,  // value: index into Function::prototypes; last operand of an indirect call
  kTargets,    // elements: kLabel each; the .branchtargets or .calltargets list
};

// kUntyped integers are 64 bits, sign-extended as written; floats are kept as bit patterns.
enum class ImmKind : std::uint8_t { kInteger, kF32, kF64 };

enum class AddressBase : std::uint8_t { kReg, kSymbol, kImm };

// A flat record so that decoding is a switch, not a walk over pointers. Elements live in Function::operand_pool.
struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;
  ImmKind imm_kind = ImmKind::kInteger;
  AddressBase base = AddressBase::kReg;  // kAddress
  isa::Sreg sreg = isa::Sreg::kCount;    // kSpecial
  std::uint32_t reg = kNone;             // kReg; kAddress with base kReg
  Symbol symbol;                         // kSymbol; kAddress with base kSymbol
  std::int64_t value = 0;                // kImm bits; byte offset of kAddress and kSymbol; kLabel; kPrototype
  std::uint32_t first = 0;               // elements: operand_pool[first, first + count)
  std::uint32_t count = 0;
  std::uint32_t column = 0;  // in the line where the operand starts

  double as_f64() const;  // the value of a float immediate
};

struct Predicate {
  std::uint32_t reg = kNone;  // kNone: not guarded
  bool negated = false;
};

struct Instruction {
  isa::FormId form = isa::FormId::kCount;
  std::uint16_t operand_count = 0;
  std::uint32_t first_operand = 0;  // operands: operand_pool[first_operand, + operand_count)
  // By position of isa::modifier_elements(form); kNone where an optional one was left out. A word that stands for itself
  // (.ftz) holds itself when present.
  std::array<isa::Mod, isa::kMaxModifiers> mods{};
  Predicate predicate;
  std::uint32_t loc = kNone;  // index into Module::locs
  TextPosition position;

  // The value of a slot; kNone if the form has no such slot or it was left out.
  isa::Mod slot(isa::Slot slot) const;
  // The nth (from 0) element of that slot, for forms where a slot occurs more than once.
  isa::Mod slot(isa::Slot slot, unsigned nth) const;
  // Whether the word is present, in whatever slot.
  bool has(isa::Mod word) const;
  // Type in a type slot; Type::kNone if absent.
  isa::Type type(isa::Slot slot) const { return isa::type_of(this->slot(slot)); }
};

struct Register {
  std::string name;  // unique in the function, "%r1", "p", or "p$2" where an inner scope repeats a name
  isa::Type type = isa::Type::kNone;
};

// Part of an initialiser that is an address: the bytes at `offset` (size 4 or 8) hold symbol + addend.
struct AddressInit {
  std::uint64_t offset = 0;
  std::uint32_t size = 8;
  Symbol symbol;
  std::int64_t addend = 0;
  bool generic = false;        // written generic(sym)
  std::uint64_t mask = ~0ull;  // written 0xff(sym): one byte of the address
  bool operator==(const AddressInit&) const = default;
};

enum class Linkage : std::uint8_t { kInternal, kExtern, kVisible, kWeak, kCommon };

struct Variable {
  std::string name;  // unique in its table
  isa::Space space = isa::Space::kGlobal;
  isa::Type type = isa::Type::kNone;
  std::uint32_t vector = 1;         // elements of .v2, .v4
  std::uint32_t align = 0;          // bytes; the natural alignment where none was written
  std::vector<std::uint64_t> dims;  // [] after the name; empty for a scalar; 0: an unsized first dimension
  std::uint64_t size = 0;           // bytes in all; 0 for an unsized extern array (dynamic shared memory)
  Linkage linkage = Linkage::kInternal;
  bool managed = false;
  bool unified = false;
  std::vector<std::byte> init;  // empty: zero; else the leading bytes, little-endian
  std::vector<AddressInit> addresses;
  TextPosition position;
};

// Parameter of a function or entry, or a return value. For entries `offset` is the place in the launch's parameter bytes.
struct Param {
  std::string name;
  isa::Type type = isa::Type::kNone;
  bool is_register = false;  // '.reg' parameter of a .func: reg is its id
  std::uint32_t reg = kNone;
  std::uint32_t align = 0;
  std::uint64_t size = 0;  // bytes; arrays counted whole; 0 for an unsized trailing array
  std::uint64_t offset = 0;
  bool is_array = false;
  bool is_pointer = false;  // .ptr
  isa::Space pointer_space = isa::Space::kGeneric;
  std::uint32_t pointer_align = 0;
};

struct Prototype {
  std::string name;
  std::vector<Param> returns;
  std::vector<Param> params;
};

struct Label {
  std::string name;  // unique in the function
  std::uint32_t instruction = 0;
};

// Directives of an entry; 0 or nothing where not written.
struct Directives {
  std::array<std::uint32_t, 3> maxntid{};
  std::array<std::uint32_t, 3> reqntid{};
  std::array<std::uint32_t, 3> reqnctapercluster{};
  std::uint32_t minnctapersm = 0;
  std::uint32_t maxnctapersm = 0;
  std::uint32_t maxnreg = 0;
  std::uint32_t maxclusterrank = 0;
  bool explicitcluster = false;
  bool blocksareclusters = false;
  bool noreturn = false;
  bool has_maxntid = false, has_reqntid = false, has_reqnctapercluster = false;
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool has_body = false;
  Linkage linkage = Linkage::kInternal;
  std::string alias_of;  // '.alias name, target'
  std::vector<Param> returns;
  std::vector<Param> params;
  Directives directives;
  std::vector<std::string> pragmas;
  std::vector<Register> registers;  // those that are used, in order of first use
  std::vector<Variable> variables;
  std::vector<Prototype> prototypes;
  std::vector<Label> labels;  // in order of instruction
  std::vector<Instruction> instructions;
  std::vector<Operand> operand_pool;
  TextPosition position;

  std::span<const Operand> operands(const Instruction& instruction) const {
    return std::span(operand_pool).subspan(instruction.first_operand, instruction.operand_count);
  }
  std::span<const Operand> elements(const Operand& operand) const {
    return std::span(operand_pool).subspan(operand.first, operand.count);
  }
  std::uint64_t param_bytes() const;  // of the launch's parameter buffer
};

// '.loc file line column{, function_name ..., inlined_at file line column}'
struct SourceLoc {
  std::uint32_t file = 0;  // key of Module::files
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t inlined_at = kNone;  // index into Module::locs of the place where the code was inlined
  std::string function_name;         // label (and offset) of the inlined function's name, as written
};

struct Module {
  std::string file_name;  // for messages
  isa::Version version;
  isa::Target target;
  std::vector<std::string> target_options;  // 'texmode_independent', 'debug', ...
  unsigned address_size = 64;
  std::map<std::uint32_t, std::string> files;  // '.file 1 "a.cu"'
  std::vector<SourceLoc> locs;
  std::map<std::string, std::string> debug_strings;  // label in .debug_str -> text: names of inlined functions
  std::vector<Variable> variables;
  std::vector<Function> functions;

  const Function* function(std::string_view name) const;  // nullptr if there is none; a definition before a declaration
  const Variable* variable(std::string_view name) const;
  // The outermost place that an inlined instruction belongs to: the line that the kernel's author wrote.
  const SourceLoc* user_location(const Instruction& instruction) const;
  std::string_view file(std::uint32_t number) const;  // "" if unknown
};

}  // namespace ptxbench::ptx
