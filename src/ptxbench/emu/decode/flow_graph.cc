#include "ptxbench/emu/decode/flow_graph.h"

#include <algorithm>

namespace ptxbench::emu {

using isa::FormId;

std::vector<std::uint32_t> branch_targets(const ptx::Function& function, const ptx::Instruction& instruction) {
  std::vector<std::uint32_t> targets;
  if (instruction.form != FormId::kBra && instruction.form != FormId::kBrxIdx) return targets;
  auto collect = [&](auto&& self, const ptx::Operand& operand) -> void {
    if (operand.kind == ptx::OperandKind::kLabel) targets.push_back(std::uint32_t(operand.value));
    if (operand.kind == ptx::OperandKind::kTargets)
      for (const ptx::Operand& element : function.elements(operand)) self(self, element);
  };
  for (const ptx::Operand& operand : function.operands(instruction)) collect(collect, operand);
  return targets;
}

bool falls_through(const ptx::Instruction& instruction) {
  const bool guarded = instruction.predicate.reg != ptx::kNone;
  switch (instruction.form) {
    case FormId::kBra:
    case FormId::kRet:
    case FormId::kExit:
    case FormId::kTrap: return guarded;
    case FormId::kBrxIdx: return guarded;
    default: return true;
  }
}

FlowGraph::FlowGraph(const ptx::Function& function) {
  split(function);
  connect(function);
  find_joins(function);
}

void FlowGraph::split(const ptx::Function& function) {
  const auto count = std::uint32_t(function.instructions.size());
  std::vector<char> starts(count + 1, 0);
  starts[0] = 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const ptx::Instruction& instruction = function.instructions[i];
    for (std::uint32_t target : branch_targets(function, instruction)) starts[target] = 1;
    const bool ends = instruction.form == FormId::kBra || instruction.form == FormId::kBrxIdx ||
                      instruction.form == FormId::kRet || instruction.form == FormId::kExit ||
                      instruction.form == FormId::kTrap;
    if (ends) starts[i + 1] = 1;
  }
  starts[count] = 1;  // an empty block at the end, for labels there and for falling off
  block_of.resize(count + 1);
  for (std::uint32_t i = 0; i <= count; ++i) {
    if (starts[i] != 0) {
      if (!blocks.empty()) blocks.back().last = i;
      blocks.push_back({i, count, {}, {}, 0xffffffffu, false});
    }
    block_of[i] = std::uint32_t(blocks.size() - 1);
  }
}

void FlowGraph::connect(const ptx::Function& function) {
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    Block& block = blocks[b];
    if (block.first == block.last) continue;
    const ptx::Instruction& end = function.instructions[block.last - 1];
    for (std::uint32_t target : branch_targets(function, end)) block.successors.push_back(block_of[target]);
    if (falls_through(end) && b + 1 < blocks.size()) block.successors.push_back(b + 1);
    std::sort(block.successors.begin(), block.successors.end());
    block.successors.erase(std::unique(block.successors.begin(), block.successors.end()), block.successors.end());
  }
  for (std::uint32_t b = 0; b < blocks.size(); ++b)
    for (std::uint32_t s : blocks[b].successors) blocks[s].predecessors.push_back(b);
}

// Immediate post-dominators by the algorithm of Cooper, Harvey and Kennedy on the reversed graph, whose root is a virtual
// exit behind every block without successors.
void FlowGraph::find_joins(const ptx::Function& function) {
  constexpr std::uint32_t kNone = 0xffffffffu;
  const auto exit = std::uint32_t(blocks.size());
  std::vector<std::uint32_t> order;  // post-order of the reversed graph
  std::vector<std::uint32_t> number(exit + 1, kNone);
  std::vector<std::uint32_t> exits;
  for (std::uint32_t b = 0; b < exit; ++b)
    if (blocks[b].successors.empty()) exits.push_back(b);
  auto reverse_edges = [&](std::uint32_t node) -> const std::vector<std::uint32_t>& {
    return node == exit ? exits : blocks[node].predecessors;
  };
  std::vector<std::pair<std::uint32_t, std::size_t>> stack{{exit, 0}};
  std::vector<char> seen(exit + 1, 0);
  seen[exit] = 1;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    const auto& edges = reverse_edges(node);
    if (next == edges.size()) {
      number[node] = std::uint32_t(order.size());
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    const std::uint32_t child = edges[next++];
    if (seen[child] == 0) {
      seen[child] = 1;
      stack.push_back({child, 0});
    }
  }
  std::vector<std::uint32_t> parent(exit + 1, kNone);
  parent[exit] = exit;
  auto common = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (number[a] < number[b]) a = parent[a];
      while (number[b] < number[a]) b = parent[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::uint32_t node = order[i];
      if (node == exit) continue;
      std::uint32_t found = blocks[node].successors.empty() ? exit : kNone;
      for (std::uint32_t s : blocks[node].successors)
        if (parent[s] != kNone) found = found == kNone ? s : common(found, s);
      if (found != parent[node]) {
        parent[node] = found;
        changed = true;
      }
    }
  }
  for (std::uint32_t b = 0; b < exit; ++b) {
    if (parent[b] == kNone || parent[b] == exit) continue;
    // Threads that only have to end do not wait for the others: a barrier that the others meet counts without them.
    const Block& meeting = blocks[parent[b]];
    if (meeting.first == meeting.last) continue;
    const ptx::Instruction& next = function.instructions[meeting.first];
    if ((next.form == FormId::kRet || next.form == FormId::kExit) && next.predicate.reg == ptx::kNone) continue;
    blocks[b].join = parent[b];
    if (blocks[b].successors.size() > 1) blocks[parent[b]].is_join = true;
  }
}

}  // namespace ptxbench::emu
