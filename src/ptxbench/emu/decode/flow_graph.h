// FlowGraph: basic blocks of a function and where divergent branches of each block come together again.
#pragma once

#include <cstdint>
#include <vector>

#include "ptxbench/ptx/ast.h"

namespace ptxbench::emu {

struct FlowGraph {
  struct Block {
    std::uint32_t first = 0, last = 0;  // instructions [first, last)
    std::vector<std::uint32_t> successors, predecessors;
    std::uint32_t join = 0xffffffffu;  // immediate post-dominator: a block, or none (paths meet only at the end)
    bool is_join = false;              // immediate post-dominator of a block with several successors
  };
  std::vector<Block> blocks;            // in text order
  std::vector<std::uint32_t> block_of;  // by instruction

  explicit FlowGraph(const ptx::Function& function);

 private:
  void split(const ptx::Function& function);
  void connect(const ptx::Function& function);
  void find_joins(const ptx::Function& function);
};

// Instructions that `instruction` may jump to.
std::vector<std::uint32_t> branch_targets(const ptx::Function& function, const ptx::Instruction& instruction);
// Whether execution can go on with the next instruction.
bool falls_through(const ptx::Instruction& instruction);

}  // namespace ptxbench::emu
