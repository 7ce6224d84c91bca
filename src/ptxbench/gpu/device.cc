#include "ptxbench/gpu/device.h"

#include <fmt/format.h>

#include <cstring>

#include "ptxbench/gpu/nvml.h"
#include "ptxbench/wire/geometry.h"

namespace ptxbench::gpu {
namespace {

using wire::Answer;
using wire::Code;

constexpr std::size_t kStagingBytes = 8 << 20;
constexpr std::chrono::seconds kCopyLimit{60};  // for commands that are no kernels

}  // namespace

Result<std::unique_ptr<GpuDevice>> GpuDevice::open(const DeviceOptions& options) {
  PTXBENCH_TRY(std::unique_ptr<Context> context, Context::open(options.ordinal));
  return std::unique_ptr<GpuDevice>(new GpuDevice(std::move(context), options));
}

GpuDevice::GpuDevice(std::unique_ptr<Context> context, const DeviceOptions& options)
    : context_(std::move(context)), options_(options), meter_(*context_), modules_(*context_) {}

wire::DeviceInfo GpuDevice::info() const {
  constexpr int kAttributes = 148;  // the last one of CUDA 13.0 and one more; the numbers are cudaDeviceAttr's too
  const Driver& driver = context_->driver();
  wire::DeviceInfo info;
  const Identity identity = identify(driver, context_->device());
  info.name = identity.name;
  info.uuid = identity.uuid_text();
  std::size_t total = 0;
  driver.device_total_memory(&total, context_->device());
  info.total_memory = total;
  info.attributes.assign(kAttributes, 0);
  for (int i = 1; i < kAttributes; ++i) {
    int value = 0;
    // An older driver does not know the newest; they stay 0.
    if (driver.device_attribute(&value, static_cast<CUdevice_attribute>(i), context_->device()) == CUDA_SUCCESS) {
      info.attributes[static_cast<std::size_t>(i)] = value;
    }
  }
  info.compute_major = static_cast<std::uint32_t>(info.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR]);
  info.compute_minor = static_cast<std::uint32_t>(info.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR]);
  return info;  // gpcs stay unknown: occupancy() asks the driver
}

wire::MemoryInfoReply GpuDevice::memory() const {
  std::size_t free = 0, total = 0;
  if (context_->usable()) context_->driver().memory_info(&free, &total);
  if (options_.memory_limit == 0) return {free, total};
  const std::uint64_t left = options_.memory_limit - std::min(used_, options_.memory_limit);
  return {std::min<std::uint64_t>(free, left), std::min<std::uint64_t>(total, options_.memory_limit)};
}

Answer<std::uint64_t> GpuDevice::alloc(std::uint64_t bytes) {
  if (const std::uint64_t limit = options_.memory_limit; limit != 0 && bytes > limit - std::min(used_, limit)) {
    return wire::refuse(
        Code::kMemoryAllocation,
        fmt::format("out of device memory: {} bytes were asked for, {} of the {} of this run are in use", bytes, used_,
                    limit));
  }
  Answer<std::uint64_t> address = context_->alloc(bytes);
  if (address) {
    allocated_[*address] = bytes;
    used_ += bytes;
  }
  return address;
}

Answer<void> GpuDevice::free(std::uint64_t address) {
  const auto found = allocated_.find(address);
  if (found == allocated_.end()) return wire::refuse(Code::kInvalidValue, fmt::format("no block at {:#x}", address));
  used_ -= found->second;
  allocated_.erase(found);
  return context_->free(address);
}

Answer<void> GpuDevice::finish(CUresult result, wire::CommandKind kind, std::string_view what) {
  if (result != CUDA_SUCCESS) return context_->failure(result, what);
  if (meter_.timing()) {
    commands_.push_back({kind, 0});
    return {};
  }
  if (batch_) return {};
  const Context::Wait wait = context_->wait(kCopyLimit);
  if (wait.end != Context::End::kDone) return context_->failure(wait.result, what);
  return {};
}

Answer<void> GpuDevice::write(std::uint64_t address, std::span<const std::byte> bytes) {
  if (auto ok = context_->usable(); !ok || bytes.empty()) return ok;
  const CUresult r = context_->driver().copy_to_device(address, bytes.data(), bytes.size(), context_->stream());
  return finish(r, wire::CommandKind::kHostWrite, "copy to the device");
}

Answer<void> GpuDevice::read(std::uint64_t address, std::span<std::byte> bytes) {
  if (auto ok = context_->usable(); !ok || bytes.empty()) return ok;
  const CUresult r = context_->driver().copy_to_host(bytes.data(), address, bytes.size(), context_->stream());
  return finish(r, wire::CommandKind::kHostRead, "copy from the device");
}

Answer<void> GpuDevice::copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  if (auto ok = context_->usable(); !ok || bytes == 0) return ok;
  const CUresult r = context_->driver().copy_on_device(destination, source, bytes, context_->stream());
  return finish(r, wire::CommandKind::kCopy, "copy on the device");
}

Answer<void> GpuDevice::fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::uint64_t count) {
  if (auto ok = context_->usable(); !ok || count == 0) return ok;
  const Driver& driver = context_->driver();
  CUresult r = CUDA_ERROR_INVALID_VALUE;
  switch (width) {
    case 1: r = driver.fill8(address, static_cast<unsigned char>(pattern), count, context_->stream()); break;
    case 2: r = driver.fill16(address, static_cast<unsigned short>(pattern), count, context_->stream()); break;
    case 4: r = driver.fill32(address, pattern, count, context_->stream()); break;
    default: break;
  }
  return finish(r, wire::CommandKind::kFill, "fill of device memory");
}

Answer<void> GpuDevice::end_batch() {
  batch_ = false;
  if (auto ok = context_->usable(); !ok) return ok;
  const Context::Wait wait = context_->wait(kCopyLimit);
  static_cast<void>(output_.take(0));
  if (wait.end != Context::End::kDone) return context_->failure(wait.result, "a batch of commands");
  return {};
}

std::span<std::byte> GpuDevice::staging() {
  if (staging_.empty() && context_->usable()) {
    void* memory = nullptr;
    // Without it bulk data go through ordinary memory, only slower.
    if (context_->driver().host_alloc(&memory, kStagingBytes, 0) == CUDA_SUCCESS) {
      staging_ = {static_cast<std::byte*>(memory), kStagingBytes};
    }
  }
  return staging_;
}

Answer<std::uint32_t> GpuDevice::load_module(std::span<const std::byte> image) { return modules_.load(image); }

void GpuDevice::unload_module(std::uint32_t module) { modules_.unload(module); }

Answer<wire::KernelInfo> GpuDevice::kernel(std::uint32_t module, std::string_view name) {
  Answer<const Kernel*> kernel = modules_.kernel(module, name);
  if (!kernel) return tl::unexpected(kernel.error());
  return (*kernel)->info;
}

Answer<wire::GlobalInfo> GpuDevice::global(std::uint32_t module, std::string_view name) {
  return modules_.global(module, name);
}

Answer<void> GpuDevice::set_kernel_attribute(std::uint32_t module, std::string_view name,
                                             wire::KernelAttribute attribute, std::int32_t value) {
  Answer<const Kernel*> kernel = modules_.kernel(module, name);
  if (!kernel) return tl::unexpected(kernel.error());
  // The protocol's numbers are the driver's.
  const CUresult r = context_->driver().kernel_set_attribute(static_cast<CUfunction_attribute>(attribute), value,
                                                             (*kernel)->handle, context_->device());
  if (r == CUDA_SUCCESS) return {};
  return context_->failure(r, fmt::format("attribute {} of kernel '{}'", static_cast<unsigned>(attribute), name));
}

std::optional<Answer<wire::OccupancyReply>> GpuDevice::occupancy(std::uint32_t module, std::string_view name,
                                                                 const wire::LaunchGeometry& geometry) {
  Answer<const Kernel*> kernel = modules_.kernel(module, name);
  if (!kernel) return tl::unexpected(kernel.error());
  int blocks = 0, clusters = 0;
  const CUfunction function = (*kernel)->function();
  CUresult r = context_->driver().occupancy_blocks(&blocks, function, static_cast<int>(geometry.block.count()),
                                                   geometry.dynamic_shared);
  const wire::Dim3 cluster = wire::effective_cluster((*kernel)->info, geometry);
  if (r == CUDA_SUCCESS && cluster.count() > 1) {
    wire::LaunchGeometry with = geometry;
    with.cluster = cluster;
    const LaunchSetup setup({}, with, {}, context_->stream());
    r = context_->driver().occupancy_clusters(&clusters, function, &setup.config());
  }
  if (r != CUDA_SUCCESS) return context_->failure(r, fmt::format("occupancy of kernel '{}'", name));
  return wire::OccupancyReply{static_cast<std::uint32_t>(blocks), static_cast<std::uint32_t>(clusters)};
}

Answer<std::array<std::uint8_t, 128>> GpuDevice::encode_tiled(const wire::TiledMap& map) {
  if (auto ok = context_->usable(); !ok) return tl::unexpected(ok.error());
  alignas(64) CUtensorMap encoded{};
  static_assert(sizeof encoded == 128);
  const CUresult r = context_->driver().encode_tiled(
      &encoded, static_cast<CUtensorMapDataType>(map.data_type), map.rank, reinterpret_cast<void*>(map.address),
      map.dims.data(), map.strides.data(), map.box.data(), map.element_strides.data(),
      static_cast<CUtensorMapInterleave>(map.interleave), static_cast<CUtensorMapSwizzle>(map.swizzle),
      static_cast<CUtensorMapL2promotion>(map.l2_promotion), static_cast<CUtensorMapFloatOOBfill>(map.oob_fill));
  if (r != CUDA_SUCCESS) {
    return context_->failure(
        r, fmt::format("cuTensorMapEncodeTiled(type {}, rank {}, address {:#x}, dims {} x {}, box {} x {}, swizzle {})",
                       map.data_type, map.rank, map.address, map.dims[0], map.dims[1], map.box[0], map.box[1],
                       map.swizzle));
  }
  std::array<std::uint8_t, 128> bytes;
  std::memcpy(bytes.data(), &encoded, bytes.size());
  return bytes;
}

Answer<wire::SharedBlock> GpuDevice::alloc_shared(std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 2 << 20;
  Answer<std::uint64_t> address = alloc((bytes + kPage - 1) / kPage * kPage);
  if (!address) return tl::unexpected(address.error());
  wire::SharedBlock block;
  block.address = *address;
  CUipcMemHandle handle{};
  static_assert(sizeof handle == sizeof block.handle);
  if (const CUresult r = context_->driver().ipc_get(&handle, *address); r != CUDA_SUCCESS) {
    static_cast<void>(free(*address));
    return context_->failure(r, "cuIpcGetMemHandle");
  }
  std::memcpy(block.handle.data(), &handle, sizeof handle);
  return block;
}

Answer<std::uint64_t> GpuDevice::open_shared(const wire::ShareHandle& handle, std::uint64_t) {
  if (auto ok = context_->usable(); !ok) return tl::unexpected(ok.error());
  CUipcMemHandle ipc{};
  std::memcpy(&ipc, handle.data(), sizeof ipc);
  CUdeviceptr address = 0;
  const CUresult r = context_->driver().ipc_open(&address, ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (r != CUDA_SUCCESS) return context_->failure(r, "cuIpcOpenMemHandle");
  return address;
}

Answer<void> GpuDevice::close_shared(std::uint64_t address) {
  if (!context_->usable()) return {};
  if (const CUresult r = context_->driver().ipc_close(address); r != CUDA_SUCCESS) {
    return context_->failure(r, "cuIpcCloseMemHandle");
  }
  return {};
}

Answer<wire::Telemetry> GpuDevice::telemetry() {
  Result<wire::Telemetry> read = read_telemetry(identify(context_->driver(), context_->device()));
  if (!read) return wire::refuse(Code::kNotSupported, read.error().format(), "GetTelemetry");
  int l2 = 0;
  if (context_->driver().device_attribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, context_->device()) == CUDA_SUCCESS) {
    read->l2_bytes = static_cast<std::uint64_t>(l2);
  }
  return std::move(*read);
}

}  // namespace ptxbench::gpu
