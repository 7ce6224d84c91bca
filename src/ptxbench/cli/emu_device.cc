#include "ptxbench/cli/emu_device.h"

#include <fmt/format.h>

#include <cstring>

#include "ptxbench/emu/tensor/tensor_map.h"
#include "ptxbench/wire/device_table.h"

namespace ptxbench::cli {
namespace {

using wire::Answer;
using wire::Code;

tl::unexpected<wire::Failure> refuse(const Error& error, Code code) {
  std::string message = error.message;
  for (const std::string& note : error.notes) message += "\n" + note;
  if (!error.hint.empty()) message += "\n" + error.hint;
  if (!error.where.file.empty()) message = error.format();
  if (error.kind == ErrorKind::kTooLarge) code = Code::kMemoryAllocation;
  return wire::refuse(code, std::move(message));
}

template <class T>
Answer<void> as_answer(const Result<T>& result, Code code = Code::kInvalidValue) {
  if (!result) return refuse(result.error(), code);
  return {};
}

// What a program on a real GPU would be told. Rules that hardware does not report but that corrupt or hang a kernel
// there are launch failures and time-outs here.
Code code_of(emu::TrapKind kind) {
  switch (kind) {
    case emu::TrapKind::kOutOfBounds:
    case emu::TrapKind::kReadOnly: return Code::kIllegalAddress;
    case emu::TrapKind::kMisaligned: return Code::kMisalignedAddress;
    case emu::TrapKind::kAssert: return Code::kAssert;
    case emu::TrapKind::kUnsupported:
    case emu::TrapKind::kInvalidOperand: return Code::kIllegalInstruction;
    case emu::TrapKind::kDeadlock:
    case emu::TrapKind::kWorkLimit:
    case emu::TrapKind::kDeadline: return Code::kLaunchTimeout;
    default: return Code::kLaunchFailure;
  }
}

emu::Dim3 to_emu(const wire::Dim3& d) { return {d.x, d.y, d.z}; }
wire::Dim3 to_wire(const emu::Dim3& d) { return {d.x, d.y, d.z}; }

wire::TrapRecord to_wire(const emu::Trap& trap) {
  return {std::string(emu::to_string(trap.kind)),
          trap.rule,
          trap.message,
          trap.instruction,
          trap.source.file,
          trap.source.line,
          trap.ptx_line,
          to_wire(trap.cta),
          trap.warp,
          trap.lane,
          trap.address,
          trap.format()};
}

// The number after ".version ", times ten: 90 for 9.0.
std::uint32_t ptx_version(std::string_view ptx) {
  const std::size_t at = ptx.find(".version");
  if (at == std::string_view::npos) return 0;
  unsigned major = 0, minor = 0;
  const std::string line(ptx.substr(at, 32));
  return std::sscanf(line.c_str(), ".version %u.%u", &major, &minor) == 2 ? major * 10 + minor : 0;
}

}  // namespace

EmuDevice::EmuDevice(emu::MachineConfig config) : config_(config), machine_(config) {}

wire::DeviceInfo EmuDevice::info() const { return wire::h200_info(machine_.memory_limit()); }

wire::MemoryInfoReply EmuDevice::memory() const {
  const std::uint64_t used = std::min(machine_.memory_in_use(), machine_.memory_limit());
  return {machine_.memory_limit() - used, machine_.memory_limit()};
}

Answer<std::uint64_t> EmuDevice::alloc(std::uint64_t bytes) {
  Result<std::uint64_t> address = machine_.alloc(bytes);
  if (!address) return refuse(address.error(), Code::kMemoryAllocation);
  return *address;
}

Answer<void> EmuDevice::free(std::uint64_t address) { return as_answer(machine_.free(address)); }

Answer<void> EmuDevice::write(std::uint64_t address, std::span<const std::byte> bytes) {
  return as_answer(machine_.write(address, bytes));
}

Answer<void> EmuDevice::read(std::uint64_t address, std::span<std::byte> bytes) {
  return as_answer(machine_.read(address, bytes));
}

Answer<void> EmuDevice::copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  return as_answer(machine_.copy(destination, source, bytes));
}

Answer<void> EmuDevice::fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::uint64_t count) {
  return as_answer(machine_.fill(address, pattern, width, count));
}

std::span<std::byte> EmuDevice::host_view(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return {};
  Result<std::span<std::byte>> view = machine_.host_view(address, bytes);
  return view ? *view : std::span<std::byte>{};
}

Answer<std::uint32_t> EmuDevice::load_module(std::span<const std::byte> image) {
  Answer<std::string> ptx = choose_ptx(image, config_.target);
  if (!ptx) return tl::unexpected(ptx.error());
  Result<emu::ModuleId> module = machine_.load_module(*ptx);
  if (!module) {
    return refuse(module.error(),
                  module.error().kind == ErrorKind::kUnsupported ? Code::kNotSupported : Code::kInvalidPtx);
  }
  const auto number = static_cast<std::uint32_t>(*module);
  ptx_versions_[number] = ptx_version(*ptx);
  return number;
}

void EmuDevice::unload_module(std::uint32_t module) {
  machine_.unload_module(emu::ModuleId{module});
  ptx_versions_.erase(module);
}

Answer<wire::KernelInfo> EmuDevice::kernel(std::uint32_t module, std::string_view name) {
  Result<const emu::FunctionInfo*> found = machine_.function(emu::ModuleId{module}, name);
  if (!found) return refuse(found.error(), Code::kInvalidDeviceFunction);
  const emu::FunctionInfo& function = **found;
  wire::KernelInfo info;
  info.name = function.name;
  for (const emu::ParamInfo& param : function.params) info.params.push_back({param.offset, param.size});
  info.param_bytes = function.param_bytes;
  info.static_shared = function.static_shared;
  info.local_bytes = function.local_bytes;
  info.max_threads = function.max_threads;
  info.registers = function.registers;
  info.required_cluster = to_wire(function.required_cluster);
  info.ptx_version = ptx_versions_[module];
  info.binary_version = 90;
  return info;
}

Answer<wire::GlobalInfo> EmuDevice::global(std::uint32_t module, std::string_view name) {
  Result<emu::GlobalInfo> found = machine_.global(emu::ModuleId{module}, name);
  if (!found) return refuse(found.error(), Code::kInvalidSymbol);
  return wire::GlobalInfo{found->address, found->size, found->constant};
}

Answer<std::array<std::uint8_t, 128>> EmuDevice::encode_tiled(const wire::TiledMap& map) {
  emu::TiledDescription description;
  description.data_type = map.data_type;
  description.rank = map.rank;
  description.global_address = map.address;
  description.global_dims = map.dims;
  description.global_strides = map.strides;
  description.box_dims = map.box;
  description.element_strides = map.element_strides;
  description.interleave = map.interleave;
  description.swizzle = map.swizzle;
  description.l2_promotion = map.l2_promotion;
  description.oob_fill = map.oob_fill;
  Result<emu::TensorMapBytes> bytes = emu::encode_tensor_map(description);
  if (!bytes) {
    if (bytes.error().kind != ErrorKind::kUnsupported) return refuse(bytes.error(), Code::kInvalidValue);
    return wire::refuse(Code::kNotSupported, bytes.error().message, "cuTensorMapEncodeTiled");
  }
  std::array<std::uint8_t, 128> out;
  std::memcpy(out.data(), bytes->data(), out.size());
  return out;
}

// Every launch is counted anyway.
Answer<void> EmuDevice::begin_measure(const wire::MeasureOrder& order) {
  if (order.mode == wire::ReplayMode::kCount) return {};
  return DeviceHandler::begin_measure(order);
}

Answer<wire::LaunchReport> EmuDevice::launch(const wire::LaunchOrder& order) {
  emu::LaunchConfig config;
  config.module = emu::ModuleId{order.module};
  config.function = order.kernel;
  config.grid = to_emu(order.geometry.grid);
  config.block = to_emu(order.geometry.block);
  config.cluster = to_emu(order.geometry.cluster);
  config.dynamic_shared = order.geometry.dynamic_shared;
  config.schedule = order.schedule == wire::Schedule::kLatest ? emu::Schedule::kLatest : emu::Schedule::kEarliest;
  config.work_limit = order.work_limit;
  config.cooperative = order.geometry.cooperative;
  config.deadline = order.deadline;
  emu::LaunchResult result = machine_.launch(config, order.params);

  if (result.trap && result.trap->kind == emu::TrapKind::kLaunchConfig) {
    return wire::refuse(Code::kInvalidValue, result.trap->message);
  }
  wire::LaunchReport report;
  if (result.trap) {
    report.trap = to_wire(*result.trap);
    report.code = code_of(result.trap->kind);
  }
  for (const emu::FamilyCount& f : result.families) {
    report.families.push_back({f.family, f.static_count, f.warp_instructions, f.thread_instructions, f.flops, f.bytes});
  }
  for (const emu::InstructionCount& i : result.instructions) {
    report.instructions.push_back(
        {i.ptx_line, i.opcode, i.source.file, i.source.line, i.warp_instructions, i.thread_instructions, 0, {}, 0});
  }
  report.thread_instructions = result.thread_instructions;
  report.warp_instructions = result.warp_instructions;
  report.printf_output = std::move(result.printf_output);
  return report;
}

}  // namespace ptxbench::cli
