// ldmatrix, stmatrix, movmatrix, mma.sync, wgmma.
#include "ptxbench/emu/decode/lowering.h"
#include "ptxbench/emu/wgmma_queue.h"

namespace ptxbench::emu {

using isa::FormId;
using isa::Mod;
using isa::Slot;
using isa::Type;

namespace {

MmaType mma_type(Type type) {
  switch (type) {
    case Type::kF16: return MmaType::kF16;
    case Type::kBf16: return MmaType::kBF16;
    case Type::kTf32: return MmaType::kTF32;
    case Type::kE4m3: return MmaType::kE4M3;
    case Type::kE5m2: return MmaType::kE5M2;
    case Type::kS8: return MmaType::kS8;
    case Type::kU8: return MmaType::kU8;
    default: throw Lowering::Unsupported{fmt::format("matrix operands of type {}", isa::spelling(type))};
  }
}
MmaAccumulator accumulator(Type type) {
  switch (type) {
    case Type::kF32: return MmaAccumulator::kF32;
    case Type::kF16: return MmaAccumulator::kF16;
    case Type::kS32: return MmaAccumulator::kS32;
    default: throw Lowering::Unsupported{fmt::format("matrix accumulators of type {}", isa::spelling(type))};
  }
}

void lower_ldmatrix(Lowering& l, bool store) {
  const AddressOperand address = l.address(*l.find("p"), l.space());
  const auto registers = store ? l.values(*l.find("r"), Type::kB32) : l.destinations(*l.find("r"));
  ComplexExtra* x;
  l.emit_complex(store ? exec::stmatrix : exec::ldmatrix, x);
  x->address[0] = address;
  (store ? x->a : x->d) = registers;
  x->flag = l.instruction().has(Mod::kTrans);
}

void lower_mma(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  const isa::MatrixShape shape = isa::shape_of(i.slot(Slot::kShape));
  MmaForm form;
  form.m = std::uint8_t(shape.m);
  form.n = std::uint8_t(shape.n);
  form.k = std::uint8_t(shape.k);
  form.a_type = mma_type(i.type(Slot::kAtype));
  form.b_type = mma_type(i.type(Slot::kBtype));
  form.accumulator = accumulator(i.type(Slot::kDtype));
  form.saturate = i.has(Mod::kSatfinite);
  if (i.type(Slot::kCtype) != i.type(Slot::kDtype)) throw Lowering::Unsupported{"mma with different types of C and D"};
  if (auto checked = check_mma_form(form); !checked) throw Lowering::Unsupported{checked.error().message};
  const auto d = l.destinations(*l.find("d"));
  const auto a = l.values(*l.find("a"), Type::kB32), b = l.values(*l.find("b"), Type::kB32),
             c = l.values(*l.find("c"), Type::kB32);
  const MmaRegisterCounts counts = mma_register_counts(form);
  if (a.size() != counts.a || b.size() != counts.b || c.size() != counts.c || d.size() != counts.c || a.size() > 8 ||
      c.size() > 8)
    throw Lowering::Unsupported{"mma with another number of registers than its shape needs"};
  Op& op = l.emit(exec::mma);
  auto& x = l.extra<MmaExtra>(op);
  x.form = form;
  x.d = d;
  x.a = a;
  x.b = b;
  x.c = c;
  x.flops = std::uint64_t{2} * shape.m * shape.n * shape.k;
}

void lower_mma_f64(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  if (const Mod rounding = i.slot(Slot::kRnd); rounding != Mod::kNone && rounding != Mod::kRn)
    throw Lowering::Unsupported{"mma of .f64 with another rounding than .rn"};
  const isa::MatrixShape shape = isa::shape_of(i.slot(Slot::kShape));
  const MmaF64Shape form{std::uint8_t(shape.m), std::uint8_t(shape.n), std::uint8_t(shape.k)};
  const MmaF64Counts counts = mma_f64_counts(form);
  const auto d = l.destinations(*l.find("d"));
  const auto a = l.values(*l.find("a"), Type::kF64), b = l.values(*l.find("b"), Type::kF64),
             c = l.values(*l.find("c"), Type::kF64);
  if (a.size() != counts.a || b.size() != counts.b || c.size() != counts.c || d.size() != counts.c)
    throw Lowering::Unsupported{"mma with another number of registers than its shape needs"};
  Op& op = l.emit(exec::mma_f64);
  auto& x = l.extra<MmaF64Extra>(op);
  x.shape = form;
  x.d = d;
  x.a = a;
  x.b = b;
  x.c = c;
  x.flops = std::uint64_t{2} * shape.m * shape.n * shape.k;
}

void lower_wgmma(Lowering& l) {
  const ptx::Instruction& i = l.instruction();
  const isa::MatrixShape shape = isa::shape_of(i.slot(Slot::kShape));
  WgmmaForm form;
  form.a_type = mma_type(i.type(Slot::kAtype));
  form.b_type = mma_type(i.type(Slot::kBtype));
  form.accumulator = accumulator(i.type(Slot::kDtype));
  form.n = std::uint16_t(shape.n);
  const ptx::Operand& a = *l.find("a");
  form.a_in_registers = a.kind == ptx::OperandKind::kVector;
  form.saturate = i.has(Mod::kSatfinite);
  auto flag = [&](const char* name) {
    const ptx::Operand* operand = l.find(name);
    return operand == nullptr ? std::int64_t{0} : l.immediate(*operand);
  };
  form.negate_a = flag("imm_scale_a") == -1;
  form.negate_b = flag("imm_scale_b") == -1;
  form.transpose_a = flag("imm_trans_a") != 0;
  form.transpose_b = flag("imm_trans_b") != 0;
  if (auto checked = check_wgmma_form(form); !checked) throw Lowering::Unsupported{checked.error().message};
  const auto d = l.destinations(*l.find("d"));
  if (d.size() != wgmma_accumulator_registers(form))
    throw Lowering::Unsupported{"wgmma with another number of accumulators than its shape needs"};
  const auto a_registers = form.a_in_registers ? l.values(a, Type::kB32) : std::vector<Ref>{};
  if (form.a_in_registers && a_registers.size() != kWgmmaARegisters)
    throw Lowering::Unsupported{"wgmma with A in other than 4 registers"};
  const Ref a_descriptor = form.a_in_registers ? kNoRef : l.value(a, Type::kB64);
  const Ref b_descriptor = l.value(*l.find("b_desc"), Type::kB64);
  const Ref scale_d = l.value(*l.find("scale_d"), Type::kPred);
  Op& op = l.emit(exec::wgmma);
  auto& x = l.extra<WgmmaExtra>(op);
  x.form = form;
  x.d = d;
  for (std::size_t r = 0; r < a_registers.size(); ++r) x.a[r] = a_registers[r];
  x.a_descriptor = a_descriptor;
  x.b_descriptor = b_descriptor;
  x.scale_d = scale_d;
  x.flops = std::uint64_t{2} * shape.m * shape.n * shape.k;
}

}  // namespace

bool lower_matrix(Lowering& l) {
  switch (l.instruction().form) {
    case FormId::kLdmatrixB16: lower_ldmatrix(l, false); return true;
    case FormId::kStmatrixB16: lower_ldmatrix(l, true); return true;
    case FormId::kMovmatrix: {
      const Ref d = l.destination(l.operands()[0]), a = l.value(1);
      Op& op = l.emit(exec::movmatrix);
      op.d = d;
      op.a = a;
      return true;
    }
    case FormId::kMmaF16:
    case FormId::kMmaBf16:
    case FormId::kMmaTf32:
    case FormId::kMmaFp8:
    case FormId::kMmaInt8: lower_mma(l); return true;
    case FormId::kMmaF64: lower_mma_f64(l); return true;
    case FormId::kWgmmaF16:
    case FormId::kWgmmaF16Rs:
    case FormId::kWgmmaBf16:
    case FormId::kWgmmaBf16Rs:
    case FormId::kWgmmaTf32:
    case FormId::kWgmmaTf32Rs:
    case FormId::kWgmmaFp8:
    case FormId::kWgmmaFp8Rs:
    case FormId::kWgmmaInt8:
    case FormId::kWgmmaInt8Rs: lower_wgmma(l); return true;
    case FormId::kWgmmaFence: l.emit(exec::aligned_nothing); return true;
    case FormId::kWgmmaCommitGroup: l.emit(exec::wgmma_commit); return true;
    case FormId::kWgmmaWaitGroup: {
      const std::int64_t keep = l.immediate(l.operands()[0]);
      l.emit(exec::wgmma_wait).imm = keep;
      return true;
    }
    default: return false;
  }
}

std::unique_ptr<Program> decode(const ptx::Module& module, const GlobalAddresses& globals, const ptx::Function& entry) {
  return Lowering(module, globals, entry).run();
}

}  // namespace ptxbench::emu
