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
  PTXBENCH_TRY(trusted.bench, DeviceWorkbench::create(trusted.process->queue(), std::as_bytes(std::span(image))));
  return trusted;
}

// Why the device program says that this GPU cannot be used, in two lines: the problem and what to do. Nothing if it can.
std::optional<Error> why_not(const DeviceProgram& gpu) {
  const Result<Finished> answer = ask_device_program(gpu, {"--usable"});
  if (!answer) return answer.error();
  if (answer->exit.ok()) return std::nullopt;
  const std::string& said = answer->out.bytes;
  const std::size_t end = std::min(said.find('\n'), said.size());
  Error error{ErrorKind::kUnavailable, "--device gpu: ", "use --device emu, the emulated GPU", {}, {}};
  error.message += end > 0 ? said.substr(0, end) : "ptxbench-device-gpu --usable " + answer->exit.describe();
  if (const std::size_t hint = said.find_first_not_of('\n', end); hint != std::string::npos)
    error.hint = said.substr(hint, said.find_last_not_of('\n') + 1 - hint);
  if (!answer->err.bytes.empty()) error.notes = {answer->err.bytes};
  return error;
}

}  // namespace

Result<Finished> ask_device_program(const DeviceProgram& gpu, std::vector<std::string> options) {
  Command command;
  command.argv = {gpu.program.string()};
  command.argv.insert(command.argv.end(), options.begin(), options.end());
  command.argv.insert(command.argv.end(), gpu.arguments.begin(), gpu.arguments.end());
  command.environment = gpu.environment;
  command.stdout_to = command.stderr_to = OutputTo::capture(256 << 10);
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

Status usable(const DeviceProgram& gpu) {
  if (auto reason = why_not(gpu)) return fail(std::move(*reason));
  return {};
}

Result<DeviceProgram> find_gpu(int number) {
  PTXBENCH_TRY(DeviceProgram gpu, gpu_program(number));
  PTXBENCH_TRY_STATUS(usable(gpu));
  return gpu;
}

GpuStation::GpuStation(DeviceProgram gpu) : gpu_(std::move(gpu)) {
  pool_.prepare(gpu_);
  starting_ = std::async(std::launch::async, [this] { return start_trusted(gpu_); });
  starting_libraries_ = std::async(std::launch::async, [this] { return DeviceProcess::start(gpu_); });
}

GpuStation::~GpuStation() {
  if (starting_.valid()) starting_.wait();
  if (starting_libraries_.valid()) starting_libraries_.wait();
}

Status GpuStation::ready() {
  Result<DeviceProcess> device = pool_.take(gpu_);
  if (device) {
    info_ = device->hello().info;
    first_ = std::move(*device);
    return {};
  }
  // The program itself knows more than the end of its process tells.
  PTXBENCH_TRY_STATUS(usable(gpu_));
  return fail(device.error());
}

Status GpuStation::fits(std::string_view target) const {
  // Code for sm_90a or sm_100a runs on that very compute capability, not on later minor versions (10.3).
  const std::uint32_t wanted = target == "blackwell" ? 10 : 9;
  if (info_.compute_major == wanted && info_.compute_minor == 0) return {};
  return fail(ErrorKind::kUnsupported,
              fmt::format("target {} is for GPUs of compute capability {}.0; '{}' has {}.{}", target, wanted,
                          info_.name, info_.compute_major, info_.compute_minor),
              "use --device emu, or another --target");
}

std::string GpuStation::card() const {
  if (!info_.uuid.empty()) return info_.uuid;
  return "gpu-" + (gpu_.arguments.empty() ? std::string("0") : gpu_.arguments.back());
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

Result<DeviceProcess*> GpuStation::libraries() {
  if (libraries_ == nullptr || libraries_->broken()) {
    libraries_.reset();
    Result<DeviceProcess> started =
        starting_libraries_.valid() ? starting_libraries_.get() : DeviceProcess::start(gpu_);
    if (!started) return fail(std::move(started).error());
    libraries_ = std::make_unique<DeviceProcess>(std::move(*started));
  }
  return libraries_.get();
}

}  // namespace ptxbench::judge
