#include "ptxbench/emu/decode/allocate.h"

#include <algorithm>
#include <numeric>

#include "ptxbench/emu/decode/operands.h"

namespace ptxbench::emu {
namespace {

using isa::FormId;

// Where a register is alive: disjoint, ascending. Each instruction has two points: 2i, where it reads its operands, and 2i + 1, where
// it writes its results. So a result may take the place of an operand that dies there.
struct Range {
  std::uint32_t first, past;
};
using Ranges = std::vector<Range>;

bool overlap(const Ranges& a, const Ranges& b) {
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a[i].past <= b[k].first) {
      ++i;
    } else if (b[k].past <= a[i].first) {
      ++k;
    } else {
      return true;
    }
  }
  return false;
}

Ranges merged(const Ranges& a, const Ranges& b) {
  Ranges all;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
             [](Range x, Range y) { return x.first < y.first; });
  Ranges out;
  for (Range r : all) {
    if (!out.empty() && r.first <= out.back().past) {
      out.back().past = std::max(out.back().past, r.past);
    } else {
      out.push_back(r);
    }
  }
  return out;
}

class Bits {
 public:
  explicit Bits(std::size_t count) : words_((count + 63) / 64) {}
  bool get(std::size_t i) const { return (words_[i / 64] >> i % 64 & 1) != 0; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << i % 64; }
  void clear(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << i % 64); }
  // this |= (other - minus); true if that changed anything.
  bool absorb(const Bits& other, const Bits& minus) {
    std::uint64_t changed = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      const std::uint64_t next = words_[w] | (other.words_[w] & ~minus.words_[w]);
      changed |= next ^ words_[w];
      words_[w] = next;
    }
    return changed != 0;
  }
  template <class F>
  void for_each(F body) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t m = words_[w]; m != 0; m &= m - 1) body(w * 64 + std::size_t(std::countr_zero(m)));
  }

 private:
  std::vector<std::uint64_t> words_;
};

class Allocator {
 public:
  Allocator(const ptx::Function& function, const FlowGraph& graph) : function_(function), graph_(graph) {
    access_.reserve(function.instructions.size());
    for (const ptx::Instruction& instruction : function.instructions)
      access_.push_back(register_access(function, instruction));
  }

  RegisterPlaces run(std::uint32_t base) {
    find_ranges();
    mark_accumulators();
    join_copies();
    return place(base);
  }

 private:
  // A write under a guard keeps the old value in the other threads, so it does not end the life of the value before.
  bool kills(std::size_t i) const { return function_.instructions[i].predicate.reg == ptx::kNone; }

  // Operations that read all operands of a lane before they write its results; the others may not overlay them.
  bool lane_wise(std::size_t i) const {
    switch (isa::form(function_.instructions[i].form).form_class) {
      case isa::FormClass::kIntAlu:
      case isa::FormClass::kFloatAlu:
      case isa::FormClass::kConvert:
      case isa::FormClass::kMove:
      case isa::FormClass::kMemory: return true;
      default: return false;
    }
  }

  void find_ranges() {
    const std::size_t count = function_.registers.size(), blocks = graph_.blocks.size();
    std::vector<Bits> live_in(blocks, Bits(count)), live_out(blocks, Bits(count)), killed(blocks, Bits(count));
    for (std::size_t b = 0; b < blocks; ++b) {
      for (std::uint32_t i = graph_.blocks[b].last; i-- > graph_.blocks[b].first;) {
        for (std::uint32_t r : access_[i].defs) {
          if (kills(i)) {
            killed[b].set(r);
            live_in[b].clear(r);
          } else {
            live_in[b].set(r);
          }
        }
        for (std::uint32_t r : access_[i].uses) live_in[b].set(r);
      }
    }
    std::vector<std::uint32_t> work(blocks);
    std::iota(work.begin(), work.end(), 0);
    std::vector<char> queued(blocks, 1);
    const Bits none(count);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      queued[b] = 0;
      for (std::uint32_t s : graph_.blocks[b].successors) live_out[b].absorb(live_in[s], none);
      if (!live_in[b].absorb(live_out[b], killed[b])) continue;
      for (std::uint32_t p : graph_.blocks[b].predecessors)
        if (queued[p] == 0) {
          queued[p] = 1;
          work.push_back(p);
        }
    }
    ranges_.assign(count, {});
    for (std::size_t b = 0; b < blocks; ++b) add_block_ranges(b, live_out[b]);
    for (Ranges& ranges : ranges_) {
      std::sort(ranges.begin(), ranges.end(), [](Range x, Range y) { return x.first < y.first; });
      ranges = merged(ranges, {});
    }
  }

  void add_block_ranges(std::size_t b, const Bits& live_out) {
    const FlowGraph::Block& block = graph_.blocks[b];
    constexpr std::uint32_t kDead = 0xffffffffu;
    std::vector<std::uint32_t>& end = scratch_;  // point past the last need of each register alive at the current point
    end.resize(ranges_.size(), kDead);
    std::vector<std::uint32_t> alive;
    live_out.for_each([&](std::size_t r) {
      end[r] = 2 * block.last;
      alive.push_back(std::uint32_t(r));
    });
    for (std::uint32_t i = block.last; i-- > block.first;) {
      for (std::uint32_t r : access_[i].defs) {
        const std::uint32_t past = end[r] == kDead ? 2 * i + 2 : end[r];
        if (kills(i)) {
          ranges_[r].push_back({lane_wise(i) ? 2 * i + 1 : 2 * i, past});
          end[r] = kDead;
        } else if (end[r] == kDead) {
          end[r] = past;
          alive.push_back(r);
        }
      }
      for (std::uint32_t r : access_[i].uses) {
        if (end[r] != kDead) continue;
        end[r] = 2 * i + 1;
        alive.push_back(r);
      }
    }
    for (std::uint32_t r : alive) {
      if (end[r] == kDead) continue;
      ranges_[r].push_back({2 * block.first, end[r]});
      end[r] = kDead;
    }
  }

  // Accumulators of wgmma are written when the scheduler executes it, which the flow of the program does not show: they keep their
  // place to themselves.
  void mark_accumulators() {
    exclusive_.assign(ranges_.size(), 0);
    for (std::size_t i = 0; i < access_.size(); ++i)
      if (isa::form(function_.instructions[i].form).family == isa::Family::kWgmma)
        for (std::uint32_t r : access_[i].defs) exclusive_[r] = 1;
  }

  std::uint32_t root(std::uint32_t r) {
    while (parent_[r] != r) r = parent_[r] = parent_[parent_[r]];
    return r;
  }

  void join_copies() {
    parent_.resize(ranges_.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    for (std::size_t i = 0; i < access_.size(); ++i) {
      const ptx::Instruction& instruction = function_.instructions[i];
      if (instruction.form != FormId::kMov && instruction.form != FormId::kMovPred) continue;
      const auto operands = function_.operands(instruction);
      if (operands.size() != 2 || operands[0].kind != ptx::OperandKind::kReg ||
          operands[1].kind != ptx::OperandKind::kReg || operands[1].negated)
        continue;
      const std::uint32_t d = root(operands[0].reg), a = root(operands[1].reg);
      if (d == a || width(d) != width(a) || overlap(ranges_[d], ranges_[a])) continue;
      parent_[a] = d;
      ranges_[d] = merged(ranges_[d], ranges_[a]);
      ranges_[a].clear();
      exclusive_[d] = char(exclusive_[d] | exclusive_[a]);
    }
  }

  // Bytes of the register's array.
  std::uint32_t width(std::uint32_t r) const {
    const unsigned bits = isa::bits(function_.registers[r].type);
    return function_.registers[r].type == isa::Type::kPred ? 4 : bits <= 32 ? 128 : bits == 64 ? 256 : 512;
  }

  RegisterPlaces place(std::uint32_t base) {
    RegisterPlaces places;
    places.of.assign(ranges_.size(), kNoRef);
    std::vector<std::uint32_t> order;
    for (std::uint32_t r = 0; r < ranges_.size(); ++r)
      if (root(r) == r && !ranges_[r].empty()) order.push_back(r);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return ranges_[a].front().first < ranges_[b].front().first; });
    std::uint32_t end = base;
    for (const std::uint32_t bytes : {512u, 256u, 128u, 4u}) {
      struct Place {
        Ref ref;
        Ranges busy;
      };
      std::vector<Place> shared;
      for (std::uint32_t r : order) {
        if (width(r) != bytes) continue;
        Place* found = nullptr;
        if (exclusive_[r] == 0)
          for (Place& candidate : shared)
            if (!overlap(candidate.busy, ranges_[r])) {
              found = &candidate;
              break;
            }
        if (found == nullptr) {
          const Ref ref = end;
          end += bytes;
          places.of[r] = ref;
          if (exclusive_[r] == 0) shared.push_back({ref, ranges_[r]});
        } else {
          places.of[r] = found->ref;
          found->busy = merged(found->busy, ranges_[r]);
        }
      }
      places.words_live += bytes == 4 ? 0 : std::uint32_t(shared.size()) * (bytes / 128);
    }
    for (std::uint32_t r = 0; r < ranges_.size(); ++r) places.of[r] = places.of[root(r)];
    places.frame_bytes = (end + 63) / 64 * 64;
    return places;
  }

  const ptx::Function& function_;
  const FlowGraph& graph_;
  std::vector<RegisterAccess> access_;
  std::vector<Ranges> ranges_;
  std::vector<std::uint32_t> parent_, scratch_;
  std::vector<char> exclusive_;
};

}  // namespace

RegisterPlaces allocate_registers(const ptx::Function& function, const FlowGraph& graph, std::uint32_t base) {
  return Allocator(function, graph).run(base);
}

}  // namespace ptxbench::emu
