#include "ptxbench/judge/device_link.h"

namespace ptxbench::judge {
Result<DeviceLink::Passage> DeviceLink::passage(DeviceProcess& from, std::uint64_t source, DeviceProcess& to,
                                                std::uint64_t destination, std::uint64_t bytes) {
  PTXBENCH_TRY(const wire::SharedBlock block, from.call(wire::AllocShared{bytes}));
  PTXBENCH_TRY(const wire::AddressReply opened, to.call(wire::OpenShared{block.handle, bytes}));
  return Passage{source, block.address, opened.address, destination, bytes};
}

Result<DeviceLink> DeviceLink::open(CandidateSession& candidate, DeviceProcess& trusted) {
  DeviceLink link(candidate, trusted);
  for (const PlacedTensor& tensor : candidate.tensors()) {
    if (tensor.output) {
      PTXBENCH_TRY(const Passage way, passage(candidate.device(), tensor.address, trusted, 0, tensor.bytes));
      link.out_.push_back(way);
      link.outputs_.push_back(way.far);
    } else {
      PTXBENCH_TRY(const wire::AddressReply own, trusted.call(wire::Alloc{tensor.bytes}));
      link.inputs_.push_back(own.address);
      PTXBENCH_TRY(link.in_.emplace_back(),
                   passage(trusted, own.address, candidate.device(), tensor.address, tensor.bytes));
    }
  }
  return link;
}

void DeviceLink::close() {
  for (const Passage& way : in_) {
    static_cast<void>(trusted_->call(wire::Free{way.near}));
    static_cast<void>(trusted_->call(wire::Free{way.source}));
  }
  for (const Passage& way : out_) static_cast<void>(trusted_->call(wire::CloseShared{way.far}));
  in_.clear();
  out_.clear();
}

Status DeviceLink::upload(const InputSet& inputs) {
  for (std::size_t i = 0; i < in_.size(); ++i)
    PTXBENCH_TRY_STATUS(trusted_->write(inputs_[i], inputs.tensors[i].bytes));
  return {};
}

Status DeviceLink::push() {
  for (const Passage& way : in_)
    PTXBENCH_TRY_STATUS(trusted_->add(wire::CopyMemory{way.near, way.source, way.bytes, 0}));
  PTXBENCH_TRY_STATUS(trusted_->flush());  // one process must have written what the other one reads
  for (const Passage& way : in_)
    PTXBENCH_TRY_STATUS(candidate_->device().add(wire::CopyMemory{way.destination, way.far, way.bytes, 0}));
  return candidate_->poison_outputs();
}

Status DeviceLink::pull() {
  for (const Passage& way : out_)
    PTXBENCH_TRY_STATUS(candidate_->device().add(wire::CopyMemory{way.near, way.source, way.bytes, 0}));
  return candidate_->device().flush();
}

}  // namespace ptxbench::judge
