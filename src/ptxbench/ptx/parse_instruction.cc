// Instructions: guard, opcode, operands, choice of the form.
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "ptxbench/isa/operands.h"
#include "ptxbench/ptx/operands_fit.h"
#include "ptxbench/ptx/parser.h"

namespace ptxbench::ptx {
namespace {

constexpr std::size_t kMaxOperands = 64;

bool takes_label(const isa::OpcodeMatch& match, std::size_t position) {
  for (const auto& candidate : match.candidates) {
    const auto patterns = isa::operand_patterns(candidate.form);
    if (position >= patterns.size()) continue;
    const auto shape = patterns[position].alternatives[0].shape;
    if (shape == isa::OperandShape::kLabel || shape == isa::OperandShape::kTargets) return true;
  }
  return false;
}

bool is_call(const isa::OpcodeMatch& match) {
  const auto patterns = isa::operand_patterns(match.candidates[0].form);
  return !patterns.empty() && patterns[0].alternatives[0].shape == isa::OperandShape::kCallArgs;
}

}  // namespace

bool Parser::instruction(Function& function) {
  Instruction result;
  const Token first = peek();
  result.position = {first.line, diagnostics_.column_of(first.offset)};
  result.loc = current_loc_;
  pending_labels_.clear();
  if (accept('@') && !guard(result)) return false;
  const Token start = peek();
  const isa::OpcodeMatch* match = nullptr;
  if (!opcode(match)) return false;
  const Token last_word = tokens_[next_ - 1];
  std::vector<Operand> operands;
  if (!operand_list(function, *match, operands)) return false;
  Token whole = start;
  whole.length = last_word.offset + last_word.length - start.offset;
  if (!choose_form(function, *match, operands, whole, result)) return false;
  store_operands(function, operands, result);
  function.instructions.push_back(result);
  if (accept(';')) return true;
  return error(peek(), fmt::format("expected ';' after the instruction, found {}", describe(peek())));
}

bool Parser::guard(Instruction& instruction) {
  instruction.predicate.negated = accept('!');
  const Token token = peek();
  std::string_view name;
  if (!expect_name("a predicate register after '@'", name)) return false;
  const auto found = scopes_->find(name);
  if (!found || found->kind != NameKind::kRegister) {
    return error(token, fmt::format("'{}' is not a declared predicate register", name), "declare it: '.reg .pred p;'");
  }
  instruction.predicate.reg = found->index;
  return true;
}

// Opcodes repeat, so each spelling is matched against the table once.
bool Parser::opcode(const isa::OpcodeMatch*& match) {
  const Token start = peek();
  if (start.kind != TokenKind::kName) {
    return error(start, fmt::format("expected an instruction, found {}", describe(start)));
  }
  std::vector<std::string_view> words{text_of(take())};
  std::size_t first = next_ - 1;
  std::string key(words[0]);
  while (peek().kind == TokenKind::kDot) {
    key += raw(peek());
    words.push_back(text_of(take()));
  }
  auto found = opcodes_.find(key);
  if (found == opcodes_.end()) found = opcodes_.emplace(std::move(key), isa::match_opcode(words)).first;
  match = &found->second;
  if (match->problem.empty()) {
    const isa::Form& row = isa::form(match->candidates[0].form);
    if (row.status != isa::FormStatus::kRefused) return true;
    Token whole = start;
    whole.length = tokens_[next_ - 1].offset + tokens_[next_ - 1].length - start.offset;
    return error(whole, fmt::format("'{}' is not supported: {}", row.head, row.refused_why), {},
                 ErrorKind::kUnsupported);
  }
  return error(tokens_[first + match->bad_word], match->problem, match->hint);
}

bool Parser::operand_list(Function& function, const isa::OpcodeMatch& match, std::vector<Operand>& operands) {
  if (is_call(match)) {
    Operand returns;
    returns.kind = OperandKind::kVector;
    if (accept('(')) {
      if (!vector(function, ')', returns) || !expect(',', "the return values")) return false;
    }
    Operand callee;
    Operand params;
    params.kind = OperandKind::kVector;
    if (!operand(function, false, callee)) return false;
    operands = {returns, callee, params};
    if (!accept(',')) return true;
    if (accept('(')) {
      if (!vector(function, ')', operands[2])) return false;
      if (!accept(',')) return true;
    }
    Operand prototype;
    if (!operand(function, false, prototype)) return false;
    operands.push_back(prototype);
    return true;
  }
  if (peek().is(';')) return true;
  do {
    if (operands.size() == kMaxOperands)
      return error(peek(), fmt::format("more than {} operands", kMaxOperands), {}, ErrorKind::kTooLarge);
    Operand next;
    if (!operand(function, takes_label(match, operands.size()), next)) return false;
    operands.push_back(next);
  } while (accept(','));
  return true;
}

bool Parser::choose_form(Function& function, const isa::OpcodeMatch& match, std::vector<Operand>& operands,
                         const Token& start, Instruction& instruction) {
  std::string problem;
  std::size_t bad_operand = 0;
  isa::FormId nearest = match.candidates[0].form;
  for (const auto& candidate : match.candidates) {
    std::string why;
    std::size_t where = 0;
    if (operands_fit(function, candidate.form, candidate.mods, operands, why, where)) {
      instruction.form = candidate.form;
      instruction.mods = candidate.mods;
      return true;
    }
    if (problem.empty() || where > bad_operand) {
      problem = std::move(why);
      bad_operand = where;
      nearest = candidate.form;
    }
  }
  std::string hint = fmt::format("the form is '{}'", isa::syntax(nearest));
  if (bad_operand < operands.size() && operands[bad_operand].column != 0) {
    diagnostics_.report_at(start.line, operands[bad_operand].column, std::move(problem), std::move(hint));
    return false;
  }
  return error(start, std::move(problem), std::move(hint));
}

void Parser::store_operands(Function& function, std::vector<Operand>& operands, Instruction& instruction) {
  instruction.first_operand = static_cast<std::uint32_t>(function.operand_pool.size());
  instruction.operand_count = static_cast<std::uint16_t>(operands.size());
  for (Operand& operand : operands) {
    const auto place = static_cast<std::uint32_t>(function.operand_pool.size());
    if (operand.kind == OperandKind::kLabel) {
      const Token& token = pending_labels_[operand.reg];
      scopes_->refer({text_of(token), place, token.offset, token.length});
      operand.reg = kNone;
    }
    function.operand_pool.push_back(operand);
  }
}

}  // namespace ptxbench::ptx
