// cp.async, bulk and tensor copies.
#include "ptxbench/emu/decode/lowering.h"

namespace ptxbench::emu {

using isa::FormId;
using isa::Mod;
using isa::Slot;
using isa::Space;
using isa::Type;

namespace {

Space side(Lowering& l, Slot slot) {
  const Space space = isa::space_of(l.instruction().slot(slot));
  return space == Space::kShared ? Space::kSharedCta : space;
}

void lower_cp_async(Lowering& l) {
  const AddressOperand to = l.address(*l.find("dst"), Space::kSharedCta),
                       from = l.address(*l.find("src"), Space::kGlobal);
  const std::int64_t bytes = l.immediate(*l.find("cp_size"));
  if (bytes != 4 && bytes != 8 && bytes != 16)
    throw Lowering::Unsupported{fmt::format("cp.async of {} bytes (4, 8 and 16 exist)", bytes)};
  const ptx::Operand *size = l.find("src_size"), *ignore = l.find("ignore_src");
  const Ref a = size == nullptr ? kNoRef : l.value(*size, Type::kU32);
  const Ref b = ignore == nullptr ? kNoRef : l.value(*ignore, Type::kPred);
  const std::uint32_t range = l.new_range();
  ComplexExtra* x;
  Op& op = l.emit_complex(exec::cp_async, x);
  op.a = a;
  op.b = b;
  x->address[0] = to;
  x->address[1] = from;
  x->imm = {bytes, range, 0, 0};
}

void lower_bulk(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  if (i.has(Mod::kCpMask)) throw Lowering::Unsupported{"cp.async.bulk with .cp_mask"};
  if (i.has(Mod::kIgnoreOob)) throw Lowering::Unsupported{"cp.async.bulk with .ignore_oob"};
  const ptx::Operand *mbar = l.find("mbar"), *mask = l.find("cta_mask");
  const AddressOperand to = l.address(*l.find("dst"), side(l, Slot::kDst)),
                       from = l.address(*l.find("src"), side(l, Slot::kSrc));
  AddressOperand barrier;
  if (mbar != nullptr) barrier = l.address(*mbar, Space::kSharedCluster);
  const Ref size = l.value(*l.find("size"), Type::kU32);
  const Ref targets = mask == nullptr ? kNoRef : l.value(*mask, Type::kU16);
  ComplexExtra* x;
  Op& op = l.emit_complex(exec::bulk_copy, x);
  op.a = size;
  x->address = {to, from, barrier, {}};
  x->mask = targets;
  x->operation = i.slot(Slot::kOp);
  x->type = i.type(Slot::kType);
}

// [map, {coordinates}] of a tensor operand.
void read_tensor(Lowering& l, AddressOperand& map, std::vector<Ref>& coords) {
  const ptx::Operand& tensor = *l.find("tensor");
  map = l.address(tensor, Space::kGeneric);
  const auto elements = l.function().elements(tensor);
  for (const ptx::Operand& element : elements) {
    for (Ref ref : l.values(element, Type::kS32)) coords.push_back(ref);
  }
}

void lower_tensor(Lowering& l, std::int64_t kind) {
  const ptx::Instruction& i = l.instruction();
  const Mod mode = kind == 0 ? i.slot(Slot::kLoadMode) : i.slot(Slot::kStoreMode);
  if (mode != Mod::kNone && mode != Mod::kTile)
    throw Lowering::Unsupported{fmt::format("tensor copies of mode .{}", isa::spelling(mode))};
  if (i.slot(Slot::kCtaGroup) != Mod::kNone) throw Lowering::Unsupported{"tensor copies with .cta_group"};
  const ptx::Operand *mbar = l.find("mbar"), *mask = l.find("cta_mask");
  const AddressOperand shared =
      l.address(*l.find(kind == 0 ? "dst" : "src"), kind == 0 ? side(l, Slot::kDst) : Space::kSharedCta);
  AddressOperand barrier, map;
  std::vector<Ref> coords;
  if (mbar != nullptr) barrier = l.address(*mbar, Space::kSharedCluster);
  read_tensor(l, map, coords);
  const Ref targets = mask == nullptr ? kNoRef : l.value(*mask, Type::kU16);
  ComplexExtra* x;
  l.emit_complex(exec::tensor_copy, x);
  x->address = {shared, map, barrier, {}};
  x->coords = coords;
  x->mask = targets;
  x->operation = kind == 2 ? i.slot(Slot::kOp) : Mod::kNone;
  x->imm[0] = kind;
}

void lower_prefetch_tensor(Lowering& l) {
  AddressOperand map;
  std::vector<Ref> coords;
  read_tensor(l, map, coords);
  ComplexExtra* x;
  l.emit_complex(exec::tensor_prefetch, x);
  x->address[1] = map;
  x->coords = coords;
}

void lower_tensormap_replace(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  const AddressOperand map = l.address(*l.find("addr"), l.space());
  const ptx::Operand *ordinal = l.find("ord"), *value = l.find("new_val");
  const unsigned bits = isa::bits(i.type(Slot::kType));
  const Ref a = l.value(*value, bits == 64 ? Type::kB64 : Type::kB32);
  ComplexExtra* x;
  Op& op = l.emit_complex(exec::tensormap_replace, x);
  op.a = a;
  x->address[0] = map;
  x->imm = {std::int64_t(i.slot(Slot::kField)), bits, ordinal == nullptr ? 0 : l.immediate(*ordinal), 0};
}

}  // namespace

bool lower_async(Lowering& l) {
  switch (l.instruction().form) {
    case FormId::kCpAsync:
    case FormId::kCpAsyncIgnoreSrc: lower_cp_async(l); return true;
    case FormId::kCpAsyncCommitGroup: l.emit(exec::cp_async_commit); return true;
    case FormId::kCpAsyncWaitGroup: {
      const std::int64_t keep = l.immediate(l.operands()[0]);
      l.emit(exec::cp_async_wait).imm = keep;
      return true;
    }
    case FormId::kCpAsyncWaitAll: l.emit(exec::cp_async_wait).imm = -1; return true;
    case FormId::kCpAsyncBulkG2S:
    case FormId::kCpAsyncBulkG2SCta:
    case FormId::kCpAsyncBulkS2Cluster:
    case FormId::kCpAsyncBulkS2G:
    case FormId::kCpReduceAsyncBulkS2GAdd:
    case FormId::kCpReduceAsyncBulkS2GIncDec:
    case FormId::kCpReduceAsyncBulkS2GMinMax:
    case FormId::kCpReduceAsyncBulkS2GLogic:
    case FormId::kCpReduceAsyncBulkS2GAddHalf:
    case FormId::kCpReduceAsyncBulkS2ClusterAdd:
    case FormId::kCpReduceAsyncBulkS2ClusterIncDec:
    case FormId::kCpReduceAsyncBulkS2ClusterMinMax:
    case FormId::kCpReduceAsyncBulkS2ClusterLogic: lower_bulk(l); return true;
    case FormId::kCpAsyncBulkPrefetch: l.emit(exec::nothing); return true;
    case FormId::kCpAsyncBulkCommitGroup: l.emit(exec::bulk_commit); return true;
    case FormId::kCpAsyncBulkWaitGroup: {
      const std::int64_t keep = l.immediate(l.operands()[0]);
      l.emit(exec::bulk_wait).imm = keep;
      return true;
    }
    case FormId::kCpAsyncBulkTensorG2S:
    case FormId::kCpAsyncBulkTensorG2SCta: lower_tensor(l, 0); return true;
    case FormId::kCpAsyncBulkTensorS2G: lower_tensor(l, 1); return true;
    case FormId::kCpReduceAsyncBulkTensor: lower_tensor(l, 2); return true;
    case FormId::kCpAsyncBulkPrefetchTensor: lower_prefetch_tensor(l); return true;
    case FormId::kTensormapReplaceAddress:
    case FormId::kTensormapReplaceOrd32:
    case FormId::kTensormapReplaceOrd64: lower_tensormap_replace(l); return true;
    default: return false;
  }
}

}  // namespace ptxbench::emu
