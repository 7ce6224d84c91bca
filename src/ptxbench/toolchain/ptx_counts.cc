#include "ptxbench/toolchain/ptx_counts.h"

#include "ptxbench/isa/form.h"
#include "ptxbench/ptx/parse.h"

namespace ptxbench::toolchain {

Result<StaticCounts> count_ptx(std::string_view text, const std::string& name) {
  PTXBENCH_TRY(const ptx::Module module, ptx::parse(text, name));
  StaticCounts counts;
  for (const std::string& family : sass_families()) counts.families[family] = 0;
  for (const ptx::Function& function : module.functions) {
    if (!function.has_body) continue;
    KernelCounts& kernel = counts.kernels.emplace_back();
    kernel.name = function.name;
    kernel.instructions = static_cast<std::int64_t>(function.instructions.size());
    for (const ptx::Instruction& instruction : function.instructions) {
      const isa::Form& form = isa::form(instruction.form);
      if (form.family == isa::Family::kNone) continue;
      const std::string family(isa::spelling(form.family));
      ++kernel.families[family];
      ++kernel.opcodes[std::string(form.head)];
      ++counts.families[family];
    }
  }
  return counts;
}

}  // namespace ptxbench::toolchain
