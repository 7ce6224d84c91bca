#include "ptxbench/judge/gpu_station.h"

#include <fmt/format.h>

#include "ptxbench/base/file.h"
#include "ptxbench/wire/device_environment.h"

namespace ptxbench::judge {
namespace {

constexpr std::chrono::seconds kToolLimit{20};

Result<TrustedDevice> start_trusted(const DeviceProgram& gpu) {
  PTXBENCH_TRY(const std::filesystem::path file, locate_trusted_kernels());
  PTXBENCH_TRY(const std::string image, read_file(file));
  PTXBENCH_TRY(DeviceProcess process, DeviceProcess::start(gpu));
  TrustedDevice trusted;
  trusted.process = std::make_unique<DeviceProcess>(std::move(process));
  PTXBENCH_TRY(trusted.bench, DeviceWorkbench::create(trusted.process->client(), std::as_bytes(std::span(image))));
  return trusted;
}

}  // namespace

Result<Finished> ask_device_program(const DeviceProgram& gpu, const char* option) {
  Command command;
  command.argv = {gpu.program.string(), option};
  command.argv.insert(command.argv.end(), gpu.arguments.begin(), gpu.arguments.end());
  command.environment = gpu.environment;
  command.stdout_to = command.stderr_to = OutputTo::capture(16 << 10);
  return run(command, kToolLimit);
}

Result<DeviceProgram> gpu_program(int number) {
  DeviceProgram gpu;
  auto program = find_companion("ptxbench-device-gpu");
  if (!program)
    return fail(ErrorKind::kUnavailable, "this build has no GPU device process (ptxbench-device-gpu)",
                "build all programs, or use --device emu, the emulated GPU");
  gpu.program = std::move(*program);
  gpu.arguments = {"--device", std::to_string(number)};
  gpu.environment = wire::device_environment();
  return gpu;
}

Result<DeviceProgram> find_gpu(int number) {
  PTXBENCH_TRY(DeviceProgram gpu, gpu_program(number));
  PTXBENCH_TRY(const Finished probe, ask_device_program(gpu, "--probe"));
  if (probe.exit.ok()) return gpu;
  Error error{
      ErrorKind::kUnavailable, "--device gpu: no GPU can be used here", "use --device emu, the emulated GPU", {}, {}};
  error.notes = {probe.out.bytes + probe.err.bytes};
  return fail(std::move(error));
}

GpuStation::GpuStation(DeviceProgram gpu) : gpu_(std::move(gpu)) {
  pool_.prepare(gpu_);
  starting_ = std::async(std::launch::async, [this] { return start_trusted(gpu_); });
}

GpuStation::~GpuStation() {
  if (starting_.valid()) starting_.wait();
}

Status GpuStation::ready() {
  Result<DeviceProcess> device = pool_.take(gpu_);
  if (device) {
    first_ = std::move(*device);
    return {};
  }
  // The probe knows more than a process that did not start.
  const Result<Finished> probe = ask_device_program(gpu_, "--probe");
  Error error{
      ErrorKind::kUnavailable, "--device gpu: no GPU can be used here", "use --device emu, the emulated GPU", {}, {}};
  error.notes = {probe && !probe->exit.ok() ? probe->out.bytes + probe->err.bytes : device.error().message};
  return fail(std::move(error));
}

Status GpuStation::fits(std::string_view target) const {
  const std::uint32_t wanted = target == "blackwell" ? 10 : 9;
  const wire::DeviceInfo& info = first_->hello().info;
  if (info.compute_major == wanted) return {};
  return fail(ErrorKind::kUnsupported,
              fmt::format("target {} is for GPUs of compute capability {}.0; '{}' has {}.{}", target, wanted, info.name,
                          info.compute_major, info.compute_minor),
              "use --device emu, or another --target");
}

Result<DeviceProcess> GpuStation::candidate_device(bool another) {
  if (first_) {
    if (another) pool_.prepare(gpu_);
    DeviceProcess device = std::move(*first_);
    first_.reset();
    return device;
  }
  Result<DeviceProcess> device = pool_.take(gpu_);
  if (another) pool_.prepare(gpu_);
  return device;
}

Result<TrustedDevice*> GpuStation::trusted() {
  if (starting_.valid()) {
    PTXBENCH_TRY(TrustedDevice started, starting_.get());
    trusted_ = std::make_unique<TrustedDevice>(std::move(started));
  }
  if (trusted_ == nullptr || trusted_->process->broken()) {
    trusted_.reset();
    PTXBENCH_TRY(TrustedDevice started, start_trusted(gpu_));
    trusted_ = std::make_unique<TrustedDevice>(std::move(started));
  }
  return trusted_.get();
}

}  // namespace ptxbench::judge
