// The recursive-descent parser. Private to ptx; parse.h is its face. One object parses one text.
//
// Errors go to diagnostics_; a function that could not do its work returns false after reporting once, and its caller
// skips to a safe place (the next ';' or the end of the block).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptxbench/isa/match.h"
#include "ptxbench/ptx/ast.h"
#include "ptxbench/ptx/diagnostics.h"
#include "ptxbench/ptx/lexer.h"
#include "ptxbench/ptx/scopes.h"

namespace ptxbench::ptx {

class Parser {
 public:
  Parser(std::string_view text, std::string file_name, Diagnostics& diagnostics);
  Module run();

 private:
  // parser.cc: tokens
  const Token& peek(std::size_t ahead = 0) const;
  const Token& take();
  bool accept(char punct);
  bool accept_dot(std::string_view word);
  bool expect(char punct, std::string_view after);
  bool at_dot(std::string_view word) const;
  std::string_view text_of(const Token& token) const;  // without dot or quotes
  std::string_view raw(const Token& token) const;
  std::string describe(const Token& token) const;
  bool error(const Token& token, std::string message, std::string hint = {}, ErrorKind kind = ErrorKind::kInvalidInput);
  bool expect_name(std::string_view what, std::string_view& name);
  bool expect_unsigned(std::string_view what, std::uint64_t limit, std::uint64_t& value);
  bool integer_value(const Token& token, std::uint64_t& value);
  bool float_bits(const Token& token, ImmKind& kind, std::int64_t& bits);
  void skip_statement();
  void skip_to_directive(std::uint32_t line);
  void skip_braces();

  // parser.cc: module scope
  void module_item();
  bool version_directive();
  bool target_directive();
  bool file_directive();
  bool section_directive();
  bool alias_directive();
  bool loc_directive();
  bool linkage_item();
  void finish_files();

  // parse_variable.cc
  struct VariablePrefix;
  bool variable_declaration(isa::Space space, Linkage linkage, Function* function);
  bool variable_prefix(Variable& variable);
  bool declarator(Variable& variable, Function* function);
  bool initializer(Variable& variable);
  bool initializer_list(Variable& variable, std::uint64_t& offset, int depth);
  bool initializer_value(Variable& variable, std::uint64_t offset);
  bool declare_variable(Variable variable, Function* function, const Token& name);
  bool dimensions(std::vector<std::uint64_t>& dims);
  bool skip_attribute(Variable& variable);
  std::optional<Symbol> find_symbol(std::string_view name);

  // parse_function.cc
  bool function_declaration(bool is_entry, Linkage linkage);
  bool parameter_list(std::vector<Param>& params, bool is_entry, bool named);
  bool parameter(Param& param, bool named);
  bool performance_directives(Function& function);
  bool dimension_triple(std::array<std::uint32_t, 3>& values);
  std::uint32_t function_index(std::string_view name);
  void body(Function& function);
  void statement(Function& function);
  bool register_declaration();
  bool label_or_table(Function& function);
  bool call_prototype(Function& function, std::string_view name);
  bool target_table(Function& function, std::string_view name);
  bool directive_statement(Function& function);

  // parse_instruction.cc
  bool instruction(Function& function);
  bool guard(Instruction& instruction);
  bool opcode(const isa::OpcodeMatch*& match);
  bool choose_form(Function& function, const isa::OpcodeMatch& match, std::vector<Operand>& operands,
                   const Token& start, Instruction& instruction);
  bool operand_list(Function& function, const isa::OpcodeMatch& match, std::vector<Operand>& operands);
  void store_operands(Function& function, std::vector<Operand>& operands, Instruction& instruction);

  // parse_operand.cc
  bool operand(Function& function, bool label_wanted, Operand& result);
  bool simple_operand(Function& function, bool label_wanted, Operand& result);
  bool name_operand(bool label_wanted, Operand& result);
  bool immediate(Operand& result);
  bool vector(Function& function, char close, Operand& result);
  bool address(Function& function, Operand& result);
  bool address_offset(std::int64_t& offset);
  void add_elements(Function& function, std::vector<Operand>& elements, Operand& result);

  std::string_view text_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  Module module_;
  std::unordered_map<std::string_view, std::uint32_t> variable_index_;
  std::unordered_map<std::string_view, std::uint32_t> function_index_;
  // Latest loc of a place, to follow chains of inlined_at.
  std::unordered_map<std::uint64_t, std::uint32_t> loc_index_;
  std::uint32_t current_loc_ = kNone;
  struct OpcodeEntry {
    isa::OpcodeMatch match;
  };
  std::unordered_map<std::string, isa::OpcodeMatch> opcodes_;  // by text without blanks
  std::optional<Scopes> scopes_;                               // of the current body
  std::vector<Token> pending_labels_;                          // tokens of label operands of the current instruction
  std::vector<std::vector<Operand>> target_tables_;
};

}  // namespace ptxbench::ptx
