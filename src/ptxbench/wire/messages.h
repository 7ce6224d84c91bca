// The device protocol. A client (the judge's control connection, or a restricted host connection) sends requests; the
// device answers each in order with a reply of the same sequence number.
//
// On the stream: a 32-byte Header, `payload_bytes` of encoded message, then `bulk_bytes` of raw data that go straight
// to or from their target memory. A reply has kReplyBit set in `type`; its `code` is a CUDA runtime error number, and
// if that is not 0 the payload is a FailureReply and there is no bulk. Bytes that break these rules end the connection.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ptxbench/wire/codec.h"
#include "ptxbench/wire/records.h"

namespace ptxbench::wire {

constexpr std::uint32_t kMagic = 0x42585450;  // "PTXB"
constexpr std::uint16_t kVersion =
    3;  // 2: shared memory, times and counts of replays, baselines, telemetry; 3: batches, UUIDs
constexpr std::uint16_t kReplyBit = 0x8000;
constexpr std::uint32_t kMaxRequestPayload = 1u << 20;
constexpr std::uint32_t kMaxReplyPayload = 256u << 20;  // counters of a long run
constexpr std::uint64_t kMaxImage = std::uint64_t{256} << 20;
constexpr std::uint32_t kMaxParams = 32764;  // bytes of kernel parameters on sm_70 and newer

struct Header {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  std::uint16_t type = 0;
  std::uint64_t sequence = 0;
  std::uint32_t payload_bytes = 0;
  std::int32_t code = 0;  // replies only
  std::uint64_t bulk_bytes = 0;
};
static_assert(sizeof(Header) == 32);

// The CUDA runtime errors that the protocol itself gives (numbers of cudaError_t, CUDA 13).
enum class Code : std::int32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInitializationError = 3,
  kInvalidConfiguration = 9,
  kInvalidSymbol = 13,
  kInvalidMemcpyDirection = 21,
  kInvalidDeviceFunction = 98,
  kInvalidDevice = 101,
  kInvalidKernelImage = 200,
  kNoKernelImageForDevice = 209,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kInvalidResourceHandle = 400,
  kSymbolNotFound = 500,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kLaunchFailure = 719,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kInvalidClusterSize = 912,
  kUnknown = 999,
};

enum class MessageType : std::uint16_t {
  kHello = 1,
  // Any connection.
  kAlloc = 10,
  kFree,
  kWriteMemory,
  kReadMemory,
  kCopyMemory,
  kFillMemory,
  kPointerInfo,
  kMemoryInfo,
  kLoadModule = 30,
  kUnloadModule,
  kGetKernel,
  kGetGlobal,
  kSetKernelAttribute,
  kLaunch,
  kOccupancy,
  kStreamCreate = 50,
  kStreamDestroy,
  kEventCreate,
  kEventDestroy,
  kEventRecord,
  kEventElapsed,
  kSynchronize,
  kEncodeTiled = 70,
  kGetDeviceInfo,
  kRefuse,
  // The control connection only.
  kAddClient = 100,
  kDropClient,
  kBeginRun,
  kEndRun,
  kReplay,
  kShutdown,
  kAllocShared,
  kOpenShared,
  kCloseShared,
  kPrepareBaseline,
  kRunBaseline,
  kGetTelemetry,
  kBatch,
};

struct Empty {
  template <class V>
  void fields(V&) {}
};
struct FailureReply {
  std::string message;
  std::string call;  // what was refused, if it was a refusal
  template <class V>
  void fields(V& v) {
    v(message, call);
  }
};

// Requests and replies in one shape: Request::kType, Request::Reply, members listed in fields().
#define PTXBENCH_WIRE_FIELDS(...)      \
  template <class V>                   \
  void fields([[maybe_unused]] V& v) { \
    v(__VA_ARGS__);                    \
  }

struct HelloReply {
  std::string device;  // "device-emu"
  DeviceInfo info;
  PTXBENCH_WIRE_FIELDS(device, info)
};
struct Hello {
  static constexpr MessageType kType = MessageType::kHello;
  using Reply = HelloReply;
  std::string who;  // for messages only
  PTXBENCH_WIRE_FIELDS(who)
};

struct AddressReply {
  std::uint64_t address = 0;
  PTXBENCH_WIRE_FIELDS(address)
};
struct Alloc {
  static constexpr MessageType kType = MessageType::kAlloc;
  using Reply = AddressReply;
  std::uint64_t bytes = 0;
  PTXBENCH_WIRE_FIELDS(bytes)
};
struct Free {
  static constexpr MessageType kType = MessageType::kFree;
  using Reply = Empty;
  std::uint64_t address = 0;
  PTXBENCH_WIRE_FIELDS(address)
};
// Bulk: `bytes` bytes to the device.
struct WriteMemory {
  static constexpr MessageType kType = MessageType::kWriteMemory;
  using Reply = Empty;
  std::uint64_t address = 0, bytes = 0;
  std::uint32_t stream = 0;
  PTXBENCH_WIRE_FIELDS(address, bytes, stream)
};
// The reply's bulk: `bytes` bytes from the device.
struct ReadMemory {
  static constexpr MessageType kType = MessageType::kReadMemory;
  using Reply = Empty;
  std::uint64_t address = 0, bytes = 0;
  std::uint32_t stream = 0;
  PTXBENCH_WIRE_FIELDS(address, bytes, stream)
};
struct CopyMemory {
  static constexpr MessageType kType = MessageType::kCopyMemory;
  using Reply = Empty;
  std::uint64_t destination = 0, source = 0, bytes = 0;
  std::uint32_t stream = 0;
  PTXBENCH_WIRE_FIELDS(destination, source, bytes, stream)
};
// `count` elements of `width` (1, 2 or 4) bytes.
struct FillMemory {
  static constexpr MessageType kType = MessageType::kFillMemory;
  using Reply = Empty;
  std::uint64_t address = 0, count = 0;
  std::uint32_t pattern = 0, width = 1, stream = 0;
  PTXBENCH_WIRE_FIELDS(address, count, pattern, width, stream)
};
struct PointerInfoReply {
  bool device = false;  // false: not an address that this client may use
  std::uint64_t base = 0, bytes = 0;
  PTXBENCH_WIRE_FIELDS(device, base, bytes)
};
struct PointerInfo {
  static constexpr MessageType kType = MessageType::kPointerInfo;
  using Reply = PointerInfoReply;
  std::uint64_t address = 0;
  PTXBENCH_WIRE_FIELDS(address)
};
struct MemoryInfoReply {
  std::uint64_t free = 0, total = 0;
  PTXBENCH_WIRE_FIELDS(free, total)
};
struct MemoryInfo {
  static constexpr MessageType kType = MessageType::kMemoryInfo;
  using Reply = MemoryInfoReply;
  template <class V>
  void fields(V&) {}
};

struct HandleReply {
  std::uint32_t handle = 0;
  PTXBENCH_WIRE_FIELDS(handle)
};
// Bulk: a fat binary container or PTX text, at most kMaxImage bytes.
struct LoadModule {
  static constexpr MessageType kType = MessageType::kLoadModule;
  using Reply = HandleReply;
  std::uint64_t bytes = 0;
  PTXBENCH_WIRE_FIELDS(bytes)
};
struct UnloadModule {
  static constexpr MessageType kType = MessageType::kUnloadModule;
  using Reply = Empty;
  std::uint32_t module = 0;
  PTXBENCH_WIRE_FIELDS(module)
};
struct KernelReply {
  std::uint32_t kernel = 0;
  KernelInfo info;
  std::uint32_t max_dynamic_shared = 0;  // bytes, as SetKernelAttribute left it
  PTXBENCH_WIRE_FIELDS(kernel, info, max_dynamic_shared)
};
struct GetKernel {
  static constexpr MessageType kType = MessageType::kGetKernel;
  using Reply = KernelReply;
  std::uint32_t module = 0;
  std::string name;
  PTXBENCH_WIRE_FIELDS(module, name)
};
struct GetGlobal {
  static constexpr MessageType kType = MessageType::kGetGlobal;
  using Reply = GlobalInfo;
  std::uint32_t module = 0;
  std::string name;
  PTXBENCH_WIRE_FIELDS(module, name)
};
// Numbers of cudaFuncAttribute and CUfunction_attribute.
enum class KernelAttribute : std::uint32_t {
  kMaxDynamicShared = 8,
  kSharedCarveout = 9,
  kNonPortableCluster = 14,
  kClusterScheduling = 15,
};
constexpr bool in_range(KernelAttribute a) {
  return a == KernelAttribute::kMaxDynamicShared || a == KernelAttribute::kSharedCarveout ||
         a == KernelAttribute::kNonPortableCluster || a == KernelAttribute::kClusterScheduling;
}
struct SetKernelAttribute {
  static constexpr MessageType kType = MessageType::kSetKernelAttribute;
  using Reply = Empty;
  std::uint32_t kernel = 0;
  KernelAttribute attribute = KernelAttribute::kMaxDynamicShared;
  std::int32_t value = 0;
  PTXBENCH_WIRE_FIELDS(kernel, attribute, value)
};
struct Launch {
  static constexpr MessageType kType = MessageType::kLaunch;
  using Reply = Empty;
  std::uint32_t kernel = 0, stream = 0;
  LaunchGeometry geometry;
  std::string params;  // the kernel's parameter buffer
  PTXBENCH_WIRE_FIELDS(kernel, stream, geometry, params)
};
struct OccupancyReply {
  std::uint32_t blocks = 0;    // per multiprocessor
  std::uint32_t clusters = 0;  // on the device, if the geometry has a cluster
  PTXBENCH_WIRE_FIELDS(blocks, clusters)
};
struct Occupancy {
  static constexpr MessageType kType = MessageType::kOccupancy;
  using Reply = OccupancyReply;
  std::uint32_t kernel = 0;
  LaunchGeometry geometry;
  PTXBENCH_WIRE_FIELDS(kernel, geometry)
};

struct StreamCreate {
  static constexpr MessageType kType = MessageType::kStreamCreate;
  using Reply = HandleReply;
  template <class V>
  void fields(V&) {}
};
struct StreamDestroy {
  static constexpr MessageType kType = MessageType::kStreamDestroy;
  using Reply = Empty;
  std::uint32_t stream = 0;
  PTXBENCH_WIRE_FIELDS(stream)
};
struct EventCreate {
  static constexpr MessageType kType = MessageType::kEventCreate;
  using Reply = HandleReply;
  template <class V>
  void fields(V&) {}
};
struct EventDestroy {
  static constexpr MessageType kType = MessageType::kEventDestroy;
  using Reply = Empty;
  std::uint32_t event = 0;
  PTXBENCH_WIRE_FIELDS(event)
};
struct EventRecord {
  static constexpr MessageType kType = MessageType::kEventRecord;
  using Reply = Empty;
  std::uint32_t event = 0, stream = 0;
  PTXBENCH_WIRE_FIELDS(event, stream)
};
struct EventElapsedReply {
  float milliseconds = 0;  // of the device's logical clock, see DeviceServer
  PTXBENCH_WIRE_FIELDS(milliseconds)
};
struct EventElapsed {
  static constexpr MessageType kType = MessageType::kEventElapsed;
  using Reply = EventElapsedReply;
  std::uint32_t start = 0, end = 0;
  PTXBENCH_WIRE_FIELDS(start, end)
};
struct SynchronizeReply {
  std::string printf_output;  // of kernels since the last Synchronize
  PTXBENCH_WIRE_FIELDS(printf_output)
};
struct Synchronize {
  static constexpr MessageType kType = MessageType::kSynchronize;
  using Reply = SynchronizeReply;
  template <class V>
  void fields(V&) {}
};

struct TensorMapReply {
  std::array<std::uint8_t, 128> map{};
  PTXBENCH_WIRE_FIELDS(map)
};
struct EncodeTiled {
  static constexpr MessageType kType = MessageType::kEncodeTiled;
  using Reply = TensorMapReply;
  TiledMap map;
  PTXBENCH_WIRE_FIELDS(map)
};
struct GetDeviceInfo {
  static constexpr MessageType kType = MessageType::kGetDeviceInfo;
  using Reply = DeviceInfo;
  template <class V>
  void fields(V&) {}
};
// The shim answered a call with cudaErrorNotSupported; noted for the judge.
struct Refuse {
  static constexpr MessageType kType = MessageType::kRefuse;
  using Reply = Empty;
  Refusal refusal;
  PTXBENCH_WIRE_FIELDS(refusal)
};

struct Grant {
  std::uint64_t address = 0, bytes = 0;
  PTXBENCH_WIRE_FIELDS(address, bytes)
};
// One file descriptor travels with this message: the device's end of the new host connection.
struct AddClient {
  static constexpr MessageType kType = MessageType::kAddClient;
  using Reply = HandleReply;
  std::vector<Grant> grants;      // ranges of the control connection that the client may read and write
  bool restrict_modules = false;  // only images named below may be loaded
  std::vector<std::string> module_sha256;
  PTXBENCH_WIRE_FIELDS(grants, restrict_modules, module_sha256)
};
// Ends a host connection and frees what it owned.
struct DropClient {
  static constexpr MessageType kType = MessageType::kDropClient;
  using Reply = Empty;
  std::uint32_t client = 0;
  PTXBENCH_WIRE_FIELDS(client)
};
// From here on commands of `client` are recorded.
struct BeginRun {
  static constexpr MessageType kType = MessageType::kBeginRun;
  using Reply = Empty;
  std::uint32_t client = 0;
  Schedule schedule = Schedule::kLatest;
  std::uint64_t work_limit = 0;   // thread instructions per launch; 0: none
  std::uint32_t deadline_ms = 0;  // for all launches of the run together, counted in kernels only; 0: none
  PTXBENCH_WIRE_FIELDS(client, schedule, work_limit, deadline_ms)
};
struct RunReply {
  std::vector<CommandRecord> commands;
  std::vector<LaunchRecord> launches;
  std::vector<Refusal> refusals;
  std::vector<ApiFailure> failures;  // each reason once, at most 64
  std::int32_t sticky_code = 0;
  std::string sticky_message;
  bool client_alive = false;
  bool client_connected = false;   // it said Hello
  std::string client_fault;        // why the device ended the connection, if it did
  std::vector<CommandTime> times;  // ReplayMode::kTime, in command order
  std::uint64_t wall_ns = 0;       // ReplayMode::kTime, see MeasureReport
  std::string void_reason;         // why times or counts are missing
  PTXBENCH_WIRE_FIELDS(commands, launches, refusals, failures, sticky_code, sticky_message, client_alive,
                       client_connected, client_fault, times, wall_ns, void_reason)
};
struct EndRun {
  static constexpr MessageType kType = MessageType::kEndRun;
  using Reply = RunReply;
  template <class V>
  void fields(V&) {}
};
// Small data inside a message: commands of a Batch.
struct InlineWrite {
  std::uint64_t address = 0;
  std::string bytes;
  PTXBENCH_WIRE_FIELDS(address, bytes)
};
struct InlineRead {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  PTXBENCH_WIRE_FIELDS(address, bytes)
};
using BatchCommand = std::variant<InlineWrite, CopyMemory, FillMemory, Launch, InlineRead>;
struct BatchReply {
  std::vector<std::string> reads;  // one per InlineRead, in order
  PTXBENCH_WIRE_FIELDS(reads)
};
// Commands one behind the other. None is waited for before the next one starts; the reply comes when all are done. The
// first that is refused ends the batch, and what went before has been done.
struct Batch {
  static constexpr MessageType kType = MessageType::kBatch;
  using Reply = BatchReply;
  static constexpr std::uint64_t kMostReadBytes = std::uint64_t{64} << 20;  // of all reads together
  std::vector<BatchCommand> commands;
  PTXBENCH_WIRE_FIELDS(commands)
};
// Executes the recorded launches, fills, device copies and (kept) host writes of the last run again.
struct Replay {
  static constexpr MessageType kType = MessageType::kReplay;
  using Reply = RunReply;
  Schedule schedule = Schedule::kLatest;
  std::uint64_t work_limit = 0;
  std::uint32_t deadline_ms = 0;
  ReplayMode mode = ReplayMode::kCheck;
  std::uint64_t flush_bytes = 0;  // kTime: so many bytes are written, and persisting lines reset, to empty the L2
  // Carried out around it, not part of what is measured, without reads; `after` only if no kernel trapped.
  std::vector<BatchCommand> before, after;
  PTXBENCH_WIRE_FIELDS(schedule, work_limit, deadline_ms, mode, flush_bytes, before, after)
};
struct Shutdown {
  static constexpr MessageType kType = MessageType::kShutdown;
  using Reply = Empty;
  template <class V>
  void fields(V&) {}
};

// Memory that a second device process of the same GPU can map: rounded up to whole 2 MiB pages, so that nothing else
// lies in them. Freed by Free.
struct AllocShared {
  static constexpr MessageType kType = MessageType::kAllocShared;
  using Reply = SharedBlock;
  std::uint64_t bytes = 0;
  PTXBENCH_WIRE_FIELDS(bytes)
};
// Maps a block of another process. `bytes` as they were asked for there.
struct OpenShared {
  static constexpr MessageType kType = MessageType::kOpenShared;
  using Reply = AddressReply;
  ShareHandle handle{};
  std::uint64_t bytes = 0;
  PTXBENCH_WIRE_FIELDS(handle, bytes)
};
struct CloseShared {
  static constexpr MessageType kType = MessageType::kCloseShared;
  using Reply = Empty;
  std::uint64_t address = 0;
  PTXBENCH_WIRE_FIELDS(address)
};

// A vendor library's ways to do a task, best first by the library's own estimate.
struct PrepareBaselineReply {
  std::uint32_t handle = 0;
  std::vector<BaselinePlan> plans;
  std::vector<std::string> notes;  // why further libraries offer none
  PTXBENCH_WIRE_FIELDS(handle, plans, notes)
};
struct PrepareBaseline {
  static constexpr MessageType kType = MessageType::kPrepareBaseline;
  using Reply = PrepareBaselineReply;
  BaselineProblem problem;
  PTXBENCH_WIRE_FIELDS(problem)
};
// Runs plan number `plan` once. kCount is refused.
struct RunBaseline {
  static constexpr MessageType kType = MessageType::kRunBaseline;
  using Reply = MeasureReport;
  std::uint32_t handle = 0, plan = 0;
  ReplayMode mode = ReplayMode::kCheck;
  std::uint64_t flush_bytes = 0;
  PTXBENCH_WIRE_FIELDS(handle, plan, mode, flush_bytes)
};
struct GetTelemetry {
  static constexpr MessageType kType = MessageType::kGetTelemetry;
  using Reply = Telemetry;
  template <class V>
  void fields(V&) {}
};

}  // namespace ptxbench::wire
