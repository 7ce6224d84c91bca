// Do these operands have the shapes of that form? Optional operands are tried both ways.
#include <fmt/format.h>

#include <algorithm>

#include "ptxbench/isa/match.h"
#include "ptxbench/isa/operands.h"
#include "ptxbench/ptx/operands_fit.h"

namespace ptxbench::ptx {
namespace {

using isa::OperandAlternative;
using isa::OperandPattern;
using isa::OperandShape;

class Fit {
 public:
  Fit(const Function& function, isa::FormId form, std::span<const isa::Mod> mods, std::span<const Operand> operands)
      : function_(function), form_(form), mods_(mods), operands_(operands), patterns_(isa::operand_patterns(form)) {
    takes_scalar_ = !patterns_.empty() && patterns_[0].alternatives[0].shape == OperandShape::kDstVec &&
                    isa::form(form).family == isa::Family::kLdmatrix;
    const auto elements = isa::modifier_elements(form);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (elements[i].slot != isa::Slot::kVec) continue;
      has_vec_slot_ = true;
      vec_count_ = isa::number_of(mods[i]);
    }
  }

  bool run() {
    chosen.resize(operands_.size());
    return match(0, 0);
  }
  std::vector<const OperandAlternative*> chosen;  // by operand
  std::string problem;
  std::size_t bad_operand = 0;

 private:
  // A conditional operand that this opcode does not have.
  bool absent(const OperandPattern& pattern) const {
    return !pattern.conditions.empty() &&
           std::none_of(pattern.conditions.begin(), pattern.conditions.end(),
                        [&](isa::Mod word) { return std::find(mods_.begin(), mods_.end(), word) != mods_.end(); });
  }

  // Patterns from p against operands from o.
  bool match(std::size_t p, std::size_t o) {
    if (p == patterns_.size()) {
      if (o == operands_.size()) return true;
      note(o, fmt::format("takes {}, found {}", expected_count(), operands_.size()));
      return false;
    }
    const OperandPattern& pattern = patterns_[p];
    if (absent(pattern)) return match(p + 1, o);
    if (!pattern.conditions.empty() && !pattern.optional && o == operands_.size()) {
      note(o,
           fmt::format("needs the operand '{}', because of '.{}'", pattern.name, isa::spelling(pattern.conditions[0])));
      return false;
    }
    if (o == operands_.size()) {
      if (pattern.optional) return match(p + 1, o);
      note(o, fmt::format("takes {}, found {}", expected_count(), operands_.size()));
      return false;
    }
    chosen[o] = fits_any(pattern, operands_[o]);
    if (chosen[o] != nullptr && match(p + 1, o + 1)) return true;
    if (fits_any(pattern, operands_[o]) == nullptr) {
      note(o, fmt::format("takes {} as operand {} ('{}'), found {}", describe(pattern), o + 1, pattern.name,
                          describe(operands_[o])));
    }
    return pattern.optional && match(p + 1, o);
  }

  // The furthest misfit explains best.
  void note(std::size_t operand, std::string text) {
    if (!problem.empty() && operand <= bad_operand) return;
    bad_operand = operand;
    problem = fmt::format("'{}' {}", isa::opcode_text(form_, mods_), text);
  }

  std::string expected_count() const {
    std::size_t least = 0;
    std::size_t most = 0;
    for (const OperandPattern& pattern : patterns_) {
      most += !absent(pattern);
      least += !absent(pattern) && !pattern.optional;
    }
    if (least == most) return fmt::format("{} operand{}", most, most == 1 ? "" : "s");
    return fmt::format("{} to {} operands", least, most);
  }

  const OperandAlternative* fits_any(const OperandPattern& pattern, const Operand& operand) const {
    for (const OperandAlternative& alternative : pattern.alternatives) {
      if (fits(alternative, operand)) return &alternative;
    }
    return nullptr;
  }

  bool is_pred(const Operand& operand) const {
    return operand.kind == OperandKind::kReg && function_.registers[operand.reg].type == isa::Type::kPred;
  }
  bool is_plain_reg(const Operand& operand) const {
    return operand.kind == OperandKind::kReg && !operand.negated && !is_pred(operand);
  }
  bool is_reg_of(const OperandAlternative& alternative, const Operand& operand) const {
    return alternative.type == isa::Type::kPred ? is_pred(operand) && !operand.negated : is_plain_reg(operand);
  }

  template <class Element>
  bool is_vector(const Operand& operand, unsigned count, Element element) const {
    if (operand.kind != OperandKind::kVector || operand.count == 0) return false;
    if (count != 0 && operand.count != count) return false;
    const auto elements = function_.elements(operand);
    return std::all_of(elements.begin(), elements.end(), element);
  }

  bool fits(const OperandAlternative& alternative, const Operand& operand) const {
    const unsigned count = isa::vector_length(form_, mods_, alternative.count);
    const auto reg = [&](const Operand& o) { return is_reg_of(alternative, o); };
    const auto reg_or_sink = [&](const Operand& o) {
      return o.kind == OperandKind::kSink || is_reg_of(alternative, o);
    };
    const auto value = [&](const Operand& o) { return o.kind == OperandKind::kImm || is_reg_of(alternative, o); };
    switch (alternative.shape) {
      case OperandShape::kDst:
      case OperandShape::kDstWide:
      case OperandShape::kReg: return reg(operand);
      case OperandShape::kDstSink: return reg_or_sink(operand);
      case OperandShape::kDstPair:
        return operand.kind == OperandKind::kPair ? fits_pair(operand, false)
                                                  : !alternative.pair_only && reg_or_sink(operand);
      case OperandShape::kPredPair:
        return operand.kind == OperandKind::kPair ? fits_pair(operand, true)
                                                  : is_pred(operand) || operand.kind == OperandKind::kSink;
      case OperandShape::kDstList:
        return wants_vector(operand) ? is_vector(operand, wanted_length(), reg_or_sink) : reg(operand);
      case OperandShape::kDstVec:
        return is_vector(operand, count, reg_or_sink) || (count == 1 && takes_scalar_ && reg(operand));
      case OperandShape::kVecInOut:
      case OperandShape::kVec: return is_vector(operand, count, value) || (count == 1 && takes_scalar_ && reg(operand));
      case OperandShape::kVal:
      case OperandShape::kValWide: return value(operand);
      case OperandShape::kSrcList:
        return wants_vector(operand) ? is_vector(operand, wanted_length(), value) : value(operand);
      case OperandShape::kAny: return fits_any_source(operand, value);
      case OperandShape::kPredVal:
        return is_pred(operand) || (operand.kind == OperandKind::kImm) || is_pred_sreg(operand);
      case OperandShape::kPred: return is_pred(operand);
      case OperandShape::kImm: return operand.kind == OperandKind::kImm;
      case OperandShape::kTmem:
      case OperandShape::kMem: return operand.kind == OperandKind::kAddress && operand.count == 0;
      case OperandShape::kTensor: return operand.kind == OperandKind::kAddress && operand.count != 0;
      case OperandShape::kOffsets: return is_vector(operand, 0, value);
      case OperandShape::kLabel: return operand.kind == OperandKind::kLabel;
      case OperandShape::kTargets: return operand.kind == OperandKind::kTargets;
      case OperandShape::kFunc:
        return (operand.kind == OperandKind::kSymbol && operand.symbol.kind == SymbolKind::kFunction) ||
               is_plain_reg(operand);
      case OperandShape::kCallArgs: return operand.kind == OperandKind::kVector;
      case OperandShape::kProto:
        return operand.kind == OperandKind::kPrototype || operand.kind == OperandKind::kTargets;
    }
    return false;
  }

  bool wants_vector(const Operand& operand) const { return vec_count_ != 0 || operand.kind == OperandKind::kVector; }
  // Without .vec a vector of one element is as good as the element; mov takes any (its width is checked later).
  unsigned wanted_length() const { return has_vec_slot_ && vec_count_ == 0 ? 1 : vec_count_; }

  bool fits_pair(const Operand& pair, bool first_is_pred) const {
    const auto halves = function_.elements(pair);
    const bool first = halves[0].kind == OperandKind::kSink || is_pred(halves[0]) == first_is_pred;
    return first && (halves[1].kind == OperandKind::kSink || is_pred(halves[1]));
  }

  bool is_pred_sreg(const Operand& operand) const {
    return operand.kind == OperandKind::kSpecial && isa::info(operand.sreg).type == isa::Type::kPred;
  }

  template <class Value>
  bool fits_any_source(const Operand& operand, Value value) const {
    return value(operand) || operand.kind == OperandKind::kSymbol || operand.kind == OperandKind::kSpecial ||
           is_vector(operand, 0, value);
  }

  std::string describe(const OperandPattern& pattern) const {
    std::string text;
    for (const OperandAlternative& alternative : pattern.alternatives) {
      if (!text.empty()) text += " or ";
      text += describe(alternative);
    }
    return text;
  }

  std::string describe(const OperandAlternative& alternative) const {
    const unsigned count = isa::vector_length(form_, mods_, alternative.count);
    switch (alternative.shape) {
      case OperandShape::kDst:
      case OperandShape::kDstWide:
      case OperandShape::kReg: return alternative.type == isa::Type::kPred ? "a predicate register" : "a register";
      case OperandShape::kDstSink: return "a register or '_'";
      case OperandShape::kDstPair: return alternative.pair_only ? "a pair 'd|p'" : "a register or a pair 'd|p'";
      case OperandShape::kPredPair: return "a predicate or a pair 'p|q'";
      case OperandShape::kDstList:
      case OperandShape::kSrcList: return vec_count_ != 0 ? fmt::format("a vector of {}", vec_count_) : "a register";
      case OperandShape::kDstVec:
      case OperandShape::kVecInOut:
      case OperandShape::kVec: return count != 0 ? fmt::format("a vector of {}", count) : "a vector";
      case OperandShape::kVal:
      case OperandShape::kValWide: return "a register or a constant";
      case OperandShape::kAny: return "a register, a constant, a variable or a vector";
      case OperandShape::kPredVal: return "a predicate";
      case OperandShape::kPred: return "a predicate register";
      case OperandShape::kImm: return "a constant";
      case OperandShape::kTmem:
      case OperandShape::kMem: return "an address in brackets";
      case OperandShape::kTensor: return "a tensor map with coordinates, '[map, {x, y}]'";
      case OperandShape::kOffsets: return "a vector of offsets";
      case OperandShape::kLabel: return "a label";
      case OperandShape::kTargets: return "a '.branchtargets' label";
      case OperandShape::kFunc: return "a function";
      case OperandShape::kCallArgs: return "a list in parentheses";
      case OperandShape::kProto: return "a '.callprototype' label";
    }
    return "an operand";
  }

  std::string describe(const Operand& operand) const {
    switch (operand.kind) {
      case OperandKind::kReg:
        return is_pred(operand) ? (operand.negated ? "a negated predicate" : "a predicate register") : "a register";
      case OperandKind::kImm: return "a constant";
      case OperandKind::kSymbol: return operand.symbol.kind == SymbolKind::kFunction ? "a function" : "a variable";
      case OperandKind::kSpecial: return "a special register";
      case OperandKind::kAddress: return operand.count != 0 ? "a tensor map with coordinates" : "an address";
      case OperandKind::kVector: return fmt::format("a vector of {}", operand.count);
      case OperandKind::kPair: return "a pair";
      case OperandKind::kSink: return "'_'";
      case OperandKind::kLabel: return "a label";
      case OperandKind::kPrototype: return "a '.callprototype' label";
      case OperandKind::kTargets: return "a table of targets";
    }
    return "an operand";
  }

  const Function& function_;
  isa::FormId form_;
  std::span<const isa::Mod> mods_;
  std::span<const Operand> operands_;
  std::span<const OperandPattern> patterns_;
  // ldmatrix and wmma take one register without braces; mma, stmatrix and tcgen05 do not.
  bool takes_scalar_ = false;
  bool has_vec_slot_ = false;
  unsigned vec_count_ = 0;
};

}  // namespace

std::vector<const OperandAlternative*> fitted_alternatives(const Function& function, const Instruction& instruction) {
  Fit fit(function, instruction.form, instruction.mods, function.operands(instruction));
  if (!fit.run()) return {};
  return std::move(fit.chosen);
}

bool operands_fit(const Function& function, isa::FormId form, std::span<const isa::Mod> mods,
                  std::span<const Operand> operands, std::string& problem, std::size_t& bad_operand) {
  Fit fit(function, form, mods, operands);
  if (fit.run()) return true;
  problem = std::move(fit.problem);
  bad_operand = fit.bad_operand;
  return false;
}

}  // namespace ptxbench::ptx
