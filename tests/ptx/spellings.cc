#include "spellings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "ptxbench/isa/match.h"
#include "ptxbench/isa/operands.h"

namespace ptxbench::ptx {
namespace {

using isa::Mod;
using isa::ModList;
using isa::OperandAlternative;
using isa::OperandPattern;
using isa::OperandShape;
using isa::Slot;
using isa::Type;

// Constants that are legal where the manual limits them.
std::string constant_for(std::string_view name) {
  static const std::map<std::string_view, std::string_view> kValues = {
      {"immLut", "0x40"},
      {"cp_size", "16"},
      {"imm_reg_count", "40"},
      {"imm_scale_a", "1"},
      {"imm_scale_b", "-1"},
      {"imm_trans_a", "0"},
      {"imm_trans_b", "1"},
      {"size", "128"},
      {"ord", "1"},
      {"scale_input_d", "3"},
      {"new_val", "1"},
      {"sp_sel", "0"},
      {"f", "0"},
      {"n", "1"},
      {"immHalfSplitoff", "16"},
      {"initval", "0"},
  };
  const auto found = kValues.find(name);
  return found == kValues.end() ? "1" : std::string(found->second);
}

class Maker {
 public:
  Maker(isa::FormId form, const ModList& mods) : form_(form), mods_(mods), elements_(isa::modifier_elements(form)) {}

  std::vector<std::string> operands(bool with_optional, bool constants) const {
    std::vector<std::string> result;
    for (const OperandPattern& pattern : isa::operand_patterns(form_)) {
      if (!pattern.conditions.empty() && !has_any(pattern.conditions)) continue;
      if (pattern.optional && !with_optional) continue;
      result.push_back(operand(pattern, pattern.alternatives[0], constants));
    }
    return result;
  }

  std::string operand(const OperandPattern& pattern, const OperandAlternative& alternative, bool constants) const {
    const Type type = this->type(alternative);
    unsigned count = std::max(1u, isa::vector_length(form_, mods_, alternative.count));
    if (pattern.name == "disable_output_lane") count = slot(Slot::kCtaGroup) == Mod::kCtaGroup2 ? 8 : 4;
    const unsigned vec = isa::number_of(slot(Slot::kVec));
    switch (alternative.shape) {
      case OperandShape::kDst:
      case OperandShape::kDstWide:
      case OperandShape::kDstSink:
      case OperandShape::kReg: return reg(type, alternative.doubled, 1);
      case OperandShape::kDstPair: return reg(type, false, 1) + "|p1";
      case OperandShape::kPredPair: return "p1|p2";
      case OperandShape::kDstList:
      case OperandShape::kSrcList: return vec != 0 ? vector(type, vec) : reg(type, false, 1);
      case OperandShape::kDstVec:
      case OperandShape::kVecInOut:
      case OperandShape::kVec: return vector(type, count);
      case OperandShape::kVal:
      case OperandShape::kValWide:
        if (constants && alternative.count.starts_with('%')) return "32";
        if (constants && pattern.name == "src_size") return "16";
        return constants ? literal(type) : reg(type, alternative.doubled, 2);
      case OperandShape::kAny: return reg(type, false, 2);
      case OperandShape::kPredVal: return constants ? "1" : "p2";
      case OperandShape::kPred: return "p2";
      case OperandShape::kImm: return constant_for(pattern.name);
      case OperandShape::kTmem: return "[b32_1]";
      case OperandShape::kMem: return address();
      case OperandShape::kTensor: return tensor();
      case OperandShape::kOffsets: return offsets();
      default: return "?";
    }
  }

 private:
  bool has_any(const std::vector<Mod>& words) const {
    return std::any_of(words.begin(), words.end(),
                       [&](Mod word) { return std::find(mods_.begin(), mods_.end(), word) != mods_.end(); });
  }

  Mod slot(Slot wanted) const {
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      if (elements_[i].slot == wanted) return mods_[i];
    }
    return Mod::kNone;
  }

  Type type(const OperandAlternative& alternative) const {
    if (alternative.type_slot != Slot::kCount) return isa::type_of(slot(alternative.type_slot));
    if (alternative.type_rule == "frag_d") return fragment(Slot::kDtype);
    if (alternative.type_rule == "frag_c") return fragment(Slot::kCtype);
    if (alternative.type_rule == "frag_a") return fragment(Slot::kAtype);
    if (alternative.type_rule == "frag_b") return fragment(Slot::kBtype);
    if (alternative.count == "4" && alternative.type == Type::kF32) return Type::kF32;
    return alternative.type == Type::kNone ? Type::kB32 : alternative.type;
  }

  Type fragment(Slot wanted) const {
    const Type type = isa::type_of(slot(wanted));
    return type == Type::kF64 || type == Type::kF32 ? type : Type::kB32;
  }

  // rN_<type>: a register whose type is the instruction's, or bits of its width where no register has that type.
  static std::string reg(Type type, bool doubled, unsigned number) {
    if (type == Type::kPred) return fmt::format("p{}", number);
    const auto cls = isa::type_class(type);
    const bool fp4 = type == Type::kE2m1x2;  // the one type whose registers have 8 bits
    const unsigned width = fp4 ? 8 : std::max(16u, isa::bits(type)) * (doubled ? 2 : 1);
    const bool native = type == Type::kF16 || type == Type::kF32 || type == Type::kF64 ||
                        cls == isa::TypeClass::kUnsigned || cls == isa::TypeClass::kSigned;
    if (!native) return fmt::format("b{}_{}", width, number);
    const char letter = isa::spelling(type)[0];
    return fmt::format("{}{}_{}", letter, width, number);
  }

  static std::string literal(Type type) {
    switch (type) {
      case Type::kF32: return "0f3F800000";
      case Type::kF64: return "0d3FF0000000000000";
      default: return "1";
    }
  }

  static std::string vector(Type type, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + reg(type, false, i);
    return text + "}";
  }

  std::string address() const {
    if (slot(Slot::kSpace) == Mod::kParam) return isa::form(form_).head.starts_with("st") ? "[arg0]" : "[par0]";
    return "[b64_1]";
  }

  std::string tensor() const {
    unsigned count = isa::number_of(slot(Slot::kDim));
    if (slot(Slot::kLoadMode) == Mod::kTileGather4 || slot(Slot::kStoreMode) == Mod::kTileScatter4) count = 5;
    std::string text = "[b64_1, {";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + fmt::format("b32_{}", i);
    return text + "}]";
  }

  std::string offsets() const {
    const bool wide = slot(Slot::kLoadMode) != Mod::kIm2col;
    const unsigned dim = isa::number_of(slot(Slot::kDim));
    return vector(Type::kB16, wide ? 2 : std::max(3u, dim) - 2);
  }

  isa::FormId form_;
  ModList mods_;
  std::span<const isa::ModifierElement> elements_;
};

std::vector<Mod> words_of(const isa::ModifierElement& element) {
  if (element.slot == Slot::kFlag) return {element.word};
  std::vector<Mod> words;
  for (std::size_t i = 1; i < isa::kModCount; ++i) {
    if (element.words->test(i)) words.push_back(static_cast<Mod>(i));
  }
  // Of the 32 widths of wgmma the ends and the middle say enough.
  if (words.size() > 16) {
    std::vector<Mod> few;
    for (std::size_t i = 0; i < words.size(); i += words.size() / 5) few.push_back(words[i]);
    few.push_back(words.back());
    return few;
  }
  return words;
}

std::string line(isa::FormId form, std::string_view opcode, const std::vector<std::string>& operands) {
  (void)form;
  std::string text(opcode);
  for (std::size_t i = 0; i < operands.size(); ++i) text += (i == 0 ? " " : ", ") + operands[i];
  return text + ";";
}

bool needs_surroundings(isa::FormId form) {
  for (const OperandPattern& pattern : isa::operand_patterns(form)) {
    switch (pattern.alternatives[0].shape) {
      case OperandShape::kLabel:
      case OperandShape::kTargets:
      case OperandShape::kFunc:
      case OperandShape::kCallArgs:
      case OperandShape::kProto: return true;
      default: break;
    }
  }
  return isa::form(form).form_class == isa::FormClass::kControl;
}

// Words that are wrong for the line: one left out, one twice, a type in the place of another.
void add_opcode_mutations(isa::FormId form, const ModList& mods, const std::vector<std::string>& operands,
                          std::vector<Spelling>& lines) {
  const auto elements = isa::modifier_elements(form);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (mods[i] == Mod::kNone) continue;
    ModList less = mods;
    less[i] = Mod::kNone;
    lines.push_back({form, line(form, isa::opcode_text(form, less), operands)});
  }
  const std::string opcode = isa::opcode_text(form, mods);
  if (const auto dot = opcode.rfind('.'); dot != std::string::npos)
    lines.push_back({form, line(form, opcode + opcode.substr(dot), operands)});
}

void add_operand_mutations(isa::FormId form, const ModList& mods, const std::vector<std::string>& operands,
                           std::vector<Spelling>& lines) {
  const std::string opcode = isa::opcode_text(form, mods);
  if (!operands.empty()) {
    auto fewer = operands;
    fewer.pop_back();
    lines.push_back({form, line(form, opcode, fewer)});
  }
  auto more = operands;
  more.push_back("b32_3");
  lines.push_back({form, line(form, opcode, more)});
  for (std::size_t i = 0; i < operands.size(); ++i) {
    // Four of the nine per operand keep the test short; neighbours in the table get others.
    static constexpr std::string_view kOthers[] = {"b16_3", "f32_3",   "p3",    "b32_3",         "1",
                                                   "b64_3", "[b64_3]", "s32_3", "{b32_3, b32_4}"};
    for (std::size_t n = 0; n < 4; ++n) {
      auto changed = operands;
      changed[i] = kOthers[(static_cast<std::size_t>(form) + i + 2 * n) % std::size(kOthers)];
      if (changed != operands) lines.push_back({form, line(form, opcode, changed)});
    }
  }
}

}  // namespace

std::vector<Spelling> spellings(isa::FormId form) {
  std::vector<Spelling> lines;
  if (isa::form(form).status == isa::FormStatus::kRefused || needs_surroundings(form)) return lines;
  const auto elements = isa::modifier_elements(form);
  ModList base{};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].optional) base[i] = words_of(elements[i]).front();
  }
  const auto add = [&](const ModList& mods, bool with_optional, bool constants) {
    lines.push_back(
        {form, line(form, isa::opcode_text(form, mods), Maker(form, mods).operands(with_optional, constants))});
  };
  add(base, false, false);
  add(base, true, false);
  add(base, false, true);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (const Mod word : words_of(elements[i])) {
      ModList mods = base;
      mods[i] = word;
      add(mods, false, false);
    }
  }
  std::mt19937 random(static_cast<unsigned>(form));
  for (int n = 0; n < 8; ++n) {
    ModList mods{};
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (elements[i].optional && random() % 2 == 0) continue;
      const auto words = words_of(elements[i]);
      mods[i] = words[random() % words.size()];
    }
    add(mods, n % 2 == 0, n % 4 == 0);
  }
  const auto operands = Maker(form, base).operands(false, false);
  add_opcode_mutations(form, base, operands, lines);
  add_operand_mutations(form, base, operands, lines);
  std::set<std::string> seen;
  std::erase_if(lines, [&](const Spelling& spelling) { return !seen.insert(spelling.text).second; });
  return lines;
}

OracleModule oracle_module(std::span<const Spelling> lines, isa::Version version, const std::string& target) {
  OracleModule module;
  module.text = fmt::format(
      ".version {}.{}\n.target {}\n.address_size 64\n.visible .entry k(.param .u64 par0)\n{{\n.param .align 16 .b8 "
      "arg0[64];\n.reg .pred p<9>;\n",
      version.major, version.minor, target);
  for (const std::string_view type :
       {"b8", "b16", "b32", "b64", "b128", "u16", "u32", "u64", "s16", "s32", "s64", "f16", "f32", "f64"}) {
    module.text += fmt::format(".reg .{0} {0}_<260>;\n", type);
  }
  module.first_line = static_cast<std::uint32_t>(std::count(module.text.begin(), module.text.end(), '\n')) + 1;
  for (const Spelling& spelling : lines) module.text += spelling.text + "\n";
  // Always an error, so that ptxas stops after its checks and does not compile thousands of odd lines.
  module.text += "add.s32 b64_0, b64_0, p0;\nret;\n}\n";
  return module;
}

}  // namespace ptxbench::ptx
