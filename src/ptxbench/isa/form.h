// THE TABLE: one row per PTX form (a mnemonic and a type family, as the manual prints it). The rows are in forms/*.def;
// parser, validator, printer, emulator dispatch and instruction evidence all read it, and nothing else lists mnemonics.
//
// PTX_FORM(id, head, modifiers, operands, ptx, targets, scope, class and family, status, anchor)
//   head       ordered words of the opcode that come first and cannot move: "cp.async.bulk.tensor"
//   modifiers  the rest in the manual's notation: ".word" required word, ".slot" required slot of slots.def,
//              "{.word}" / "{.slot}" optional. Types, state spaces and layouts match in sequence, the others in any order.
//   operands   the notation of operands.h
//   ptx        first ISA version, targets: notation of target.h
//   scope      the threads that must execute it together
//   status     Full, ParseOnly (parses, prints, counts; traps when executed), Refused("why")
//   anchor     of the section in the PTX manual (docs.nvidia.com/cuda/parallel-thread-execution)
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ptxbench/isa/mods.h"
#include "ptxbench/isa/target.h"

namespace ptxbench::isa {

enum class FormId : std::uint16_t {
#define PTX_FORM(id, ...) k##id,
#include "ptxbench/isa/forms.def"
#undef PTX_FORM
  kCount
};
inline constexpr std::size_t kFormCount = static_cast<std::size_t>(FormId::kCount);

enum class Slot : std::uint8_t {
#define PTX_SLOT(id, name, words) k##id,
#include "ptxbench/isa/slots.def"
#undef PTX_SLOT
  kCount,
  kFlag,  // a word that stands for itself, such as .ftz
};

// Threads that must be converged (execute the instruction together, with the same immediates).
enum class Scope : std::uint8_t { kLane, kWarp, kWarpgroup, kCta, kCluster };

enum class FormClass : std::uint8_t {
  kIntAlu,
  kFloatAlu,
  kConvert,
  kMove,
  kMemory,
  kAtomic,
  kAsyncCopy,
  kTensor,
  kSync,
  kControl,
  kWarp,
  kMisc
};

// Families of instructions for evidence (architecture.md 7). kNone: ordinary instructions.
enum class Family : std::uint8_t {
  kNone,
  kWgmma,       // wgmma.mma_async
  kWgmmaSync,   // wgmma.fence, commit_group, wait_group
  kTma,         // cp.async.bulk.tensor, cp.reduce.async.bulk.tensor: what moves data through a tensor map
  kBulk,        // cp.async.bulk without a tensor map
  kTcgen05Mma,  // tcgen05.mma
  kTcgen05Ld,   // tcgen05.ld, st, cp, shift
  kTcgen05,     // alloc, dealloc, commit, fences, waits
  kMma,         // mma.sync, wmma
  kLdmatrix,    // ldmatrix, stmatrix, movmatrix
  kMbarrier,
  kCluster,  // barrier.cluster, mapa, getctarank, distributed shared memory helpers
  kCpAsync,  // non-bulk cp.async
  kTmaAux,   // fences, prefetches and edits of tensor maps: no evidence that a tensor copy ran
  kCount
};
std::string_view spelling(Family family);  // "wgmma", "tma", ...

enum class FormStatus : std::uint8_t { kFull, kParseOnly, kRefused };

struct Form {
  FormId id;
  std::string_view name;  // "WgmmaMmaAsync"
  std::string_view head;
  std::string_view modifiers;
  std::string_view operands;
  Version min_ptx;
  std::string_view targets;
  Scope scope;
  FormClass form_class;
  Family family;
  FormStatus status;
  std::string_view refused_why;  // only for kRefused
  std::string_view anchor;
};

std::span<const Form> forms();  // in the order of FormId
const Form& form(FormId id);
const TargetRule& target_rule(FormId id);
std::string_view spelling(Slot slot);  // as in slots.def

using ModSet = std::bitset<kModCount>;

// One element of a form's modifier list, in the manual's order; this is also the order of Instruction::mods.
struct ModifierElement {
  Slot slot = Slot::kFlag;
  Mod word = Mod::kNone;  // kFlag: the word itself
  bool optional = false;
  const ModSet* words = nullptr;  // of a slot; never null then
  bool admits(Mod mod) const;
};
std::span<const ModifierElement> modifier_elements(FormId id);
inline constexpr std::size_t kMaxModifiers = 16;

}  // namespace ptxbench::isa
