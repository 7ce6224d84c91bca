#include "ptxbench/wire/session.h"

#include <fmt/format.h>

#include "ptxbench/base/hash.h"

namespace ptxbench::wire {
namespace {

// True when [address, address + bytes) lies in one of `ranges`.
template <class Ranges>
bool covers(const Ranges& ranges, std::uint64_t address, std::uint64_t bytes) {
  auto next = ranges.upper_bound(address);
  if (next == ranges.begin()) return false;
  const auto& [base, range] = *std::prev(next);
  const std::uint64_t offset = address - base;
  return offset <= range.bytes && bytes <= range.bytes - offset;
}

}  // namespace

Session::~Session() {
  for (const auto& [address, range] : owned_) {
    if (range.module == 0) static_cast<void>(state_.handler.free(address));
  }
  for (const std::uint64_t address : opened_) static_cast<void>(state_.handler.close_shared(address));
  for (std::uint32_t module : std::vector(modules_)) static_cast<void>(on(UnloadModule{module}));
}

void Session::grant(const AddClient& rights) {
  for (const Grant& grant : rights.grants) granted_[grant.address] = {grant.bytes, 0};
  restrict_modules_ = rights.restrict_modules;
  allowed_modules_ = {rights.module_sha256.begin(), rights.module_sha256.end()};
}

Answer<void> Session::usable() const {
  if (!control_ && state_.sticky != Code::kSuccess) return refuse(state_.sticky, state_.sticky_message);
  return {};
}

Answer<void> Session::check_range(std::uint64_t address, std::uint64_t bytes, std::string_view what) const {
  if (control_ || bytes == 0) return {};
  if (covers(owned_, address, bytes) || covers(granted_, address, bytes)) return {};
  return refuse(Code::kInvalidValue,
                fmt::format("{}: [{:#x}, +{}) is not inside device memory of this program", what, address, bytes));
}

Answer<void> Session::check_stream(std::uint32_t stream) const {
  if (stream == 0 || streams_.contains(stream)) return {};
  return refuse(Code::kInvalidResourceHandle, fmt::format("stream {} does not exist", stream));
}

Answer<void> Session::room(std::size_t used, std::string_view what) const {
  if (used < kMaxHandles) return {};
  return refuse(Code::kMemoryAllocation, fmt::format("more than {} {} at a time", kMaxHandles, what));
}

void Session::record(CommandKind kind, std::uint32_t stream, std::uint64_t address, std::uint64_t source,
                     std::uint64_t bytes) {
  tick();
  if (!state_.recorder.records(id_)) return;
  Recorder::Step step;
  step.record = {kind, stream, address, source, bytes, 0};
  state_.recorder.add(std::move(step));
}

Answer<HelloReply> Session::on(const Hello&) {
  greeted_ = true;
  return HelloReply{state_.handler.name(), state_.info};
}

Answer<AddressReply> Session::on(const Alloc& m) {
  if (auto ok = room(owned_.size(), "allocations"); !ok) return tl::unexpected(ok.error());
  if (m.bytes == 0) return refuse(Code::kInvalidValue, "an allocation of 0 bytes");
  Answer<std::uint64_t> address = state_.handler.alloc(m.bytes);
  if (!address) return tl::unexpected(address.error());
  owned_[*address] = {m.bytes, 0};
  record(CommandKind::kAlloc, 0, *address, 0, m.bytes);
  return AddressReply{*address};
}

Answer<Empty> Session::on(const Free& m) {
  const auto found = owned_.find(m.address);
  if (found == owned_.end() || found->second.module != 0) {
    return refuse(Code::kInvalidValue, fmt::format("free of {:#x}, which is no allocation of this program", m.address));
  }
  const std::uint64_t bytes = found->second.bytes;
  owned_.erase(found);
  if (Answer<void> freed = state_.handler.free(m.address); !freed) return tl::unexpected(freed.error());
  record(CommandKind::kFree, 0, m.address, 0, bytes);
  return Empty{};
}

Answer<Empty> Session::on(const CopyMemory& m) {
  if (auto ok = check_stream(m.stream); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_range(m.destination, m.bytes, "copy destination"); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_range(m.source, m.bytes, "copy source"); !ok) return tl::unexpected(ok.error());
  if (m.bytes > 0) {
    if (auto ok = state_.handler.copy(m.destination, m.source, m.bytes); !ok) return tl::unexpected(ok.error());
  }
  record(CommandKind::kCopy, m.stream, m.destination, m.source, m.bytes);
  return Empty{};
}

Answer<Empty> Session::on(const FillMemory& m) {
  if (m.width != 1 && m.width != 2 && m.width != 4) {
    return refuse(Code::kInvalidValue, fmt::format("fill width {} is none of 1, 2, 4", m.width));
  }
  if (m.count > (std::uint64_t{1} << 48)) return refuse(Code::kInvalidValue, "fill of more than 2^48 elements");
  if (m.address % m.width != 0) return refuse(Code::kInvalidValue, "fill address is not aligned to its width");
  if (auto ok = check_stream(m.stream); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_range(m.address, m.count * m.width, "fill"); !ok) return tl::unexpected(ok.error());
  if (m.count > 0) {
    if (auto ok = state_.handler.fill(m.address, m.pattern, m.width, m.count); !ok) return tl::unexpected(ok.error());
  }
  tick();
  if (state_.recorder.records(id_)) {
    Recorder::Step step;
    step.record = {CommandKind::kFill, m.stream, m.address, 0, m.count * m.width, 0};
    step.pattern = m.pattern;
    step.width = m.width;
    state_.recorder.add(std::move(step));
  }
  return Empty{};
}

Answer<PointerInfoReply> Session::on(const PointerInfo& m) {
  for (const auto* ranges : {&owned_, &granted_}) {
    if (!covers(*ranges, m.address, 1)) continue;
    const auto& [base, range] = *std::prev(ranges->upper_bound(m.address));
    return PointerInfoReply{true, base, range.bytes};
  }
  return PointerInfoReply{};
}

Answer<MemoryInfoReply> Session::on(const MemoryInfo&) { return state_.handler.memory(); }

Answer<HandleReply> Session::load(std::span<const std::byte> image) {
  if (auto ok = room(modules_.size(), "modules"); !ok) return tl::unexpected(ok.error());
  const std::string hash = sha256_hex({reinterpret_cast<const char*>(image.data()), image.size()});
  if (restrict_modules_ && !allowed_modules_.contains(hash)) {
    const std::string why =
        "device code that is not part of the compiled artifact; code made or unpacked at run time is not judged";
    if (state_.recorder.records(id_)) state_.recorder.add_refusal({std::string(kForeignModule), why});
    return refuse(Code::kNotPermitted, why, std::string(kForeignModule));
  }
  Answer<std::uint32_t> module = state_.handler.load_module(image);
  if (!module) return tl::unexpected(module.error());
  const std::uint32_t handle = state_.next_handle++;
  state_.modules[handle] = {id_, *module, hash};
  modules_.push_back(handle);
  return HandleReply{handle};
}

Answer<Empty> Session::on(const UnloadModule& m) {
  auto module = own_module(m.module);
  if (!module) return tl::unexpected(module.error());
  state_.handler.unload_module((*module)->device_module);
  state_.modules.erase(m.module);
  std::erase(modules_, m.module);
  std::erase_if(state_.kernels, [&](const auto& item) { return item.second.module == m.module; });
  std::erase_if(kernel_names_, [&](const auto& item) { return item.first.first == m.module; });
  std::erase_if(owned_, [&](const auto& item) { return item.second.module == m.module; });
  return Empty{};
}

Answer<DeviceState::Module*> Session::own_module(std::uint32_t module) {
  const auto found = state_.modules.find(module);
  if (found == state_.modules.end() || found->second.owner != id_) {
    return refuse(Code::kInvalidResourceHandle, fmt::format("module {} does not exist", module));
  }
  return &found->second;
}

Answer<DeviceState::Kernel*> Session::own_kernel(std::uint32_t kernel) {
  const auto found = state_.kernels.find(kernel);
  if (found == state_.kernels.end() || state_.modules.at(found->second.module).owner != id_) {
    return refuse(Code::kInvalidResourceHandle, fmt::format("kernel {} does not exist", kernel));
  }
  return &found->second;
}

Answer<KernelReply> Session::on(const GetKernel& m) {
  auto module = own_module(m.module);
  if (!module) return tl::unexpected(module.error());
  if (const auto known = kernel_names_.find({m.module, m.name}); known != kernel_names_.end()) {
    const DeviceState::Kernel& kernel = state_.kernels.at(known->second);
    return KernelReply{known->second, kernel.info, kernel.limits.max_dynamic_shared};
  }
  if (auto ok = room(kernel_names_.size(), "kernels"); !ok) return tl::unexpected(ok.error());
  Answer<KernelInfo> info = state_.handler.kernel((*module)->device_module, m.name);
  if (!info) return tl::unexpected(info.error());
  const std::uint32_t handle = state_.next_handle++;
  const KernelLimits limits = default_limits(state_.info, *info);
  state_.kernels[handle] = {m.module, *info, limits};
  kernel_names_[{m.module, m.name}] = handle;
  return KernelReply{handle, std::move(*info), limits.max_dynamic_shared};
}

Answer<GlobalInfo> Session::on(const GetGlobal& m) {
  auto module = own_module(m.module);
  if (!module) return tl::unexpected(module.error());
  Answer<GlobalInfo> global = state_.handler.global((*module)->device_module, m.name);
  if (global) owned_[global->address] = {global->bytes, m.module};
  return global;
}

Answer<Empty> Session::on(const SetKernelAttribute& m) {
  auto kernel = own_kernel(m.kernel);
  if (!kernel) return tl::unexpected(kernel.error());
  KernelLimits& limits = (*kernel)->limits;
  const std::uint32_t whole = attribute(state_.info, Attr::kMaxSharedOptin);
  switch (m.attribute) {
    case KernelAttribute::kMaxDynamicShared:
      if (m.value < 0 || static_cast<std::uint64_t>(m.value) + (*kernel)->info.static_shared > whole) {
        return refuse(
            Code::kInvalidValue,
            fmt::format("{} bytes of dynamic shared memory for kernel '{}', which has {} static ones; the device "
                        "allows {} in all",
                        m.value, (*kernel)->info.name, (*kernel)->info.static_shared, whole));
      }
      limits.max_dynamic_shared = static_cast<std::uint32_t>(m.value);
      break;
    case KernelAttribute::kSharedCarveout:  // a preference only
      if (m.value < -1 || m.value > 100) {
        return refuse(Code::kInvalidValue, fmt::format("shared memory carve-out {} is none of -1..100", m.value));
      }
      break;
    case KernelAttribute::kNonPortableCluster: limits.non_portable_cluster = m.value != 0; break;
    case KernelAttribute::kClusterScheduling: break;  // a preference only
  }
  const std::uint32_t module = state_.modules.at((*kernel)->module).device_module;
  Answer<void> set = state_.handler.set_kernel_attribute(module, (*kernel)->info.name, m.attribute, m.value);
  if (!set) return tl::unexpected(set.error());
  return Empty{};
}

Answer<Empty> Session::on(const Launch& m) {
  if (auto ok = check_stream(m.stream); !ok) return tl::unexpected(ok.error());
  auto kernel = own_kernel(m.kernel);
  if (!kernel) return tl::unexpected(kernel.error());
  if (state_.recorder.records(id_) && state_.recorder.full()) {
    return refuse(Code::kLaunchOutOfResources, fmt::format("more than {} commands in one run", Recorder::kMaxSteps));
  }
  Recorder::Step step;
  step.record.stream = m.stream;
  step.kernel = m.kernel;
  step.geometry = m.geometry;
  step.data = m.params;
  if (auto ok = state_.launch(id_, **kernel, std::move(step), &printf_output_); !ok) {
    return tl::unexpected(ok.error());
  }
  if (printf_output_.size() > kMaxPrintf) printf_output_.resize(kMaxPrintf);
  // A host learns of a trap by its next call, as with CUDA. The judge's own kernels have no next call that would tell.
  if (control_ && state_.sticky != Code::kSuccess) return refuse(state_.sticky, state_.sticky_message);
  return Empty{};
}

Answer<OccupancyReply> Session::on(const Occupancy& m) {
  auto kernel = own_kernel(m.kernel);
  if (!kernel) return tl::unexpected(kernel.error());
  const std::uint32_t module = state_.modules.at((*kernel)->module).device_module;
  if (auto known = state_.handler.occupancy(module, (*kernel)->info.name, m.geometry)) return std::move(*known);
  return OccupancyReply{blocks_per_multiprocessor(state_.info, (*kernel)->info, m.geometry),
                        clusters_per_device(state_.info, (*kernel)->info, m.geometry)};
}

Answer<HandleReply> Session::on(const StreamCreate&) {
  if (auto ok = room(streams_.size(), "streams"); !ok) return tl::unexpected(ok.error());
  const std::uint32_t handle = state_.next_handle++;
  streams_.insert(handle);
  return HandleReply{handle};
}

Answer<Empty> Session::on(const StreamDestroy& m) {
  if (streams_.erase(m.stream) == 0) {
    return refuse(Code::kInvalidResourceHandle, fmt::format("stream {} does not exist", m.stream));
  }
  return Empty{};
}

Answer<HandleReply> Session::on(const EventCreate&) {
  if (auto ok = room(events_.size(), "events"); !ok) return tl::unexpected(ok.error());
  const std::uint32_t handle = state_.next_handle++;
  events_[handle] = std::nullopt;
  return HandleReply{handle};
}

Answer<Empty> Session::on(const EventDestroy& m) {
  if (events_.erase(m.event) == 0) {
    return refuse(Code::kInvalidResourceHandle, fmt::format("event {} does not exist", m.event));
  }
  return Empty{};
}

Answer<Empty> Session::on(const EventRecord& m) {
  if (auto ok = check_stream(m.stream); !ok) return tl::unexpected(ok.error());
  const auto event = events_.find(m.event);
  if (event == events_.end()) {
    return refuse(Code::kInvalidResourceHandle, fmt::format("event {} does not exist", m.event));
  }
  tick();
  event->second = state_.logical_ns;
  return Empty{};
}

Answer<EventElapsedReply> Session::on(const EventElapsed& m) {
  const auto start = events_.find(m.start), end = events_.find(m.end);
  if (start == events_.end() || end == events_.end() || !start->second || !end->second) {
    return refuse(Code::kInvalidResourceHandle, "elapsed time of an event that does not exist or was not recorded");
  }
  const double difference = static_cast<double>(*end->second) - static_cast<double>(*start->second);
  return EventElapsedReply{static_cast<float>(difference / 1e6)};
}

Answer<SynchronizeReply> Session::on(const Synchronize&) { return SynchronizeReply{std::move(printf_output_)}; }

Answer<TensorMapReply> Session::on(const EncodeTiled& m) {
  auto map = state_.handler.encode_tiled(m.map);
  if (!map) return tl::unexpected(map.error());
  return TensorMapReply{*map};
}

Answer<DeviceInfo> Session::on(const GetDeviceInfo&) { return state_.info; }

Answer<Empty> Session::on(const Refuse& m) {
  if (state_.recorder.records(id_)) {
    Refusal refusal = m.refusal;
    refusal.call.resize(std::min<std::size_t>(refusal.call.size(), 128));
    refusal.why.resize(std::min<std::size_t>(refusal.why.size(), 512));
    state_.recorder.add_refusal(std::move(refusal));
  }
  return Empty{};
}

Answer<SharedBlock> Session::on(const AllocShared& m) {
  if (m.bytes == 0) return refuse(Code::kInvalidValue, "an allocation of 0 bytes");
  Answer<SharedBlock> block = state_.handler.alloc_shared(m.bytes);
  if (block) owned_[block->address] = {m.bytes, 0};
  return block;
}

Answer<AddressReply> Session::on(const OpenShared& m) {
  Answer<std::uint64_t> address = state_.handler.open_shared(m.handle, m.bytes);
  if (!address) return tl::unexpected(address.error());
  opened_.insert(*address);
  return AddressReply{*address};
}

Answer<Empty> Session::on(const CloseShared& m) {
  if (opened_.erase(m.address) == 0) {
    return refuse(Code::kInvalidValue, fmt::format("{:#x} is no opened block of another process", m.address));
  }
  if (Answer<void> closed = state_.handler.close_shared(m.address); !closed) return tl::unexpected(closed.error());
  return Empty{};
}

Answer<PrepareBaselineReply> Session::on(const PrepareBaseline& m) {
  return state_.handler.prepare_baseline(m.problem);
}

Answer<MeasureReport> Session::on(const RunBaseline& m) {
  if (m.mode == ReplayMode::kCount) {
    return refuse(Code::kNotSupported, "instruction counts of a vendor library's kernels", "RunBaseline(kCount)");
  }
  return state_.handler.run_baseline(m.handle, m.plan, {m.mode, m.flush_bytes, state_.limits.deadline});
}

Answer<Telemetry> Session::on(const GetTelemetry&) { return state_.handler.telemetry(); }

Answer<void> Session::step(const InlineWrite& m, BatchReply&) {
  if (m.bytes.empty()) return {};
  return state_.handler.write(m.address, std::as_bytes(std::span(m.bytes)));
}

Answer<void> Session::step(const InlineRead& m, BatchReply& reply) {
  std::string& to = reply.reads.emplace_back(m.bytes, '\0');  // a place that stays until the end of the batch
  if (m.bytes == 0) return {};
  return state_.handler.read(m.address, std::as_writable_bytes(std::span(to)));
}

template <class Request>
Answer<void> Session::step(const Request& m, BatchReply&) {
  if (Answer<Empty> done = on(m); !done) return tl::unexpected(std::move(done).error());
  return {};
}

// For the control connection, which may use all memory.
Answer<BatchReply> Session::on(const Batch& m) {
  std::uint64_t read_bytes = 0;
  for (const BatchCommand& command : m.commands)
    if (const auto* read = std::get_if<InlineRead>(&command)) read_bytes += read->bytes;
  if (read_bytes > Batch::kMostReadBytes) {
    return refuse(Code::kInvalidValue, fmt::format("a batch that reads {} bytes; at most {}, ReadMemory takes more",
                                                   read_bytes, Batch::kMostReadBytes));
  }
  BatchReply reply;
  if (m.commands.empty()) return reply;
  reply.reads.reserve(m.commands.size());  // the device fills them later: they must not move
  state_.handler.begin_batch();
  Answer<void> ok;
  for (std::size_t i = 0; i < m.commands.size() && ok; ++i)
    ok = std::visit([&](const auto& command) { return step(command, reply); }, m.commands[i]);
  // Also after a refusal: what was started reads and writes memory of this batch.
  Answer<void> ended = state_.handler.end_batch();
  if (!ok) return tl::unexpected(std::move(ok).error());
  if (!ended) return tl::unexpected(std::move(ended).error());
  return reply;
}

Answer<void> Session::before_write(const WriteMemory& m) const {
  if (auto ok = check_stream(m.stream); !ok) return ok;
  return check_range(m.address, m.bytes, "copy to the device");
}

void Session::after_write(const WriteMemory& m, std::span<const std::byte> bytes) {
  tick();
  if (state_.recorder.records(id_)) state_.recorder.add_host_write(m.address, m.stream, bytes);
}

Answer<void> Session::before_read(const ReadMemory& m) const {
  if (auto ok = check_stream(m.stream); !ok) return ok;
  return check_range(m.address, m.bytes, "copy from the device");
}

void Session::after_read(const ReadMemory& m) { record(CommandKind::kHostRead, m.stream, 0, m.address, m.bytes); }

}  // namespace ptxbench::wire
