#include "ptxbench/ptx/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>

namespace ptxbench::ptx {

Parser::Parser(std::string_view text, std::string file_name, Diagnostics& diagnostics)
    : text_(text), diagnostics_(diagnostics), tokens_(lex(text, diagnostics)) {
  module_.file_name = std::move(file_name);
}

Module Parser::run() {
  if (!at_dot("version") && peek().kind != TokenKind::kEnd) {
    error(peek(), fmt::format("a PTX module starts with '.version', found {}", describe(peek())),
          "write '.version 9.0' first");
  }
  while (peek().kind != TokenKind::kEnd && !diagnostics_.full()) module_item();
  if (module_.version == isa::Version{} && diagnostics_.empty()) {
    error(peek(), "the text has no '.version' directive; is it PTX?", "PTX is what 'nvcc --ptx' writes");
  } else if (module_.target.sm == 0 && diagnostics_.empty()) {
    error(peek(), "the module has no '.target' directive", "write for example '.target sm_90a'");
  }
  return std::move(module_);
}

// ---- tokens

const Token& Parser::peek(std::size_t ahead) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }

const Token& Parser::take() {
  const Token& token = peek();
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool Parser::accept(char punct) {
  if (!peek().is(punct)) return false;
  take();
  return true;
}

bool Parser::at_dot(std::string_view word) const { return peek().kind == TokenKind::kDot && text_of(peek()) == word; }

bool Parser::accept_dot(std::string_view word) {
  if (!at_dot(word)) return false;
  take();
  return true;
}

bool Parser::expect(char punct, std::string_view after) {
  if (accept(punct)) return true;
  return error(peek(), fmt::format("expected '{}' after {}, found {}", punct, after, describe(peek())));
}

std::string_view Parser::raw(const Token& token) const { return text_.substr(token.offset, token.length); }

std::string_view Parser::text_of(const Token& token) const {
  auto text = raw(token);
  if (token.kind == TokenKind::kDot) text.remove_prefix(1);
  if (token.kind == TokenKind::kString) {
    text.remove_prefix(1);
    if (text.ends_with('"')) text.remove_suffix(1);
  }
  return text;
}

std::string Parser::describe(const Token& token) const {
  if (token.kind == TokenKind::kEnd) return "the end of the text";
  const auto text = raw(token);
  return text.size() <= 60 ? fmt::format("'{}'", text) : fmt::format("'{}...'", text.substr(0, 57));
}

bool Parser::error(const Token& token, std::string message, std::string hint, ErrorKind kind) {
  diagnostics_.report(token.offset, token.length, std::move(message), std::move(hint), kind);
  return false;
}

bool Parser::expect_name(std::string_view what, std::string_view& name) {
  if (peek().kind != TokenKind::kName)
    return error(peek(), fmt::format("expected {}, found {}", what, describe(peek())));
  name = text_of(take());
  return true;
}

bool Parser::integer_value(const Token& token, std::uint64_t& value) {
  auto text = raw(token);
  if (text.ends_with('U') || text.ends_with('u')) text.remove_suffix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with("0b") || text.starts_with("0B")) {
    base = 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (problem == std::errc::result_out_of_range)
    return error(token, fmt::format("{} does not fit in 64 bits", describe(token)));
  if (problem != std::errc() || end != text.data() + text.size())
    return error(token, fmt::format("{} is not a number", describe(token)));
  return true;
}

bool Parser::float_bits(const Token& token, ImmKind& kind, std::int64_t& bits) {
  const auto text = raw(token);
  if (text.size() > 2 && text[0] == '0' && !(text[1] >= '0' && text[1] <= '9') && text[1] != '.') {
    std::uint64_t value = 0;
    std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    kind = text[1] == 'f' || text[1] == 'F' ? ImmKind::kF32 : ImmKind::kF64;
    bits = static_cast<std::int64_t>(value);
    return true;
  }
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    return error(token, fmt::format("{} is not a number", describe(token)));
  kind = ImmKind::kF64;
  bits = std::bit_cast<std::int64_t>(value);
  return true;
}

bool Parser::expect_unsigned(std::string_view what, std::uint64_t limit, std::uint64_t& value) {
  if (peek().kind != TokenKind::kInteger)
    return error(peek(), fmt::format("expected {}, found {}", what, describe(peek())));
  const Token token = take();
  if (!integer_value(token, value)) return false;
  if (value > limit)
    return error(token, fmt::format("{} {} is over the limit of {}", what, value, limit), {}, ErrorKind::kTooLarge);
  return true;
}

// To behind the next ';' of this block, or before its '}'.
void Parser::skip_statement() {
  int depth = 0;
  while (peek().kind != TokenKind::kEnd) {
    if (peek().is('{')) ++depth;
    if (peek().is('}') && depth-- == 0) return;
    if (take().is(';') && depth <= 0) return;
  }
}

// To the next line after `line` that starts with a directive, outside braces.
void Parser::skip_to_directive(std::uint32_t line) {
  int depth = 0;
  while (peek().kind != TokenKind::kEnd) {
    if (depth == 0 && peek().kind == TokenKind::kDot && next_ > 0 && peek().line != line &&
        tokens_[next_ - 1].line != peek().line)
      return;
    if (peek().is('{')) ++depth;
    if (peek().is('}') && depth > 0) --depth;
    take();
  }
}

// Behind the '}' that closes the '{' at hand.
void Parser::skip_braces() {
  int depth = 0;
  while (peek().kind != TokenKind::kEnd) {
    const Token& token = take();
    if (token.is('{')) ++depth;
    if (token.is('}') && --depth <= 0) return;
  }
}

// ---- module scope

void Parser::module_item() {
  const std::size_t before = next_;
  bool good = true;
  if (at_dot("version")) {
    good = version_directive();
  } else if (at_dot("target")) {
    good = target_directive();
  } else if (accept_dot("address_size")) {
    std::uint64_t size = 0;
    const Token token = peek();
    good = expect_unsigned("an address size", 64, size);
    if (good && size != 64)
      good = error(token, fmt::format("'.address_size {}' is not supported", size), "compile for 64-bit addresses",
                   ErrorKind::kUnsupported);
    module_.address_size = 64;
  } else if (at_dot("file")) {
    good = file_directive();
  } else if (at_dot("loc")) {
    good = loc_directive();
  } else if (at_dot("section")) {
    good = section_directive();
  } else if (at_dot("alias")) {
    good = alias_directive();
  } else if (accept_dot("pragma")) {
    good = peek().kind == TokenKind::kString || error(peek(), "expected a string after '.pragma'");
    if (good) {
      take();
      good = expect(';', "'.pragma'");
    }
  } else if (accept(';')) {
  } else {
    good = linkage_item();
  }
  if (!good) skip_to_directive(tokens_[before].line);
  if (next_ == before) take();
}

bool Parser::version_directive() {
  const Token directive = take();
  const auto text = raw(peek());
  const auto dot = text.find('.');
  if (peek().kind != TokenKind::kFloat || dot == std::string_view::npos) {
    return error(peek(), fmt::format("expected a version such as 9.0, found {}", describe(peek())));
  }
  if (module_.version != isa::Version{}) return error(directive, "a second '.version' directive", "a module has one");
  std::from_chars(text.data(), text.data() + dot, module_.version.major);
  std::from_chars(text.data() + dot + 1, text.data() + text.size(), module_.version.minor);
  take();
  return true;
}

bool Parser::target_directive() {
  take();
  while (true) {
    const Token token = peek();
    std::string_view name;
    if (!expect_name("a target such as sm_90a", name)) return false;
    if (const auto target = isa::parse_target(name)) {
      module_.target = *target;
    } else if (name.starts_with("sm_") || name.starts_with("compute_")) {
      return error(token, fmt::format("{} is not a target", describe(token)), "targets are like sm_90a or sm_100f");
    } else {
      module_.target_options.emplace_back(name);
    }
    if (!accept(',')) return true;
  }
}

bool Parser::file_directive() {
  take();
  std::uint64_t number = 0;
  if (!expect_unsigned("a file number", 0xfffffffe, number)) return false;
  if (peek().kind != TokenKind::kString)
    return error(peek(), fmt::format("expected the file's name in quotes, found {}", describe(peek())));
  std::string name;
  const auto quoted = text_of(take());
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] == '\\' && i + 1 < quoted.size()) ++i;
    name += quoted[i];
  }
  module_.files[static_cast<std::uint32_t>(number)] = std::move(name);
  for (int i = 0; i < 2 && accept(','); ++i) {
    std::uint64_t ignored = 0;  // time stamp and size of the file
    if (!expect_unsigned("a number", ~std::uint64_t{0}, ignored)) return false;
  }
  return true;
}

// Debug information does not change what the module does. Of '.section .debug_str { label: .b8 95, 90, 0 ... }' the strings
// are kept, because '.loc' names inlined functions by their labels.
bool Parser::section_directive() {
  take();
  const bool strings = at_dot("debug_str");
  if (peek().kind == TokenKind::kDot || peek().kind == TokenKind::kName || peek().kind == TokenKind::kString) take();
  if (!peek().is('{'))
    return error(peek(), fmt::format("expected '{{' after the section's name, found {}", describe(peek())));
  if (!strings) {
    skip_braces();
    return true;
  }
  take();
  std::string* current = nullptr;
  bool ended = false;
  while (!peek().is('}')) {
    const Token token = take();
    if (token.kind == TokenKind::kEnd) return error(token, "the section has no end", "a '}' is missing");
    if (token.kind == TokenKind::kName && peek().is(':')) {
      current = &module_.debug_strings[std::string(text_of(token))];
      current->clear();
      ended = false;
    } else if (token.kind == TokenKind::kInteger && current != nullptr && !ended) {
      std::uint64_t value = 0;
      if (!integer_value(token, value)) return false;
      ended = value == 0;
      if (!ended) *current += static_cast<char>(value);
    }
  }
  take();
  return true;
}

bool Parser::alias_directive() {
  const Token directive = take();
  std::string_view name;
  std::string_view target;
  if (!expect_name("a function's name", name) || !expect(',', "the alias's name") ||
      !expect_name("a function's name", target))
    return false;
  const auto alias = function_index_.find(name);
  if (alias == function_index_.end())
    return error(directive, fmt::format("'.alias' of '{}', which is not declared", name), "declare the function first");
  if (!function_index_.contains(target))
    return error(directive, fmt::format("'{}' is not declared", target), "declare the function first");
  module_.functions[alias->second].alias_of = target;
  return expect(';', "'.alias'");
}

namespace {
std::uint64_t place_key(const SourceLoc& loc) {
  // Enough for a look-up whose result is compared in full.
  return (std::uint64_t{loc.file} * 1000003u + loc.line) * 1000003u + loc.column;
}
}  // namespace

// .loc file line column {, function_name label{+offset}, inlined_at file line column}
bool Parser::loc_directive() {
  take();
  std::uint64_t file = 0;
  std::uint64_t line = 0;
  std::uint64_t column = 0;
  if (!expect_unsigned("a file number", 0xfffffffe, file) || !expect_unsigned("a line", 0xfffffffe, line) ||
      !expect_unsigned("a column", 0xfffffffe, column)) {
    return false;
  }
  SourceLoc loc{static_cast<std::uint32_t>(file),
                static_cast<std::uint32_t>(line),
                static_cast<std::uint32_t>(column),
                kNone,
                {}};
  while (accept(',')) {
    std::string_view word;
    if (!expect_name("'function_name' or 'inlined_at'", word)) return false;
    if (word == "function_name") {
      std::string_view label;
      if (!expect_name("a label", label)) return false;
      loc.function_name = label;
      if (accept('+')) {
        std::uint64_t offset = 0;
        if (!expect_unsigned("an offset", 0xfffffffe, offset)) return false;
        if (offset != 0) loc.function_name += fmt::format("+{}", offset);
      }
    } else if (word == "inlined_at") {
      if (!expect_unsigned("a file number", 0xfffffffe, file) || !expect_unsigned("a line", 0xfffffffe, line) ||
          !expect_unsigned("a column", 0xfffffffe, column)) {
        return false;
      }
      // The call's place is a '.loc' of its own if it was inlined in turn; that one comes first in the text.
      const SourceLoc outer{static_cast<std::uint32_t>(file),
                            static_cast<std::uint32_t>(line),
                            static_cast<std::uint32_t>(column),
                            kNone,
                            {}};
      const auto found = loc_index_.find(place_key(outer));
      if (found != loc_index_.end()) {
        loc.inlined_at = found->second;
      } else {
        module_.locs.push_back(outer);
        loc.inlined_at = static_cast<std::uint32_t>(module_.locs.size() - 1);
        loc_index_[place_key(outer)] = loc.inlined_at;
      }
    } else {
      return error(peek(), fmt::format("'{}' is not an attribute of '.loc'", word),
                   "'function_name' and 'inlined_at' are");
    }
  }
  module_.locs.push_back(loc);
  current_loc_ = static_cast<std::uint32_t>(module_.locs.size() - 1);
  loc_index_[place_key(loc)] = current_loc_;
  return true;
}

bool Parser::linkage_item() {
  Linkage linkage = Linkage::kInternal;
  while (true) {
    if (accept_dot("extern")) {
      linkage = Linkage::kExtern;
    } else if (accept_dot("visible")) {
      linkage = Linkage::kVisible;
    } else if (accept_dot("weak")) {
      linkage = Linkage::kWeak;
    } else if (accept_dot("common")) {
      linkage = Linkage::kCommon;
    } else {
      break;
    }
  }
  if (accept_dot("entry")) return function_declaration(true, linkage);
  if (accept_dot("func")) return function_declaration(false, linkage);
  if (accept_dot("global")) return variable_declaration(isa::Space::kGlobal, linkage, nullptr);
  if (accept_dot("const")) return variable_declaration(isa::Space::kConst, linkage, nullptr);
  if (accept_dot("shared") || accept_dot("shared::cta"))
    return variable_declaration(isa::Space::kShared, linkage, nullptr);
  if (at_dot("tex") || at_dot("texref")) {
    return error(peek(), "textures are out of scope", "read global memory instead", ErrorKind::kUnsupported);
  }
  return error(
      peek(), fmt::format("expected a directive of module scope, found {}", describe(peek())),
      "'.entry', '.func', '.global', '.const' and '.shared' declare; instructions stand inside a function's braces");
}

}  // namespace ptxbench::ptx
