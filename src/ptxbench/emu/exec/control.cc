#include <cstring>

#include "ptxbench/emu/exec/lanes_active.h"
#include "ptxbench/emu/exec/operations.h"
#include "ptxbench/emu/trap.h"
#include "ptxbench/emu/worker.h"
#include "ptxbench/isa/sregs.h"

namespace ptxbench::emu::exec {
namespace {

// A zero-terminated string in any space, for printf and assert; at most `limit` bytes.
std::string read_string(Warp& warp, std::uint64_t address, unsigned lane, std::size_t limit = 4096) {
  std::string text;
  while (text.size() < limit) {
    const std::byte* p = resolve_lane(warp, isa::Space::kGeneric, address + text.size(), 1, 1, Access::kRead, lane);
    if (*p == std::byte{0}) break;
    text += char(*p);
  }
  return text;
}

// One conversion of a format string with its argument, formatted by the C library. Unknown ones are copied as they are.
std::string convert(Warp& warp, const std::string& spec, std::uint64_t value, unsigned lane) {
  const char kind = spec.back();
  std::string bare;  // without length modifiers: arguments are 8 bytes each
  for (char c : spec)
    if (std::strchr("hlLqjzt", c) == nullptr) bare += c;
  char buffer[512];
  switch (kind) {
    case 'd':
    case 'i': {
      const bool wide = spec.find('l') != std::string::npos || spec.find('z') != std::string::npos ||
                        spec.find('j') != std::string::npos;
      bare.insert(bare.size() - 1, "ll");
      std::snprintf(buffer, sizeof buffer, bare.c_str(),
                    wide ? static_cast<long long>(value) : static_cast<long long>(std::int32_t(value)));
      return buffer;
    }
    case 'u':
    case 'x':
    case 'X':
    case 'o': {
      const bool wide = spec.find('l') != std::string::npos || spec.find('z') != std::string::npos ||
                        spec.find('j') != std::string::npos;
      bare.insert(bare.size() - 1, "ll");
      std::snprintf(
          buffer, sizeof buffer, bare.c_str(),
          wide ? static_cast<unsigned long long>(value) : static_cast<unsigned long long>(std::uint32_t(value)));
      return buffer;
    }
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': std::snprintf(buffer, sizeof buffer, bare.c_str(), std::bit_cast<double>(value)); return buffer;
    case 'c': std::snprintf(buffer, sizeof buffer, bare.c_str(), int(value & 0xff)); return buffer;
    case 'p': return fmt::format("{:#x}", value);
    case 's': return read_string(warp, value, lane);
    default: return spec;
  }
}

std::string format_for_lane(Warp& warp, const std::string& format, std::uint64_t arguments, unsigned lane) {
  std::string text;
  std::uint64_t offset = 0;
  auto next = [&](std::uint32_t bytes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    std::uint64_t value = 0;
    std::memcpy(&value, resolve_lane(warp, isa::Space::kGeneric, arguments + offset, bytes, bytes, Access::kRead, lane),
                bytes);
    offset += bytes;
    return value;
  };
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      text += '%';
      ++i;
      continue;
    }
    std::string spec = "%";
    while (++i < format.size()) {
      if (format[i] == '*') {
        spec += std::to_string(std::int32_t(next(4)));
        continue;
      }
      spec += format[i];
      if (std::strchr("diuxXofFeEgGaAcspn", format[i]) != nullptr) break;
    }
    const char kind = spec.back();
    const bool eight = std::strchr("fFeEgGaAsp", kind) != nullptr || spec.find('l') != std::string::npos ||
                       spec.find('z') != std::string::npos || spec.find('j') != std::string::npos;
    text += convert(warp, spec, next(eight ? 8 : 4), lane);
  }
  return text;
}

}  // namespace

Flow bra(Warp& warp, const Op& op, Mask mask) { return warp.branch(mask, op.small, std::uint32_t(op.imm)); }
Flow join(Warp& warp, const Op&, Mask) { return warp.join(); }
Flow call(Warp& warp, const Op& op, Mask mask) { return warp.call(mask, op.small, std::uint32_t(op.imm)); }
Flow ret(Warp& warp, const Op&, Mask mask) { return warp.ret(mask); }
Flow exit(Warp& warp, const Op&, Mask mask) { return warp.exit_lanes(mask); }
Flow nothing(Warp&, const Op&, Mask) { return Flow::kNext; }

Flow trap_instruction(Warp&, const Op&, Mask mask) {
  trap(TrapKind::kTrapInstruction, unsigned(std::countr_zero(mask)), "the kernel executed trap or brkpt",
       "the kernel itself asked to be stopped: __trap(), a failed check of a library, or unreachable code");
}

Flow unsupported(Warp&, const Op& op, Mask mask) {
  trap(TrapKind::kUnsupported, unsigned(std::countr_zero(mask)), static_cast<const UnsupportedExtra&>(*op.extra).what,
       "the emulator does not execute this form; the kernel itself may be correct");
}

Flow nanosleep(Warp& warp, const Op&, Mask) {
  ++warp.current.pc;
  warp.polled = true;
  warp.slice = 0;
  return Flow::kJump;
}

Flow special_register(Warp& warp, const Op& op, Mask mask) {
  using isa::Sreg;
  const Cta& cta = *warp.cta;
  const LaunchState& launch = warp.worker->launch;
  const auto sreg = Sreg(op.imm);
  if (sreg == Sreg::kTidX || sreg == Sreg::kTidY || sreg == Sreg::kTidZ) {
    const std::uint32_t* tid = warp.tid[int(sreg) - int(Sreg::kTidX)];
    std::uint32_t* d = warp.at<std::uint32_t>(op.d);
    for_active(mask, [&](unsigned i) { d[i] = tid[i]; });
    return Flow::kNext;
  }
  auto lanes = [&](auto value) {
    std::uint32_t* d = warp.at<std::uint32_t>(op.d);
    for_active(mask, [&](unsigned i) { d[i] = std::uint32_t(value(i)); });
    return Flow::kNext;
  };
  auto uniform = [&](std::uint64_t value) { return lanes([=](unsigned) { return value; }); };
  auto wide = [&](std::uint64_t value) {
    std::uint64_t* d = warp.at<std::uint64_t>(op.d);
    for_active(mask, [&](unsigned i) { d[i] = value; });
    return Flow::kNext;
  };
  const Dim3 c = launch.cluster, id = cta.id, cluster_id = cta.cluster->id;
  switch (sreg) {
    case Sreg::kNtidX: return uniform(launch.block.x);
    case Sreg::kNtidY: return uniform(launch.block.y);
    case Sreg::kNtidZ: return uniform(launch.block.z);
    case Sreg::kCtaidX: return uniform(id.x);
    case Sreg::kCtaidY: return uniform(id.y);
    case Sreg::kCtaidZ: return uniform(id.z);
    case Sreg::kNctaidX: return uniform(launch.grid.x);
    case Sreg::kNctaidY: return uniform(launch.grid.y);
    case Sreg::kNctaidZ: return uniform(launch.grid.z);
    case Sreg::kClusteridX: return uniform(cluster_id.x);
    case Sreg::kClusteridY: return uniform(cluster_id.y);
    case Sreg::kClusteridZ: return uniform(cluster_id.z);
    case Sreg::kNclusteridX: return uniform(launch.grid_in_clusters.x);
    case Sreg::kNclusteridY: return uniform(launch.grid_in_clusters.y);
    case Sreg::kNclusteridZ: return uniform(launch.grid_in_clusters.z);
    case Sreg::kClusterCtaidX: return uniform(cta.rank % c.x);
    case Sreg::kClusterCtaidY: return uniform(cta.rank / c.x % c.y);
    case Sreg::kClusterCtaidZ: return uniform(cta.rank / c.x / c.y);
    case Sreg::kClusterNctaidX: return uniform(c.x);
    case Sreg::kClusterNctaidY: return uniform(c.y);
    case Sreg::kClusterNctaidZ: return uniform(c.z);
    case Sreg::kClusterCtarank: return uniform(cta.rank);
    case Sreg::kClusterNctarank: return uniform(c.count());
    case Sreg::kIsExplicitCluster: {
      Mask& p = *warp.at<Mask>(op.d);
      p = (p & ~mask) | (launch.explicit_cluster ? mask : 0);
      return Flow::kNext;
    }
    case Sreg::kLaneid: return lanes([](unsigned i) { return i; });
    case Sreg::kWarpid: return uniform(warp.index);
    case Sreg::kNwarpid: return uniform(launch.warps);
    case Sreg::kSmid:
      return uniform((id.x + std::uint64_t{launch.grid.x} * (id.y + std::uint64_t{launch.grid.y} * id.z)) % 132);
    case Sreg::kNsmid: return uniform(132);
    case Sreg::kGridid: return wide(launch.grid_id);
    // Where a cooperative launch's grid barrier lies, as CUDA's cooperative groups expect it; 0 in other launches.
    case Sreg::kEnvreg1: return uniform(launch.grid_workspace >> 32);
    case Sreg::kEnvreg2: return uniform(launch.grid_workspace);
    case Sreg::kLanemaskEq: return lanes([](unsigned i) { return Mask{1} << i; });
    case Sreg::kLanemaskLt: return lanes([](unsigned i) { return (Mask{1} << i) - 1; });
    case Sreg::kLanemaskLe: return lanes([](unsigned i) { return (Mask{2} << i) - 1; });
    case Sreg::kLanemaskGt: return lanes([](unsigned i) { return ~((Mask{2} << i) - 1); });
    case Sreg::kLanemaskGe: return lanes([](unsigned i) { return ~((Mask{1} << i) - 1); });
    case Sreg::kClock:
    case Sreg::kGlobaltimerLo: return uniform(++warp.worker->clock);
    case Sreg::kClockHi:
    case Sreg::kGlobaltimerHi: return uniform(++warp.worker->clock >> 32);
    case Sreg::kClock64:
    case Sreg::kGlobaltimer: return wide(++warp.worker->clock);
    case Sreg::kDynamicSmemSize: return uniform(launch.dynamic_shared);
    case Sreg::kTotalSmemSize: return uniform(launch.shared_bytes);
    case Sreg::kAggrSmemSize: return uniform(launch.shared_bytes + kSharedStart);
    case Sreg::kReservedSmemOffsetBegin: return uniform(0);
    case Sreg::kReservedSmemOffsetEnd:
    case Sreg::kReservedSmemOffsetCap: return uniform(kSharedStart);
    default:
      trap(TrapKind::kUnsupported, unsigned(std::countr_zero(mask)),
           fmt::format("special register {}", isa::info(sreg).spelling),
           "the emulator has no value for this special register");
  }
}

Flow printf(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const PrintfExtra&>(*op.extra);
  for_active(mask, [&](unsigned lane) {
    auto pointer = [&](const AddressOperand& operand) {
      std::uint64_t value = 0;
      std::memcpy(&value, resolve_lane(warp, operand.space, operand.of(warp, lane), 8, 8, Access::kRead, lane), 8);
      return value;
    };
    const std::string format = read_string(warp, pointer(x.format), lane);
    const std::string text = format_for_lane(warp, format, pointer(x.arguments), lane);
    warp.worker->launch.print(text);
    if (!x.has_result) return;
    const auto count = std::int32_t(text.size());
    std::memcpy(resolve_lane(warp, x.result.space, x.result.of(warp, lane), 4, 4, Access::kWrite, lane), &count, 4);
  });
  return Flow::kNext;
}

Flow assert_fail(Warp& warp, const Op& op, Mask mask) {
  const auto& x = static_cast<const ComplexExtra&>(*op.extra);
  const auto lane = unsigned(std::countr_zero(mask));
  auto read = [&](const AddressOperand& operand, std::uint32_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, resolve_lane(warp, operand.space, operand.of(warp, lane), bytes, bytes, Access::kRead, lane),
                bytes);
    return value;
  };
  const std::string message = read_string(warp, read(x.address[0], 8), lane),
                    file = read_string(warp, read(x.address[1], 8), lane);
  const std::string function = read_string(warp, read(x.address[3], 8), lane);
  const std::uint32_t* tid_x = warp.tid[0];
  trap(TrapKind::kAssert, lane,
       fmt::format("{}:{}: {}: thread ({},{},{}): assertion `{}` failed", file, read(x.address[2], 4), function,
                   tid_x[lane], warp.tid[1][lane], warp.tid[2][lane], message),
       "an assert() of the kernel failed");
}

}  // namespace ptxbench::emu::exec
