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
      PTXBENCH_TRY(const wire::SharedBlock own, trusted.call(wire::AllocShared{tensor.bytes}));
      link.input_blocks_.push_back(own);
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

Result<std::vector<HostTensor>> DeviceLink::download() {
  std::vector<HostTensor> tensors;
  for (const Passage& way : in_) {
    tensors.push_back({std::vector<std::byte>(way.bytes)});
    PTXBENCH_TRY_STATUS(trusted_->read(way.source, tensors.back().bytes));
  }
  PTXBENCH_TRY_STATUS(trusted_->flush());
  return tensors;
}

Status DeviceLink::publish() {
  for (const Passage& way : in_)
    PTXBENCH_TRY_STATUS(trusted_->add(wire::CopyMemory{way.near, way.source, way.bytes, 0}));
  return trusted_->flush();
}

std::vector<wire::BatchCommand> DeviceLink::take_in() const {
  std::vector<wire::BatchCommand> commands = candidate_->poison();
  for (const Passage& way : in_) commands.emplace_back(wire::CopyMemory{way.destination, way.far, way.bytes, 0});
  return commands;
}

std::vector<wire::BatchCommand> DeviceLink::hand_out() const {
  std::vector<wire::BatchCommand> commands;
  for (const Passage& way : out_) commands.emplace_back(wire::CopyMemory{way.near, way.source, way.bytes, 0});
  return commands;
}

}  // namespace ptxbench::judge
