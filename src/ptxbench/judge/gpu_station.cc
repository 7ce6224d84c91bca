#include "ptxbench/judge/gpu_station.h"

#include "ptxbench/base/file.h"

namespace ptxbench::judge {
namespace {

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

GpuStation::GpuStation(DeviceProgram gpu) : gpu_(std::move(gpu)) {
  pool_.prepare(gpu_);
  starting_ = std::async(std::launch::async, [this] { return start_trusted(gpu_); });
}

GpuStation::~GpuStation() {
  if (starting_.valid()) starting_.wait();
}

Result<DeviceProcess> GpuStation::candidate_device() {
  Result<DeviceProcess> device = pool_.take(gpu_);
  pool_.prepare(gpu_);
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
