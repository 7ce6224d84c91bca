// Names of one function body: block-scoped registers, variables and labels, resolved to ids unique in the function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptxbench/ptx/ast.h"

namespace ptxbench::ptx {

enum class NameKind : std::uint8_t { kRegister, kVariable, kParam, kReturn, kLabel, kPrototype, kTargets };

struct Name {
  NameKind kind = NameKind::kRegister;
  std::uint32_t index = kNone;  // register id, variable, parameter, instruction, prototype, target list
};

// A place that waits for a label that is not defined yet.
struct LabelReference {
  std::string_view name;
  std::uint32_t pool_index = 0;  // Function::operand_pool
  std::uint32_t offset = 0;      // in the text
  std::uint32_t length = 0;
};

// Registers get their id when they are first used: a module may declare thousands that it never touches.
class Scopes {
 public:
  // is_global: whether the module has the name; a flattened name may not hide it.
  Scopes(Function& function, std::function<bool(std::string_view)> is_global)
      : function_(function), is_global_(std::move(is_global)) {
    open();
  }

  void open() { scopes_.emplace_back(); }
  // Moves references that this scope does not define to the enclosing one; of the outermost scope: returns them.
  std::vector<LabelReference> close();
  std::size_t depth() const { return scopes_.size(); }

  // False if the name is taken in the innermost scope.
  bool declare_register(std::string_view name, isa::Type type);
  // '.reg .b32 %r<100>;' declares %r0 to %r99.
  bool declare_range(std::string_view prefix, std::uint32_t count, isa::Type type);
  bool declare(std::string_view name, Name what);
  // Defines a label at the current end of the instructions.
  bool define_label(std::string_view name);
  void refer(LabelReference reference) { scopes_.back().references.push_back(reference); }

  std::optional<Name> find(std::string_view name);

  // A name for a table of the function that no earlier entry has: the name itself, or name$2, name$3, ...
  std::string unique(std::string_view name);

 private:
  struct Entry {
    Name name;
    isa::Type type = isa::Type::kNone;  // of a register without an id yet
  };
  struct Range {
    std::string_view prefix;
    std::uint32_t count;
    isa::Type type;
  };
  struct Scope {
    std::unordered_map<std::string_view, Entry> names;
    std::vector<Range> ranges;
    std::vector<LabelReference> references;
  };
  std::uint32_t new_register(std::string_view name, isa::Type type);
  static const Range* range_of(const Scope& scope, std::string_view name);

  Function& function_;
  std::function<bool(std::string_view)> is_global_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string, std::uint32_t> taken_;  // name -> how often
};

}  // namespace ptxbench::ptx
