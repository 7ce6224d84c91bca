// The operand notation of forms/*.def, decoded.
//
//   name{?}{@word}:kind{#count}{.type}{*2}{|kind...}, ...
//   ?       may be left out                     @word,word   present exactly when one of the modifiers is
//   kind    see OperandShape                    #count  length of the vector: a number, a slot (its number) or a rule's name; of a constant: its values
//           (#4/8/16), or #%N: a multiple of N
//   .type   a type slot of the form or a type; *2: twice as wide (mul.wide)
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ptxbench/isa/form.h"

namespace ptxbench::isa {

enum class OperandShape : std::uint8_t {
  kDst,       // dst: a register that is written
  kDstWide,   // dstw: the same; may be wider than the type
  kDstSink,   // dsts: a register or '_'
  kDstPair,   // dpair: a register, or 'd|p'; either half may be '_'; pair: 'd|p' only
  kPredPair,  // ppair: a predicate, or 'p|q'; either half may be '_'
  kDstList,   // dlist: a register, or with .vec a vector; elements may be '_' and wider than the type
  kDstVec,    // dvec: a vector that is written; elements may be '_'
  kVecInOut,  // vecio: a vector that is read and written
  kReg,       // reg: a register that is read
  kVal,       // val: a register or an immediate
  kValWide,   // valw: the same; a register may be wider than the type
  kSrcList,   // slist: a register or immediate, or with .vec a vector of them
  kVec,       // vec: a vector that is read
  kAny,       // any: what mov takes: register, immediate, symbol, special register, vector, label of a function
  kPredVal,   // pval: a predicate register, '!p', or an immediate
  kPred,      // pred: a predicate register or '!p'
  kImm,       // imm: an immediate; imm#128: this one
  kMem,       // mem: [address]
  kTmem,      // tmem: [address] in tensor memory; a base register has 32 bits
  kTensor,    // tensor: [map, {coordinates}]
  kOffsets,   // offsets: a vector of im2col offsets
  kLabel,     // label
  kTargets,   // targets: a label of .branchtargets
  kFunc,      // func: a function, or a register for an indirect call
  kCallArgs,  // callargs: the parenthesised list of a call
  kProto,     // proto: a .callprototype or .calltargets label
};

struct OperandAlternative {
  OperandShape shape = OperandShape::kVal;
  std::string_view count;         // "" : any length
  Slot type_slot = Slot::kCount;  // kCount: no type from a slot
  Type type = Type::kNone;        // used when type_slot is kCount
  bool doubled = false;
  bool pair_only = false;
  std::string_view type_rule;  // the type is given by a named rule (matrix fragments)
};

struct OperandPattern {
  std::string_view name;
  bool optional = false;
  std::vector<Mod> conditions;  // present exactly when one of them is
  std::vector<OperandAlternative> alternatives;
};

std::span<const OperandPattern> operand_patterns(FormId id);

// Number of registers of a vector operand by its count, for an instruction with these modifiers; 0: any length.
unsigned vector_length(FormId id, std::span<const Mod> mods, std::string_view count);

}  // namespace ptxbench::isa
