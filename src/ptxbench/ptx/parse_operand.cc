// Operands by their syntax alone; which of them a form takes is decided in operands_fit().
#include <fmt/format.h>

#include <bit>

#include "ptxbench/ptx/parser.h"

namespace ptxbench::ptx {
namespace {

constexpr std::size_t kMaxElements = 512;

}  // namespace

void Parser::add_elements(Function& function, std::vector<Operand>& elements, Operand& result) {
  result.first = static_cast<std::uint32_t>(function.operand_pool.size());
  result.count = static_cast<std::uint32_t>(elements.size());
  function.operand_pool.insert(function.operand_pool.end(), elements.begin(), elements.end());
}

bool Parser::operand(Function& function, bool label_wanted, Operand& result) {
  const Token start = peek();
  if (!simple_operand(function, label_wanted, result)) return false;
  result.column = diagnostics_.column_of(start.offset);
  if (!peek().is('|')) return true;
  take();
  std::vector<Operand> halves{result, {}};
  const Token second = peek();
  if (!simple_operand(function, false, halves[1])) return false;
  halves[1].column = diagnostics_.column_of(second.offset);
  for (const Operand& half : halves) {
    if (half.kind != OperandKind::kReg && half.kind != OperandKind::kSink)
      return error(start, "a pair 'd|p' is of registers or '_'");
  }
  Operand pair;
  pair.kind = OperandKind::kPair;
  pair.column = halves[0].column;
  add_elements(function, halves, pair);
  result = pair;
  return true;
}

bool Parser::simple_operand(Function& function, bool label_wanted, Operand& result) {
  const Token& token = peek();
  if (token.is('{')) {
    take();
    return vector(function, '}', result);
  }
  if (token.is('[')) {
    take();
    return address(function, result);
  }
  if (token.is('!')) {
    take();
    const Token name = peek();
    if (name.kind != TokenKind::kName || !name_operand(false, result)) {
      return name.kind == TokenKind::kName
                 ? false
                 : error(name, fmt::format("expected a predicate after '!', found {}", describe(name)));
    }
    if (result.kind != OperandKind::kReg) return error(name, "'!' is for predicate registers");
    result.negated = true;
    return true;
  }
  if (token.kind == TokenKind::kName) return name_operand(label_wanted, result);
  return immediate(result);
}

// Numbers with signs; '~' and parentheses are not seen in compiler output and not taken.
bool Parser::immediate(Operand& result) {
  result.kind = OperandKind::kImm;
  const bool negative = accept('-');
  if (!negative) accept('+');
  const Token token = peek();
  if (token.kind == TokenKind::kInteger) {
    take();
    std::uint64_t value = 0;
    if (!integer_value(token, value)) return false;
    result.imm_kind = ImmKind::kInteger;
    result.value = static_cast<std::int64_t>(negative ? 0 - value : value);
    return true;
  }
  if (token.kind == TokenKind::kFloat) {
    take();
    if (!float_bits(token, result.imm_kind, result.value)) return false;
    if (negative) {
      result.value ^= result.imm_kind == ImmKind::kF32 ? std::int64_t{1} << 31
                                                       : std::bit_cast<std::int64_t>(std::uint64_t{1} << 63);
    }
    return true;
  }
  return error(token, fmt::format("expected an operand, found {}", describe(token)),
               "operands are registers, constants, [addresses] and {vectors}");
}

bool Parser::name_operand(bool label_wanted, Operand& result) {
  const Token token = take();
  const auto name = text_of(token);
  if (name == "_") {
    result.kind = OperandKind::kSink;
    return true;
  }
  if (const auto found = scopes_->find(name); found && found->kind != NameKind::kLabel) {
    switch (found->kind) {
      case NameKind::kRegister:
        result.kind = OperandKind::kReg;
        result.reg = found->index;
        return true;
      case NameKind::kPrototype:
        result.kind = OperandKind::kPrototype;
        result.value = found->index;
        return true;
      case NameKind::kTargets: result = target_tables_[found->index].front(); return true;
      default: break;
    }
    result.kind = OperandKind::kSymbol;
    const SymbolKind kind = found->kind == NameKind::kVariable ? SymbolKind::kVariable
                            : found->kind == NameKind::kParam  ? SymbolKind::kParam
                                                               : SymbolKind::kReturn;
    result.symbol = {kind, found->index};
    return (peek().is('+') || peek().is('-')) ? address_offset(result.value) : true;
  }
  if (label_wanted) {
    result.kind = OperandKind::kLabel;
    result.reg = static_cast<std::uint32_t>(pending_labels_.size());
    pending_labels_.push_back(token);
    return true;
  }
  if (name[0] == '%' && (isa::sreg_from_spelling(name) || peek().kind == TokenKind::kDot)) {
    std::string full(name);
    if (peek().kind == TokenKind::kDot) full += raw(take());
    const auto sreg = isa::sreg_from_spelling(full);
    if (!sreg) return error(token, fmt::format("'{}' is neither a declared register nor a special register", full));
    result.kind = OperandKind::kSpecial;
    result.sreg = *sreg;
    return true;
  }
  if (const auto symbol = find_symbol(name)) {
    result.kind = OperandKind::kSymbol;
    result.symbol = *symbol;
    return (peek().is('+') || peek().is('-')) ? address_offset(result.value) : true;
  }
  if (name == "WARP_SZ") {
    result.kind = OperandKind::kImm;
    result.value = 32;
    return true;
  }
  return error(token, fmt::format("'{}' is not declared", name.substr(0, 100)),
               name[0] == '%' ? "declare the register with '.reg' in this block or an enclosing one"
                              : "declare it before its first use");
}

// The elements up to the closing bracket, which is also taken.
bool Parser::vector(Function& function, char close, Operand& result) {
  std::vector<Operand> elements;
  while (!peek().is(close)) {
    Operand element;
    const Token start = peek();
    if (start.is('{') || start.is('[')) return error(start, "vectors hold registers and constants only");
    if (!simple_operand(function, false, element)) return false;
    element.column = diagnostics_.column_of(start.offset);
    elements.push_back(element);
    if (elements.size() > kMaxElements)
      return error(start, fmt::format("a vector of more than {} elements", kMaxElements), {}, ErrorKind::kTooLarge);
    if (!accept(',')) break;
  }
  if (!accept(close)) return error(peek(), fmt::format("expected ',' or '{}', found {}", close, describe(peek())));
  result.kind = OperandKind::kVector;
  add_elements(function, elements, result);
  return true;
}

// + 4, +-4
bool Parser::address_offset(std::int64_t& offset) {
  while (peek().is('+') || peek().is('-')) {
    if (peek().is('-')) return error(peek(), "an offset starts with '+'", "write '+-4' for minus four");
    take();
    const bool negative = accept('-');
    std::uint64_t value = 0;
    if (!expect_unsigned("a byte offset", ~std::uint64_t{0}, value)) return false;
    offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) + (negative ? 0 - value : value));
  }
  return true;
}

// [reg], [reg+imm], [sym+imm], [imm], [map, {coordinates}]
bool Parser::address(Function& function, Operand& result) {
  const Token start = peek();
  Operand base;
  if (start.is('{') || start.is('[') || start.is('!') || !simple_operand(function, false, base)) {
    return start.is('{') || start.is('[') || start.is('!')
               ? error(start, fmt::format("expected an address, found {}", describe(start)))
               : false;
  }
  result.kind = OperandKind::kAddress;
  result.value = 0;
  switch (base.kind) {
    case OperandKind::kReg:
      result.base = AddressBase::kReg;
      result.reg = base.reg;
      break;
    case OperandKind::kSymbol:
      result.base = AddressBase::kSymbol;
      result.symbol = base.symbol;
      result.value = base.value;
      break;
    case OperandKind::kImm:
      if (base.imm_kind != ImmKind::kInteger) return error(start, "an address is not a floating-point constant");
      result.base = AddressBase::kImm;
      result.value = base.value;
      break;
    default:
      return error(start, fmt::format("{} cannot be an address", describe(start)),
                   "addresses are [register+offset] or [variable+offset]");
  }
  if (!address_offset(result.value)) return false;
  if (accept(',')) {
    const Token part = peek();
    Operand coordinates;
    if (!accept('{')) return error(part, fmt::format("expected '{{' and the coordinates, found {}", describe(part)));
    if (!vector(function, '}', coordinates)) return false;
    result.first = coordinates.first;
    result.count = coordinates.count;
    if (result.count == 0) return error(part, "an empty list of coordinates");
  }
  return accept(']') || error(peek(), fmt::format("expected ']', found {}", describe(peek())));
}

}  // namespace ptxbench::ptx
