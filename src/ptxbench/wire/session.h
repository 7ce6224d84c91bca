// One client's view of the device: what it owns, what it may touch, and the requests that carry no bulk data.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptxbench/wire/device_handler.h"
#include "ptxbench/wire/geometry.h"
#include "ptxbench/wire/recorder.h"

namespace ptxbench::wire {

// Shared by all sessions of one device.
struct DeviceState {
  explicit DeviceState(DeviceHandler& h) : handler(h), info(h.info()) {}

  struct Module {
    std::uint32_t owner = 0;          // client
    std::uint32_t device_module = 0;  // the handler's number
    std::string sha256;
  };
  struct Kernel {
    std::uint32_t module = 0;
    KernelInfo info;
    KernelLimits limits;
  };
  struct RunLimits {
    Schedule schedule = Schedule::kLatest;
    std::uint64_t work_limit = 0;
    std::chrono::milliseconds deadline{0}, spent{0};
  };

  DeviceHandler& handler;
  const DeviceInfo info;
  std::unordered_map<std::uint32_t, Module> modules;
  std::unordered_map<std::uint32_t, Kernel> kernels;
  std::uint32_t next_handle = 1;
  Recorder recorder;
  RunLimits limits;
  // After a trap every request of a host connection answers with this, as a CUDA context does.
  Code sticky = Code::kSuccess;
  std::string sticky_message;
  // The events' clock. Deterministic: 1 us per command, 1 ns per executed warp instruction. No measure of speed.
  std::uint64_t logical_ns = 0;

  Answer<void> launch(std::uint32_t client, const Kernel& kernel, Recorder::Step step, std::string* printf_output);
  Answer<RunReply> replay(const Replay& request);

 private:
  Answer<void> repeat(const std::vector<Recorder::Step>& steps);
  void take_trap(std::string_view kernel, std::uint32_t client, Code code, const TrapRecord& trap);
};

class Session {
 public:
  static constexpr std::size_t kMaxHandles = 65'536;  // of each kind
  static constexpr std::size_t kMaxPrintf = 1u << 20;

  Session(DeviceState& state, std::uint32_t id, bool control) : state_(state), id_(id), control_(control) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();  // frees what the client owns

  std::uint32_t id() const { return id_; }
  bool control() const { return control_; }
  bool greeted() const { return greeted_; }
  void grant(const AddClient& rights);

  // Fails with the sticky error, if there is one and this is a host connection.
  Answer<void> usable() const;
  // The range must lie in memory that this client owns or was granted. The control connection may use all memory.
  Answer<void> check_range(std::uint64_t address, std::uint64_t bytes, std::string_view what) const;

  Answer<HelloReply> on(const Hello& m);
  Answer<AddressReply> on(const Alloc& m);
  Answer<Empty> on(const Free& m);
  Answer<Empty> on(const CopyMemory& m);
  Answer<Empty> on(const FillMemory& m);
  Answer<PointerInfoReply> on(const PointerInfo& m);
  Answer<MemoryInfoReply> on(const MemoryInfo& m);
  Answer<Empty> on(const UnloadModule& m);
  Answer<KernelReply> on(const GetKernel& m);
  Answer<GlobalInfo> on(const GetGlobal& m);
  Answer<Empty> on(const SetKernelAttribute& m);
  Answer<Empty> on(const Launch& m);
  Answer<OccupancyReply> on(const Occupancy& m);
  Answer<HandleReply> on(const StreamCreate& m);
  Answer<Empty> on(const StreamDestroy& m);
  Answer<HandleReply> on(const EventCreate& m);
  Answer<Empty> on(const EventDestroy& m);
  Answer<Empty> on(const EventRecord& m);
  Answer<EventElapsedReply> on(const EventElapsed& m);
  Answer<SynchronizeReply> on(const Synchronize& m);
  Answer<TensorMapReply> on(const EncodeTiled& m);
  Answer<DeviceInfo> on(const GetDeviceInfo& m);
  Answer<Empty> on(const Refuse& m);
  // The control connection's.
  Answer<SharedBlock> on(const AllocShared& m);
  Answer<AddressReply> on(const OpenShared& m);
  Answer<Empty> on(const CloseShared& m);
  Answer<PrepareBaselineReply> on(const PrepareBaseline& m);
  Answer<MeasureReport> on(const RunBaseline& m);
  Answer<Telemetry> on(const GetTelemetry& m);
  Answer<BatchReply> on(const Batch& m);

  // Around the bulk data, which the server moves.
  Answer<void> before_write(const WriteMemory& m) const;
  void after_write(const WriteMemory& m, std::span<const std::byte> bytes);
  Answer<void> before_read(const ReadMemory& m) const;
  void after_read(const ReadMemory& m);
  Answer<HandleReply> load(std::span<const std::byte> image);

 private:
  struct Range {
    std::uint64_t bytes = 0;
    std::uint32_t module = 0;  // of a module variable; 0 otherwise
  };
  Answer<void> step(const InlineWrite& m, BatchReply& reply);
  Answer<void> step(const InlineRead& m, BatchReply& reply);
  template <class Request>
  Answer<void> step(const Request& m, BatchReply&);
  Answer<DeviceState::Module*> own_module(std::uint32_t module);
  Answer<DeviceState::Kernel*> own_kernel(std::uint32_t kernel);
  Answer<void> check_stream(std::uint32_t stream) const;
  Answer<void> room(std::size_t used, std::string_view what) const;
  void record(CommandKind kind, std::uint32_t stream, std::uint64_t address, std::uint64_t source, std::uint64_t bytes);
  void tick() { state_.logical_ns += 1000; }

  DeviceState& state_;
  const std::uint32_t id_;
  const bool control_;
  bool greeted_ = false;
  bool restrict_modules_ = false;
  std::set<std::string> allowed_modules_;
  std::map<std::uint64_t, Range> owned_;  // allocations and module variables, by address
  std::map<std::uint64_t, Range> granted_;
  std::set<std::uint64_t> opened_;  // mapped blocks of another process
  std::vector<std::uint32_t> modules_;
  std::set<std::uint32_t> streams_;
  std::map<std::uint32_t, std::optional<std::uint64_t>> events_;  // logical time of the last record
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> kernel_names_;
  std::string printf_output_;
};

}  // namespace ptxbench::wire
