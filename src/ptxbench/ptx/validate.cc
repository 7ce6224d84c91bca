#include "ptxbench/ptx/validate.h"

#include <fmt/format.h>

#include <string>

#include "ptxbench/isa/match.h"
#include "ptxbench/isa/rules.h"
#include "ptxbench/ptx/diagnostics.h"
#include "ptxbench/ptx/operands_fit.h"

namespace ptxbench::ptx {
namespace {

using isa::OperandAlternative;
using isa::OperandShape;
using isa::Type;
using isa::TypeClass;

bool is_integer(Type type) {
  const TypeClass cls = isa::type_class(type);
  return cls == TypeClass::kSigned || cls == TypeClass::kUnsigned;
}
bool is_float(Type type) { return isa::type_class(type) == TypeClass::kFloat; }
// Formats without a register type of their own: they live in .b registers of their width.
bool is_alternate(Type type) {
  return isa::type_class(type) == TypeClass::kPacked ||
         (is_float(type) && type != Type::kF16 && type != Type::kF32 && type != Type::kF64);
}

// PTX manual, "Operand Type Checking": the classes agree, or one of the two is .bN.
bool classes_agree(Type reg, Type wanted) {
  if (isa::type_class(reg) == TypeClass::kBits || isa::type_class(wanted) == TypeClass::kBits) return true;
  if (reg == wanted) return true;
  return is_integer(reg) && is_integer(wanted);
}

class Validator {
 public:
  Validator(const Module& module, Diagnostics& diagnostics) : module_(module), diagnostics_(diagnostics) {}

  void run() {
    for (const Function& function : module_.functions) {
      for (const Instruction& instruction : function.instructions) {
        if (diagnostics_.full()) return;
        this->instruction(function, instruction);
      }
    }
  }

 private:
  void report(const Instruction& instruction, std::uint32_t column, std::string message, std::string hint = {}) {
    diagnostics_.report_at(instruction.position.line, column != 0 ? column : instruction.position.column,
                           std::move(message), std::move(hint));
  }

  void instruction(const Function& function, const Instruction& instruction) {
    if (!available(instruction)) return;
    if (instruction.predicate.reg != kNone && function.registers[instruction.predicate.reg].type != Type::kPred) {
      report(instruction, 0,
             fmt::format("the guard '{}' is not a predicate", function.registers[instruction.predicate.reg].name),
             "declare it '.reg .pred'");
      return;
    }
    const auto alternatives = fitted_alternatives(function, instruction);
    const auto operands = function.operands(instruction);
    for (std::size_t i = 0; i < operands.size() && i < alternatives.size(); ++i) {
      if (!operand(function, instruction, operands[i], *alternatives[i])) return;
    }
  }

  // ISA version, target and the rules about combinations of modifiers.
  bool available(const Instruction& instruction) {
    const isa::Form& row = isa::form(instruction.form);
    if (module_.version < row.min_ptx) {
      report(instruction, 0,
             fmt::format("'{}' needs PTX {}.{}, but the module says {}.{}", row.head, row.min_ptx.major,
                         row.min_ptx.minor, module_.version.major, module_.version.minor),
             fmt::format("write '.version {}.{}' or later", row.min_ptx.major, row.min_ptx.minor));
      return false;
    }
    const isa::TargetRule& rule = isa::target_rule(instruction.form);
    if (!rule.allows(module_.target)) {
      report(instruction, 0,
             fmt::format("'{}' needs {}, but the module's target is {}", row.head, rule.describe(),
                         isa::to_string(module_.target)),
             "change '.target' (nvcc: -gencode arch=compute_...), or use an instruction of that target");
      return false;
    }
    if (const auto broken = isa::broken_rule(instruction.form, instruction.mods, module_.version, module_.target)) {
      report(instruction, 0, fmt::format("'{}': {}", isa::opcode_text(instruction.form, instruction.mods), *broken));
      return false;
    }
    return true;
  }

  // Registers of a matrix fragment: narrow elements are packed into 32 bits.
  static Type fragment_type(Type element) {
    return element == Type::kF32 || element == Type::kF64 || element == Type::kS32 ? element : Type::kB32;
  }

  Type wanted_type(const Instruction& instruction, const OperandAlternative& alternative) const {
    if (alternative.type_rule == "frag_d") return fragment_type(instruction.type(isa::Slot::kDtype));
    if (alternative.type_rule == "frag_c") return fragment_type(instruction.type(isa::Slot::kCtype));
    if (alternative.type_rule == "frag_a") return fragment_type(instruction.type(isa::Slot::kAtype));
    if (alternative.type_rule == "frag_b") return fragment_type(instruction.type(isa::Slot::kBtype));
    if (alternative.type_slot == isa::Slot::kCount) return alternative.type;
    const Type type = instruction.type(alternative.type_slot);
    // Half-precision accumulators of wgmma travel in pairs, one 32-bit register for two.
    if (type == Type::kF16 && alternative.shape == OperandShape::kVecInOut) return Type::kF16x2;
    return type;
  }

  bool operand(const Function& function, const Instruction& instruction, const Operand& operand,
               const OperandAlternative& alternative) {
    const Type type = wanted_type(instruction, alternative);
    switch (operand.kind) {
      case OperandKind::kSpecial: {
        const isa::SregInfo& info = isa::info(operand.sreg);
        if (type != Type::kNone && isa::bits(info.type) != isa::bits(type)) {
          report(instruction, operand.column,
                 fmt::format("'{}' has {} bits, '.{}' has {}", info.spelling, isa::bits(info.type), isa::spelling(type),
                             isa::bits(type)));
          return false;
        }
        if (module_.target.sm >= info.min_sm && module_.version >= info.min_ptx) return true;
        report(instruction, operand.column,
               fmt::format("'{}' needs sm_{} and PTX {}.{}", info.spelling, info.min_sm, info.min_ptx.major,
                           info.min_ptx.minor));
        return false;
      }
      case OperandKind::kPair: return this->operand(function, instruction, function.elements(operand)[0], alternative);
      case OperandKind::kVector: return vector(function, instruction, operand, alternative, type);
      case OperandKind::kAddress: return address(function, instruction, operand, alternative);
      case OperandKind::kReg:
        if (alternative.shape == OperandShape::kDstSink &&
            instruction.slot(isa::Slot::kSpace) == isa::Mod::kSharedCluster &&
            isa::form(instruction.form).family == isa::Family::kMbarrier) {
          report(instruction, operand.column, "an arrival at a barrier of the cluster returns no state",
                 "write '_' as the destination, or use '.shared::cta'");
          return false;
        }
        return reg(function, instruction, operand, alternative, type, alternative.doubled ? 2 : 1);
      case OperandKind::kImm: return immediate(instruction, operand, alternative, type);
      default: return true;
    }
  }

  // Plain accesses to generic or global memory. ptxas ends with "32-bit ABI is not supported" there.
  static bool needs_wide_address(const Instruction& instruction) {
    const isa::FormClass cls = isa::form(instruction.form).form_class;
    if (cls != isa::FormClass::kMemory && cls != isa::FormClass::kAtomic) return false;
    const isa::Space space = isa::space_of(instruction.slot(isa::Slot::kSpace));
    return space == isa::Space::kGlobal ||
           (space == isa::Space::kGeneric && !instruction.has(isa::Mod::kMbarrierCompleteTxBytes));
  }

  bool address(const Function& function, const Instruction& instruction, const Operand& operand,
               const OperandAlternative& alternative) {
    if (operand.base != AddressBase::kReg) return true;
    const Register& base = function.registers[operand.reg];
    const unsigned width = isa::bits(base.type);
    if (width != 32 && alternative.shape == OperandShape::kTmem) {
      report(instruction, operand.column,
             fmt::format("the address '{}' in tensor memory has {} bits", base.name, width),
             "these addresses have 32 bits");
      return false;
    }
    if (width == 32 && needs_wide_address(instruction)) {
      report(instruction, operand.column, fmt::format("the generic or global address '{}' has 32 bits", base.name),
             "these addresses have 64 bits; or write the state space, '.shared'");
      return false;
    }
    if ((width == 32 || width == 64) && (is_integer(base.type) || isa::type_class(base.type) == TypeClass::kBits))
      return true;
    report(instruction, operand.column,
           fmt::format("'{}' of type .{} cannot be an address", base.name, isa::spelling(base.type)),
           "addresses are 32-bit or 64-bit integer registers");
    return false;
  }

  // mov packs and unpacks: the elements together are as wide as the type.
  bool vector(const Function& function, const Instruction& instruction, const Operand& operand,
              const OperandAlternative& alternative, Type type) {
    const auto elements = function.elements(operand);
    const bool packs = (alternative.shape == OperandShape::kAny || alternative.shape == OperandShape::kDstList) &&
                       instruction.slot(isa::Slot::kVec) == isa::Mod::kNone;
    if (!packs) {
      for (const Operand& element : elements) {
        if (!this->operand(function, instruction, element, alternative)) return false;
      }
      return true;
    }
    unsigned width = 0;
    unsigned sinks = 0;
    for (const Operand& element : elements) {
      if (element.kind == OperandKind::kReg)
        width += isa::bits(function.registers[element.reg].type);
      else
        ++sinks;
    }
    const bool fits = sinks == 0 ? width == isa::bits(type) : width < isa::bits(type);
    if (fits && type != Type::kPred) return true;
    report(instruction, operand.column,
           fmt::format("the vector has {} bits, '.{}' has {}", width, isa::spelling(type), isa::bits(type)));
    return false;
  }

  static bool is_list(const OperandAlternative& alternative) {
    return alternative.shape == OperandShape::kDstList || alternative.shape == OperandShape::kSrcList;
  }

  bool reg(const Function& function, const Instruction& instruction, const Operand& operand,
           const OperandAlternative& alternative, Type type, unsigned factor) {
    if (type == Type::kNone) return true;
    const Register& found = function.registers[operand.reg];
    if (type == Type::kPred) return true;  // operands_fit() saw to it
    const unsigned width = isa::bits(type) * factor;
    const unsigned have = isa::bits(found.type);
    bool good = false;
    const bool may_widen = alternative.shape == OperandShape::kDstWide || alternative.shape == OperandShape::kValWide ||
                           (is_list(alternative) && isa::form(instruction.form).form_class == isa::FormClass::kMemory);
    const bool bits_only = is_alternate(type);
    if (bits_only) {
      good = isa::type_class(found.type) == TypeClass::kBits &&
             (have == width || (width < 16 && width > 8 && have == 16) || (may_widen && have > width));
    } else if (have == width) {
      good = classes_agree(found.type, type);
    } else if (may_widen && have > width) {
      // PTX manual, "Operand Size Exceeding Instruction-Type Size".
      if (is_float(type))
        good = isa::type_class(found.type) == TypeClass::kBits;
      else
        good = isa::type_class(type) == TypeClass::kBits || !is_float(found.type);
    }
    if (good) return true;
    report(instruction, operand.column,
           fmt::format("'{}' has type .{}, which does not fit '.{}' of '{}'", found.name, isa::spelling(found.type),
                       isa::spelling(type), isa::opcode_text(instruction.form, instruction.mods)),
           fmt::format("a '.reg .b{}' register fits", width));
    return false;
  }

  bool immediate(const Instruction& instruction, const Operand& operand, const OperandAlternative& alternative,
                 Type type) {
    if (alternative.count.starts_with('%') &&
        operand.value % std::stoi(std::string(alternative.count.substr(1))) != 0) {
      report(instruction, operand.column,
             fmt::format("this constant must be a multiple of {}", alternative.count.substr(1)));
      return false;
    }
    if (alternative.shape == OperandShape::kImm && !alternative.count.empty() && alternative.count[0] != '%' &&
        (operand.imm_kind != ImmKind::kInteger ||
         fmt::format("/{}/", alternative.count).find(fmt::format("/{}/", operand.value)) == std::string::npos)) {
      report(instruction, operand.column, fmt::format("this constant must be {}", alternative.count));
      return false;
    }
    // The rows that mix f32 with bf16 take bf16 constants, as ptxas does.
    if (type == Type::kBf16 && operand.imm_kind == ImmKind::kInteger &&
        instruction.type(isa::Slot::kType) == Type::kF32)
      return true;
    const bool is_integer = operand.imm_kind == ImmKind::kInteger;
    if (is_alternate(type) || type == Type::kF16) {
      report(instruction, operand.column, fmt::format("'.{}' takes no constants", isa::spelling(type)),
             "move the bits into a register first");
      return false;
    }
    if (is_float(type) ? !is_integer : is_integer) return true;
    if (isa::type_class(type) == TypeClass::kBits && alternative.shape != OperandShape::kImm) return true;
    if (is_integer) {
      report(instruction, operand.column, "an integer constant where a floating-point one is expected",
             "write 1.0 or 0f3F800000");
    } else {
      report(instruction, operand.column, "a floating-point constant where an integer is expected");
    }
    return false;
  }

  const Module& module_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::vector<Error> validate_all(const Module& module, std::string_view text, std::size_t max_errors) {
  Diagnostics diagnostics(text, module.file_name, max_errors);
  Validator(module, diagnostics).run();
  return diagnostics.take();
}

Status validate(const Module& module, std::string_view text) {
  auto errors = validate_all(module, text);
  if (errors.empty()) return {};
  return fail(combine(std::move(errors)));
}

}  // namespace ptxbench::ptx
