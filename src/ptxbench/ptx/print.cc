#include "ptxbench/ptx/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ptxbench/isa/match.h"
#include "ptxbench/isa/operands.h"

namespace ptxbench::ptx {
namespace {

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {}

  std::string run() {
    header();
    for (const Function& function : module_.functions) {
      if (!function.is_entry || initializers_use(function)) declaration(function);
    }
    variables();
    for (const Function& function : module_.functions) {
      if (function.has_body) {
        definition(function);
      } else if (function.is_entry && !initializers_use(function)) {
        declaration(function);
      }
    }
    for (const Function& function : module_.functions) {
      if (!function.alias_of.empty()) put(".alias {}, {};\n", function.name, function.alias_of);
    }
    debug_strings();
    return std::move(text_);
  }

  std::string one(const Function& function, const Instruction& instruction) {
    this->instruction(function, instruction);
    return std::move(text_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void header() {
    put(".version {}.{}\n.target {}", module_.version.major, module_.version.minor, isa::to_string(module_.target));
    for (const std::string& option : module_.target_options) put(", {}", option);
    put("\n.address_size {}\n", module_.address_size);
    for (const auto& [number, name] : module_.files) {
      put(".file {} \"", number);
      for (const char c : name) {
        if (c == '"' || c == '\\') text_ += '\\';
        text_ += c;
      }
      text_ += "\"\n";
    }
  }

  // The names of inlined functions; '.loc' refers to their labels.
  void debug_strings() {
    if (module_.debug_strings.empty()) return;
    text_ += ".section .debug_str\n{\n";
    for (const auto& [label, name] : module_.debug_strings) {
      put("{}:\n.b8 ", label);
      for (const char c : name) put("{},", static_cast<unsigned>(static_cast<unsigned char>(c)));
      text_ += "0\n";
    }
    text_ += "}\n";
  }

  // ---- declarations

  void linkage(Linkage linkage) {
    static constexpr std::string_view kWords[] = {"", ".extern ", ".visible ", ".weak ", ".common "};
    text_ += kWords[static_cast<std::size_t>(linkage)];
  }

  bool initializers_use(const Function& function) const {
    const auto index = static_cast<std::uint32_t>(&function - module_.functions.data());
    return std::any_of(module_.variables.begin(), module_.variables.end(), [&](const Variable& variable) {
      return std::any_of(variable.addresses.begin(), variable.addresses.end(), [&](const AddressInit& address) {
        return address.symbol == Symbol{SymbolKind::kFunction, index};
      });
    });
  }

  void parameters(const std::vector<Param>& params) {
    text_ += '(';
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (i != 0) text_ += ", ";
      parameter(params[i]);
    }
    text_ += ')';
  }

  void parameter(const Param& param) {
    if (param.is_register) {
      put(".reg .{} {}", isa::spelling(param.type), param.name);
      return;
    }
    const unsigned element = isa::bytes(param.type);
    text_ += ".param ";
    if (param.align != element) put(".align {} ", param.align);
    put(".{}", isa::spelling(param.type));
    if (param.is_pointer) {
      text_ += " .ptr";
      if (param.pointer_space != isa::Space::kGeneric) put(" .{}", isa::spelling(param.pointer_space));
      if (param.pointer_align != 0) put(" .align {}", param.pointer_align);
    }
    put(" {}", param.name);
    if (param.is_array && param.size == 0) text_ += "[]";
    if (param.is_array && param.size != 0) put("[{}]", param.size / element);
  }

  void head(const Function& function) {
    linkage(function.linkage);
    text_ += function.is_entry ? ".entry " : ".func ";
    if (!function.returns.empty()) {
      parameters(function.returns);
      text_ += ' ';
    }
    text_ += function.name;
    parameters(function.params);
  }

  void triple(std::string_view word, const std::array<std::uint32_t, 3>& values) {
    put("\n.{} {}, {}, {}", word, values[0], values[1], values[2]);
  }

  void directives(const Directives& d) {
    if (d.has_maxntid) triple("maxntid", d.maxntid);
    if (d.has_reqntid) triple("reqntid", d.reqntid);
    if (d.minnctapersm != 0) put("\n.minnctapersm {}", d.minnctapersm);
    if (d.maxnctapersm != 0) put("\n.maxnctapersm {}", d.maxnctapersm);
    if (d.maxnreg != 0) put("\n.maxnreg {}", d.maxnreg);
    if (d.blocksareclusters) text_ += "\n.blocksareclusters";
    if (d.explicitcluster) text_ += "\n.explicitcluster";
    if (d.has_reqnctapercluster) triple("reqnctapercluster", d.reqnctapercluster);
    if (d.maxclusterrank != 0) put("\n.maxclusterrank {}", d.maxclusterrank);
    if (d.noreturn) text_ += "\n.noreturn";
  }

  void declaration(const Function& function) {
    head(function);
    if (!function.has_body) directives(function.directives);
    if (function.has_body && function.directives.noreturn) text_ += "\n.noreturn";
    text_ += ";\n";
  }

  // ---- variables

  void variables() {
    for (std::uint32_t i = 0; i < module_.variables.size(); ++i) {
      const Variable& variable = module_.variables[i];
      for (const AddressInit& address : variable.addresses) {
        if (address.symbol.kind == SymbolKind::kGlobal && address.symbol.index > i) {
          text_ += ".extern ";
          variable_head(module_.variables[address.symbol.index]);
          text_ += ";\n";
        }
      }
      linkage(variable.linkage);
      this->variable(nullptr, variable);
    }
  }

  void variable_head(const Variable& variable) {
    put(".{} ", isa::spelling(variable.space));
    if (variable.managed) text_ += ".attribute(.managed) ";
    const std::uint64_t element = std::uint64_t{isa::bytes(variable.type)} * variable.vector;
    if (variable.align != element) put(".align {} ", variable.align);
    if (variable.vector != 1) put(".v{} ", variable.vector);
    put(".{} {}", isa::spelling(variable.type), variable.name);
    for (const std::uint64_t dim : variable.dims) {
      if (dim == 0)
        text_ += "[]";
      else
        put("[{}]", dim);
    }
  }

  void variable(const Function* function, const Variable& variable) {
    variable_head(variable);
    if (!variable.init.empty()) initializer(function, variable);
    text_ += ";\n";
  }

  void initializer(const Function* function, const Variable& variable) {
    const unsigned size = isa::bytes(variable.type);
    const bool list = !variable.dims.empty() || variable.vector != 1;
    text_ += list ? " = {" : " = ";
    auto address = variable.addresses.begin();
    for (std::uint64_t offset = 0; offset + size <= variable.init.size(); offset += size) {
      if (offset != 0) text_ += ", ";
      if (address != variable.addresses.end() && address->offset == offset) {
        address_init(function, *address);
        ++address;
        continue;
      }
      std::uint64_t value = 0;
      for (unsigned i = 0; i < size && i < 8; ++i)
        value |= std::to_integer<std::uint64_t>(variable.init[offset + i]) << (8 * i);
      if (variable.type == isa::Type::kF32)
        put("0f{:08X}", value);
      else if (variable.type == isa::Type::kF64)
        put("0d{:016X}", value);
      else
        put("{}", value);
    }
    if (list) text_ += '}';
  }

  void address_init(const Function* function, const AddressInit& address) {
    const bool masked = address.mask != ~std::uint64_t{0};
    if (masked) put("{}(", address.mask);
    if (address.generic) text_ += "generic(";
    symbol(function, address.symbol, 0);
    if (address.generic) text_ += ')';
    if (masked) text_ += ')';
    if (address.addend != 0) put("+{}", address.addend);
  }

  // ---- bodies

  void definition(const Function& function) {
    head(function);
    directives(function.directives);
    text_ += "\n{\n";
    for (const std::string& pragma : function.pragmas) put(".pragma \"{}\";\n", pragma);
    registers(function);
    for (const Variable& variable : function.variables) this->variable(&function, variable);
    for (const Prototype& prototype : function.prototypes) this->prototype(prototype);
    auto label = function.labels.begin();
    std::size_t tables = 0;
    for (std::uint32_t i = 0; i < function.instructions.size(); ++i) {
      for (; label != function.labels.end() && label->instruction == i; ++label) put("{}:\n", label->name);
      loc(function.instructions[i].loc);
      for (const Operand& operand : function.operands(function.instructions[i])) {
        if (operand.kind == OperandKind::kTargets) target_table(function, operand, tables++);
      }
      instruction(function, function.instructions[i], tables);
      text_ += '\n';
    }
    for (; label != function.labels.end(); ++label) put("{}:\n", label->name);
    text_ += "}\n";
  }

  void registers(const Function& function) {
    std::vector<bool> is_param(function.registers.size());
    for (const auto* list : {&function.returns, &function.params}) {
      for (const Param& param : *list) {
        if (param.is_register && param.reg < is_param.size()) is_param[param.reg] = true;
      }
    }
    for (std::size_t i = 0; i < function.registers.size(); ++i) {
      if (!is_param[i]) put(".reg .{} {};\n", isa::spelling(function.registers[i].type), function.registers[i].name);
    }
  }

  void prototype(const Prototype& prototype) {
    put("{}: .callprototype ", prototype.name);
    if (!prototype.returns.empty()) {
      parameters(prototype.returns);
      text_ += ' ';
    }
    text_ += "_ ";
    parameters(prototype.params);
    text_ += ";\n";
  }

  // The table's own name is not kept; a new one is made from its number in the function.
  void target_table(const Function& function, const Operand& table, std::size_t number) {
    const auto elements = function.elements(table);
    put("$targets{}: .{} ", number, elements[0].kind == OperandKind::kLabel ? "branchtargets" : "calltargets");
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (i != 0) text_ += ", ";
      operand(function, elements[i], 0);
    }
    text_ += ";\n";
  }

  // Entries of Module::locs keep their numbers where functions are in the order of the text.
  void loc(std::uint32_t index) {
    if (index >= module_.locs.size() || index == current_loc_) return;
    const std::uint32_t first = next_loc_ <= index ? next_loc_ : index;
    for (std::uint32_t i = first; i <= index; ++i) one_loc(module_.locs[i]);
    current_loc_ = index;
    next_loc_ = std::max(next_loc_, index + 1);
  }

  void one_loc(const SourceLoc& loc) {
    put(".loc {} {} {}", loc.file, loc.line, loc.column);
    if (!loc.function_name.empty()) put(", function_name {}", loc.function_name);
    if (loc.inlined_at < module_.locs.size()) {
      const SourceLoc& outer = module_.locs[loc.inlined_at];
      put(", inlined_at {} {} {}", outer.file, outer.line, outer.column);
    }
    text_ += '\n';
  }

  // ---- instructions

  void instruction(const Function& function, const Instruction& instruction, std::size_t tables = 1) {
    if (instruction.predicate.reg != kNone) {
      put("@{}{} ", instruction.predicate.negated ? "!" : "", function.registers[instruction.predicate.reg].name);
    }
    text_ += isa::opcode_text(instruction.form, instruction.mods);
    const auto operands = function.operands(instruction);
    const auto patterns = isa::operand_patterns(instruction.form);
    if (!patterns.empty() && patterns[0].alternatives[0].shape == isa::OperandShape::kCallArgs) {
      call(function, operands, tables);
    } else {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        text_ += i == 0 ? " " : ", ";
        operand(function, operands[i], tables);
      }
    }
    text_ += ';';
  }

  void call(const Function& function, std::span<const Operand> operands, std::size_t tables) {
    text_ += ' ';
    if (operands[0].count != 0) {
      list(function, operands[0], "()");
      text_ += ", ";
    }
    operand(function, operands[1], tables);
    if (operands[2].count != 0) {
      text_ += ", ";
      list(function, operands[2], "()");
    }
    if (operands.size() > 3) {
      text_ += ", ";
      operand(function, operands[3], tables);
    }
  }

  void list(const Function& function, const Operand& vector, std::string_view brackets) {
    text_ += brackets[0];
    const auto elements = function.elements(vector);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (i != 0) text_ += ", ";
      operand(function, elements[i], 0);
    }
    text_ += brackets[1];
  }

  void symbol(const Function* function, Symbol symbol, std::int64_t offset) {
    switch (symbol.kind) {
      case SymbolKind::kGlobal: text_ += module_.variables[symbol.index].name; break;
      case SymbolKind::kFunction: text_ += module_.functions[symbol.index].name; break;
      case SymbolKind::kVariable: text_ += function->variables[symbol.index].name; break;
      case SymbolKind::kParam: text_ += function->params[symbol.index].name; break;
      case SymbolKind::kReturn: text_ += function->returns[symbol.index].name; break;
    }
    if (offset != 0) put("+{}", offset);
  }

  void immediate(const Operand& operand) {
    switch (operand.imm_kind) {
      case ImmKind::kInteger: put("{}", operand.value); break;
      case ImmKind::kF32: put("0f{:08X}", static_cast<std::uint32_t>(operand.value)); break;
      case ImmKind::kF64: put("0d{:016X}", static_cast<std::uint64_t>(operand.value)); break;
    }
  }

  void address(const Function& function, const Operand& operand) {
    text_ += '[';
    switch (operand.base) {
      case AddressBase::kReg: text_ += function.registers[operand.reg].name; break;
      case AddressBase::kSymbol: symbol(&function, operand.symbol, 0); break;
      case AddressBase::kImm: break;
    }
    if (operand.base == AddressBase::kImm)
      put("{}", operand.value);
    else if (operand.value != 0)
      put("+{}", operand.value);
    if (operand.count != 0) {
      text_ += ", ";
      list(function, operand, "{}");
    }
    text_ += ']';
  }

  void operand(const Function& function, const Operand& operand, std::size_t tables) {
    switch (operand.kind) {
      case OperandKind::kReg: put("{}{}", operand.negated ? "!" : "", function.registers[operand.reg].name); break;
      case OperandKind::kImm: immediate(operand); break;
      case OperandKind::kSymbol: symbol(&function, operand.symbol, operand.value); break;
      case OperandKind::kSpecial: text_ += isa::info(operand.sreg).spelling; break;
      case OperandKind::kAddress: address(function, operand); break;
      case OperandKind::kVector: list(function, operand, "{}"); break;
      case OperandKind::kPair:
        this->operand(function, function.elements(operand)[0], tables);
        text_ += '|';
        this->operand(function, function.elements(operand)[1], tables);
        break;
      case OperandKind::kSink: text_ += '_'; break;
      case OperandKind::kLabel: label(function, static_cast<std::uint32_t>(operand.value)); break;
      case OperandKind::kPrototype: text_ += function.prototypes[static_cast<std::size_t>(operand.value)].name; break;
      case OperandKind::kTargets: put("$targets{}", tables - 1); break;
    }
  }

  void label(const Function& function, std::uint32_t instruction) {
    const auto found =
        std::lower_bound(function.labels.begin(), function.labels.end(), instruction,
                         [](const Label& label, std::uint32_t place) { return label.instruction < place; });
    text_ += found != function.labels.end() ? std::string_view(found->name) : std::string_view("?");
  }

  const Module& module_;
  std::string text_;
  std::uint32_t current_loc_ = kNone;
  std::uint32_t next_loc_ = 0;
};

}  // namespace

std::string print(const Module& module) { return Printer(module).run(); }

std::string print(const Module& module, const Function& function, const Instruction& instruction) {
  return Printer(module).one(function, instruction);
}

}  // namespace ptxbench::ptx
