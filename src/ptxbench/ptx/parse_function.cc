// Functions: heads, parameters, performance directives, bodies (PTX manual, "Kernel and Function Directives").
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ptxbench/ptx/parser.h"

namespace ptxbench::ptx {
namespace {

constexpr std::uint64_t kMaxParamBytes = std::uint64_t{1} << 30;
constexpr std::uint32_t kMaxRange = 100'000'000;
constexpr std::size_t kMaxDepth = 200;

}  // namespace

std::uint32_t Parser::function_index(std::string_view name) {
  const auto [place, is_new] = function_index_.try_emplace(name, static_cast<std::uint32_t>(module_.functions.size()));
  if (is_new) {
    module_.functions.emplace_back();
    module_.functions.back().name = name;
  }
  return place->second;
}

// .entry name (params) directives { body }, .func (returns) name (params) { body }
bool Parser::function_declaration(bool is_entry, Linkage linkage) {
  Function function;
  function.is_entry = is_entry;
  function.linkage = linkage;
  if (accept_dot("attribute")) {
    if (!expect('(', "'.attribute'")) return false;
    while (!peek().is(')') && peek().kind != TokenKind::kEnd) take();
    if (!expect(')', "the attribute")) return false;
  }
  if (!is_entry && peek().is('(') && !parameter_list(function.returns, false, true)) return false;
  const Token name = peek();
  std::string_view text;
  if (!expect_name("a function's name", text)) return false;
  function.name = text;
  function.position = {name.line, diagnostics_.column_of(name.offset)};
  if (variable_index_.contains(text)) return error(name, fmt::format("'{}' is already a variable", text));
  if (peek().is('(') && !parameter_list(function.params, is_entry, true)) return false;
  if (!performance_directives(function)) return false;
  const std::uint32_t index = function_index(text);
  const bool defined_before = module_.functions[index].has_body;
  if (accept(';')) {
    if (!defined_before) module_.functions[index] = std::move(function);
    return true;
  }
  if (!peek().is('{'))
    return error(peek(), fmt::format("expected '{{' or ';' after the head of '{}', found {}", text, describe(peek())));
  if (defined_before) {
    error(name, fmt::format("'{}' is defined twice", text),
          fmt::format("the other definition is in line {}", module_.functions[index].position.line));
    skip_braces();
    return true;
  }
  take();
  function.has_body = true;
  function.alias_of = module_.functions[index].alias_of;
  body(function);
  module_.functions[index] = std::move(function);
  return true;
}

// named: the parameters of a definition; those of a .callprototype may be '_'.
bool Parser::parameter_list(std::vector<Param>& params, bool is_entry, bool named) {
  take();
  std::uint64_t offset = 0;
  while (!peek().is(')')) {
    Param param;
    if (!parameter(param, named)) return false;
    if (is_entry && param.is_register) return error(peek(), "an entry's parameters are '.param', not '.reg'");
    offset = (offset + param.align - 1) / param.align * param.align;
    param.offset = offset;
    offset += param.size;
    if (offset > kMaxParamBytes) return error(peek(), "the parameters are too large", {}, ErrorKind::kTooLarge);
    params.push_back(std::move(param));
    if (!accept(',')) break;
  }
  return expect(')', "the parameters");
}

// .param .u64 .ptr .global .align 8 p, .param .align 64 .b8 map[128], .reg .f32 x
bool Parser::parameter(Param& param, bool named) {
  const Token start = peek();
  if (accept_dot("reg")) {
    param.is_register = true;
  } else if (!accept_dot("param")) {
    return error(start, fmt::format("expected '.param', found {}", describe(start)));
  }
  Variable prefix;
  if (!variable_prefix(prefix)) return false;
  param.type = prefix.type;
  if (accept_dot("ptr")) {
    param.is_pointer = true;
    if (accept_dot("global"))
      param.pointer_space = isa::Space::kGlobal;
    else if (accept_dot("shared"))
      param.pointer_space = isa::Space::kShared;
    else if (accept_dot("const"))
      param.pointer_space = isa::Space::kConst;
    else if (accept_dot("local"))
      param.pointer_space = isa::Space::kLocal;
    if (accept_dot("align")) {
      std::uint64_t align = 0;
      if (!expect_unsigned("an alignment", std::uint64_t{1} << 30, align)) return false;
      param.pointer_align = static_cast<std::uint32_t>(align);
    }
  }
  const Token name = peek();
  std::string_view text;
  if (!expect_name("a parameter's name", text)) return false;
  if (text == "_" && named) return error(name, "a parameter of a function needs a name");
  param.name = text;
  std::vector<std::uint64_t> dims;
  if (!dimensions(dims)) return false;
  param.is_array = !dims.empty();
  std::uint64_t size = std::uint64_t{isa::bytes(param.type)} * prefix.vector;
  param.align = prefix.align != 0 ? prefix.align : static_cast<std::uint32_t>(std::max<std::uint64_t>(1, size));
  for (const std::uint64_t dim : dims) {
    if (dim != 0 && size > kMaxParamBytes / dim)
      return error(name, "the parameter is too large", {}, ErrorKind::kTooLarge);
    size *= dim;
  }
  param.size = size;
  return true;
}

bool Parser::dimension_triple(std::array<std::uint32_t, 3>& values) {
  values = {1, 1, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    std::uint64_t value = 0;
    if (!expect_unsigned("a size", 0x7fffffff, value)) return false;
    values[i] = static_cast<std::uint32_t>(value);
    if (i == 2 || !accept(',')) return true;
  }
  return true;
}

bool Parser::performance_directives(Function& function) {
  Directives& d = function.directives;
  while (peek().kind == TokenKind::kDot) {
    const Token token = take();
    const auto word = text_of(token);
    std::uint64_t value = 0;
    const auto number = [&](std::uint32_t& target) {
      if (!expect_unsigned("a number", 0x7fffffff, value)) return false;
      target = static_cast<std::uint32_t>(value);
      return true;
    };
    bool good = true;
    if (word == "maxntid") {
      good = dimension_triple(d.maxntid);
      d.has_maxntid = true;
    } else if (word == "reqntid") {
      good = dimension_triple(d.reqntid);
      d.has_reqntid = true;
    } else if (word == "reqnctapercluster") {
      good = dimension_triple(d.reqnctapercluster);
      d.has_reqnctapercluster = true;
    } else if (word == "minnctapersm") {
      good = number(d.minnctapersm);
    } else if (word == "maxnctapersm") {
      good = number(d.maxnctapersm);
    } else if (word == "maxnreg") {
      good = number(d.maxnreg);
    } else if (word == "maxclusterrank") {
      good = number(d.maxclusterrank);
    } else if (word == "explicitcluster") {
      d.explicitcluster = true;
    } else if (word == "blocksareclusters") {
      d.blocksareclusters = true;
    } else if (word == "noreturn") {
      d.noreturn = true;
    } else if (word == "pragma") {
      if (peek().kind != TokenKind::kString) return error(peek(), "expected a string after '.pragma'");
      function.pragmas.emplace_back(text_of(take()));
      good = expect(';', "'.pragma'");
    } else {
      return error(token, fmt::format("{} is not a directive of a function", describe(token)),
                   "'.maxntid', '.reqntid', '.minnctapersm', '.maxnreg', '.reqnctapercluster', '.explicitcluster' and "
                   "'.noreturn' are",
                   ErrorKind::kUnsupported);
    }
    if (!good) return false;
  }
  return true;
}

// Statements up to the '}' that closes the function. Errors stay inside; the body is always left behind.
void Parser::body(Function& function) {
  scopes_.emplace(function, [this](std::string_view name) { return find_symbol(name).has_value(); });
  target_tables_.clear();
  current_loc_ = kNone;
  const auto declare_params = [&](std::vector<Param>& params, NameKind kind) {
    for (std::uint32_t i = 0; i < params.size(); ++i) {
      scopes_->unique(params[i].name);
      if (params[i].is_register) {
        scopes_->declare_register(params[i].name, params[i].type);
        params[i].reg = scopes_->find(params[i].name)->index;
      } else if (!scopes_->declare(params[i].name, {kind, i})) {
        error(peek(), fmt::format("two parameters of '{}' are called '{}'", function.name, params[i].name));
      }
    }
  };
  declare_params(function.returns, NameKind::kReturn);
  declare_params(function.params, NameKind::kParam);
  const Token start = peek();
  while (true) {
    if (diagnostics_.full()) break;
    if (peek().kind == TokenKind::kEnd) {
      error(start, fmt::format("the body of '{}' has no end", function.name), "a '}' is missing");
      break;
    }
    if (peek().is('}')) {
      take();
      if (scopes_->depth() == 1) break;
      scopes_->close();
      continue;
    }
    statement(function);
  }
  while (scopes_->depth() > 1) scopes_->close();
  for (const LabelReference& reference : scopes_->close()) {
    diagnostics_.report(reference.offset, reference.length,
                        fmt::format("the label '{}' is not defined", reference.name),
                        "a label is visible in its own block and the blocks inside");
  }
  scopes_.reset();
}

void Parser::statement(Function& function) {
  const std::size_t before = next_;
  bool good = true;
  const Token& token = peek();
  if (token.is('{')) {
    if (scopes_->depth() >= kMaxDepth) {
      error(token, fmt::format("blocks nested deeper than {}", kMaxDepth), {}, ErrorKind::kTooLarge);
      skip_braces();
      return;
    }
    take();
    scopes_->open();
    return;
  }
  if (accept(';')) return;
  if (token.kind == TokenKind::kDot) {
    good = directive_statement(function);
  } else if (token.kind == TokenKind::kName && peek(1).is(':')) {
    good = label_or_table(function);
  } else {
    good = instruction(function);
  }
  if (!good) skip_statement();
  if (next_ == before) take();
}

bool Parser::directive_statement(Function& function) {
  if (accept_dot("reg")) return register_declaration();
  if (at_dot("loc")) return loc_directive();
  if (accept_dot("local")) return variable_declaration(isa::Space::kLocal, Linkage::kInternal, &function);
  if (accept_dot("shared") || accept_dot("shared::cta"))
    return variable_declaration(isa::Space::kShared, Linkage::kInternal, &function);
  if (accept_dot("param")) return variable_declaration(isa::Space::kParam, Linkage::kInternal, &function);
  if (accept_dot("global")) return variable_declaration(isa::Space::kGlobal, Linkage::kInternal, &function);
  if (accept_dot("const")) return variable_declaration(isa::Space::kConst, Linkage::kInternal, &function);
  if (at_dot("file")) return file_directive();
  if (at_dot("section")) return section_directive();
  if (accept_dot("pragma")) {
    if (peek().kind != TokenKind::kString) return error(peek(), "expected a string after '.pragma'");
    function.pragmas.emplace_back(text_of(take()));
    return expect(';', "'.pragma'");
  }
  if (accept_dot("extern")) {
    if (accept_dot("shared")) return variable_declaration(isa::Space::kShared, Linkage::kExtern, nullptr);
    return error(peek(), fmt::format("expected '.shared' after '.extern', found {}", describe(peek())));
  }
  return error(peek(), fmt::format("{} is not a directive of a function's body", describe(peek())),
               "'.reg', '.local', '.shared', '.param', '.loc' and '.pragma' are");
}

// .reg .b32 %r<10>, x, y;
bool Parser::register_declaration() {
  Variable prefix;
  if (!variable_prefix(prefix)) return false;
  if (prefix.vector != 1)
    return error(peek(), "vector registers are not supported", "declare one register per element",
                 ErrorKind::kUnsupported);
  do {
    const Token name = peek();
    std::string_view text;
    if (!expect_name("a register's name", text)) return false;
    bool is_new = true;
    if (accept('<')) {
      std::uint64_t count = 0;
      if (!expect_unsigned("a number of registers", kMaxRange, count) || !expect('>', "the number of registers"))
        return false;
      is_new = scopes_->declare_range(text, static_cast<std::uint32_t>(count), prefix.type);
    } else {
      is_new = scopes_->declare_register(text, prefix.type);
    }
    if (!is_new) return error(name, fmt::format("'{}' is declared twice in this block", text));
  } while (accept(','));
  return expect(';', "the declaration");
}

bool Parser::label_or_table(Function& function) {
  const Token name = take();
  const auto text = text_of(name);
  take();
  if (accept_dot("callprototype")) return call_prototype(function, text);
  if (accept_dot("branchtargets") || accept_dot("calltargets")) return target_table(function, text);
  if (!scopes_->define_label(text)) return error(name, fmt::format("'{}' is declared twice in this block", text));
  return true;
}

// name : .callprototype (.param .b32 _) _ (.param .b64 _, ...) ;
bool Parser::call_prototype(Function& function, std::string_view name) {
  Prototype prototype;
  if (peek().is('(') && !parameter_list(prototype.returns, false, false)) return false;
  std::string_view ignored;
  if (!expect_name("'_'", ignored)) return false;
  if (peek().is('(') && !parameter_list(prototype.params, false, false)) return false;
  while (peek().kind == TokenKind::kDot && text_of(peek()) == "noreturn") take();
  prototype.name = scopes_->unique(name);
  if (!scopes_->declare(name, {NameKind::kPrototype, static_cast<std::uint32_t>(function.prototypes.size())})) {
    return error(peek(), fmt::format("'{}' is declared twice in this block", name));
  }
  function.prototypes.push_back(std::move(prototype));
  return expect(';', "the prototype");
}

// name : .branchtargets a, b; name : .calltargets f, g;
bool Parser::target_table(Function& function, std::string_view name) {
  std::vector<Operand> elements;
  const std::uint32_t first_pending = static_cast<std::uint32_t>(pending_labels_.size());
  do {
    Operand element;
    if (peek().kind != TokenKind::kName)
      return error(peek(), fmt::format("expected a label, found {}", describe(peek())));
    const bool is_function = find_symbol(text_of(peek())).has_value();
    if (!simple_operand(function, !is_function, element)) return false;
    elements.push_back(element);
  } while (accept(','));
  Operand table;
  table.kind = OperandKind::kTargets;
  add_elements(function, elements, table);
  for (std::uint32_t i = 0; i < table.count; ++i) {
    Operand& element = function.operand_pool[table.first + i];
    if (element.kind != OperandKind::kLabel) continue;
    const Token& token = pending_labels_[element.reg];
    scopes_->refer({text_of(token), table.first + i, token.offset, token.length});
    element.reg = kNone;
  }
  pending_labels_.resize(first_pending);
  target_tables_.push_back({table});
  if (!scopes_->declare(name, {NameKind::kTargets, static_cast<std::uint32_t>(target_tables_.size() - 1)})) {
    return error(peek(), fmt::format("'{}' is declared twice in this block", name));
  }
  return expect(';', "the table");
}

}  // namespace ptxbench::ptx
