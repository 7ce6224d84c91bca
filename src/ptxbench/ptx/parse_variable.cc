// Variables: state space, alignment, type, dimensions, initialisers (PTX manual, "Variables").
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ptxbench/ptx/parser.h"

namespace ptxbench::ptx {
namespace {

constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxInitBytes = std::uint64_t{1} << 28;
constexpr int kMaxInitDepth = 16;

// product(dims) * element, or nothing on overflow of the limit.
std::optional<std::uint64_t> total_bytes(const std::vector<std::uint64_t>& dims, std::uint64_t element) {
  std::uint64_t total = element;
  for (const std::uint64_t dim : dims) {
    if (dim != 0 && total > kMaxVariableBytes / dim) return std::nullopt;
    total *= dim;
  }
  return total;
}

}  // namespace

// Attributes, alignment, vector and type in any order up to the type.
bool Parser::variable_prefix(Variable& variable) {
  while (peek().kind == TokenKind::kDot) {
    const Token token = peek();
    const auto word = text_of(token);
    if (word == "align") {
      take();
      std::uint64_t align = 0;
      if (!expect_unsigned("an alignment", std::uint64_t{1} << 30, align)) return false;
      if (!std::has_single_bit(align))
        return error(token, fmt::format("the alignment {} is not a power of two", align));
      variable.align = static_cast<std::uint32_t>(align);
    } else if (word == "attribute") {
      if (!skip_attribute(variable)) return false;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      take();
      variable.vector = static_cast<std::uint32_t>(word[1] - '0');
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      return error(token, "textures and surfaces are out of scope", "read global memory instead",
                   ErrorKind::kUnsupported);
    } else if (const auto type = isa::type_from_spelling(word)) {
      take();
      variable.type = *type;
      return true;
    } else {
      return error(token, fmt::format("{} is not a type", describe(token)), "types are like .b32, .f32, .u64");
    }
  }
  return error(peek(), fmt::format("expected a type, found {}", describe(peek())));
}

// .attribute(.managed), .attribute(.unified(hi, lo))
bool Parser::skip_attribute(Variable& variable) {
  take();
  if (!expect('(', "'.attribute'")) return false;
  do {
    if (accept_dot("managed")) {
      variable.managed = true;
    } else if (accept_dot("unified")) {
      variable.unified = true;
      std::uint64_t ignored = 0;
      if (!expect('(', "'.unified'") || !expect_unsigned("a number", ~std::uint64_t{0}, ignored) ||
          !expect(',', "the number") || !expect_unsigned("a number", ~std::uint64_t{0}, ignored) ||
          !expect(')', "the numbers")) {
        return false;
      }
    } else {
      return error(peek(), fmt::format("{} is not an attribute", describe(peek())), "'.managed' and '.unified' are",
                   ErrorKind::kUnsupported);
    }
  } while (accept(','));
  return expect(')', "the attribute");
}

bool Parser::variable_declaration(isa::Space space, Linkage linkage, Function* function) {
  Variable prefix;
  prefix.space = space;
  prefix.linkage = linkage;
  if (!variable_prefix(prefix)) return false;
  do {
    Variable variable = prefix;
    if (!declarator(variable, function)) return false;
  } while (accept(','));
  return expect(';', "the declaration");
}

bool Parser::dimensions(std::vector<std::uint64_t>& dims) {
  while (accept('[')) {
    std::uint64_t size = 0;
    if (!peek().is(']') && !expect_unsigned("an array size", kMaxVariableBytes, size)) return false;
    if (!expect(']', "the array size")) return false;
    if (size == 0 && !dims.empty()) return error(peek(), "only the first array size may be left out");
    if (dims.size() == 16) return error(peek(), "more than 16 array dimensions", {}, ErrorKind::kTooLarge);
    dims.push_back(size);
  }
  return true;
}

bool Parser::declarator(Variable& variable, Function* function) {
  const Token name = peek();
  std::string_view text;
  if (!expect_name("a variable's name", text)) return false;
  variable.name = text;
  variable.position = {name.line, diagnostics_.column_of(name.offset)};
  if (peek().is('<')) return error(peek(), "parameterised names are for '.reg' only");
  if (!dimensions(variable.dims)) return false;
  const std::uint64_t element = std::uint64_t{isa::bytes(variable.type)} * variable.vector;
  if (variable.type == isa::Type::kPred)
    return error(name, "a predicate cannot be stored in memory", "use .b32 or .u8");
  if (variable.align == 0) variable.align = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, element));
  if (accept('=') && !initializer(variable)) return false;
  if (!variable.dims.empty() && variable.dims[0] == 0 && !variable.init.empty()) {
    // The initialiser gives the missing size.
    std::uint64_t row = total_bytes({variable.dims.begin() + 1, variable.dims.end()}, element).value_or(0);
    if (row != 0) variable.dims[0] = (variable.init.size() + row - 1) / row;
  }
  const auto size = total_bytes(variable.dims, element);
  if (!size)
    return error(name, fmt::format("'{}' is larger than {} bytes", text, kMaxVariableBytes), {}, ErrorKind::kTooLarge);
  variable.size = *size;
  return declare_variable(std::move(variable), function, name);
}

bool Parser::declare_variable(Variable variable, Function* function, const Token& name) {
  const auto text = text_of(name);
  if (function != nullptr) {
    variable.name = scopes_->unique(text);
    if (!scopes_->declare(text, {NameKind::kVariable, static_cast<std::uint32_t>(function->variables.size())})) {
      return error(name, fmt::format("'{}' is declared twice in this block", text));
    }
    function->variables.push_back(std::move(variable));
    return true;
  }
  if (function_index_.contains(text)) return error(name, fmt::format("'{}' is already a function", text));
  const auto [place, is_new] = variable_index_.try_emplace(text, static_cast<std::uint32_t>(module_.variables.size()));
  if (is_new) {
    module_.variables.push_back(std::move(variable));
    return true;
  }
  Variable& earlier = module_.variables[place->second];
  if (earlier.linkage != Linkage::kExtern && variable.linkage != Linkage::kExtern) {
    return error(name, fmt::format("'{}' is declared twice", text),
                 fmt::format("the other declaration is in line {}", earlier.position.line));
  }
  if (earlier.linkage == Linkage::kExtern) earlier = std::move(variable);
  return true;
}

// = value, = { ... }
bool Parser::initializer(Variable& variable) {
  std::uint64_t offset = 0;
  if (peek().is('{')) return initializer_list(variable, offset, 0);
  return initializer_value(variable, 0);
}

// Inner braces are rows: each starts at the next multiple of the row's size.
bool Parser::initializer_list(Variable& variable, std::uint64_t& offset, int depth) {
  const std::uint64_t element = std::uint64_t{isa::bytes(variable.type)};
  if (depth > kMaxInitDepth) return error(peek(), "initialisers nested too deep", {}, ErrorKind::kTooLarge);
  const std::uint64_t start = offset;
  take();
  while (!peek().is('}')) {
    if (peek().is('{')) {
      if (!initializer_list(variable, offset, depth + 1)) return false;
    } else {
      if (!initializer_value(variable, offset)) return false;
      offset += element;
    }
    if (!accept(',')) break;
  }
  if (depth > 0) {
    std::uint64_t row = element * variable.vector;
    const std::size_t outer = static_cast<std::size_t>(depth);
    if (outer < variable.dims.size())
      row = total_bytes({variable.dims.begin() + depth, variable.dims.end()}, row).value_or(row);
    offset = std::max(offset, start + row);
  }
  if (variable.init.size() > kMaxInitBytes)
    return error(peek(), "the initialiser is too large", {}, ErrorKind::kTooLarge);
  return expect('}', "the initialiser");
}

namespace {
void put_bytes(std::vector<std::byte>& bytes, std::uint64_t offset, std::uint64_t value, unsigned count) {
  if (bytes.size() < offset + count) bytes.resize(offset + count);
  for (unsigned i = 0; i < count; ++i) bytes[offset + i] = static_cast<std::byte>(value >> (8 * i));
}
}  // namespace

// A number, or an address: sym, sym+4, generic(sym)+4, 0xff00(sym)
bool Parser::initializer_value(Variable& variable, std::uint64_t offset) {
  const unsigned size = isa::bytes(variable.type);
  if (offset + size > kMaxInitBytes) return error(peek(), "the initialiser is too large", {}, ErrorKind::kTooLarge);
  AddressInit address;
  address.offset = offset;
  address.size = size;
  bool closing = false;
  const bool masked = peek().kind == TokenKind::kInteger && peek(1).is('(');
  if (masked) {
    if (!integer_value(take(), address.mask)) return false;
    take();
    closing = true;
  } else if (peek().kind == TokenKind::kName && text_of(peek()) == "generic" && peek(1).is('(')) {
    take();
    take();
    address.generic = true;
    closing = true;
  }
  if (masked && peek().kind == TokenKind::kName && text_of(peek()) == "generic" && peek(1).is('(')) {
    take();
    take();
    address.generic = true;
  }
  if (peek().kind != TokenKind::kName) {
    if (closing)
      return error(peek(), fmt::format("expected a variable's or function's name, found {}", describe(peek())));
    Operand value;
    if (!immediate(value)) return false;
    std::uint64_t bits = static_cast<std::uint64_t>(value.value);
    // A decimal constant such as 1.5 is a double; it is rounded to the variable's type.
    if (value.imm_kind == ImmKind::kF64 && variable.type == isa::Type::kF32)
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(value.as_f64()));
    if (value.imm_kind == ImmKind::kF32 && variable.type == isa::Type::kF64)
      bits = std::bit_cast<std::uint64_t>(value.as_f64());
    put_bytes(variable.init, offset, bits, size);
    return true;
  }
  const Token name = take();
  const auto symbol = find_symbol(text_of(name));
  if (!symbol)
    return error(name, fmt::format("'{}' is not declared", text_of(name)), "declare it before this initialiser");
  address.symbol = *symbol;
  if (closing && !expect(')', "the name")) return false;
  if (masked && address.generic && !expect(')', "the name")) return false;
  if ((peek().is('+') || peek().is('-')) && !address_offset(address.addend)) return false;
  put_bytes(variable.init, offset, 0, size);
  variable.addresses.push_back(address);
  return true;
}

std::optional<Symbol> Parser::find_symbol(std::string_view name) {
  if (const auto found = variable_index_.find(name); found != variable_index_.end())
    return Symbol{SymbolKind::kGlobal, found->second};
  if (const auto found = function_index_.find(name); found != function_index_.end())
    return Symbol{SymbolKind::kFunction, found->second};
  return std::nullopt;
}

}  // namespace ptxbench::ptx
