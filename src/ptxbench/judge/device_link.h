// The tensors of one candidate as they pass between its device process and the trusted one, through blocks that both have
// mapped (CUDA IPC). Each side keeps what is its own: the trusted process's inputs, which references are computed from, are
// copied into the shared blocks and from there into the candidate's tensors; outputs come back the same way. So nothing
// that a candidate's kernel writes changes an input or an expected value.
#pragma once

#include <cstdint>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/judge/candidate_session.h"
#include "ptxbench/judge/inputs.h"

namespace ptxbench::judge {

class DeviceLink {
 public:
  // Makes room for the session's tensors in the trusted process. Both must outlive the link; what it allocated in them
  // goes with the processes or with close().
  static Result<DeviceLink> open(CandidateSession& candidate, DeviceProcess& trusted);
  void close();

  // Addresses in the trusted process, in the definition's order.
  const std::vector<std::uint64_t>& inputs() const { return inputs_; }
  const std::vector<std::uint64_t>& outputs() const { return outputs_; }

  // From this process into the trusted one's inputs.
  Status upload(const InputSet& inputs);
  // From the trusted process's inputs into the candidate's; the candidate's outputs are poisoned.
  Status push();
  // From the candidate's outputs to outputs().
  Status pull();

 private:
  struct Passage {
    std::uint64_t source = 0, near = 0;      // in the process that it comes from: the tensor, the shared block
    std::uint64_t far = 0, destination = 0;  // in the other one
    std::uint64_t bytes = 0;
  };
  DeviceLink(CandidateSession& candidate, DeviceProcess& trusted) : candidate_(&candidate), trusted_(&trusted) {}
  static Result<Passage> passage(DeviceProcess& from, std::uint64_t source, DeviceProcess& to,
                                 std::uint64_t destination, std::uint64_t bytes);

  CandidateSession* candidate_;
  DeviceProcess* trusted_;
  std::vector<std::uint64_t> inputs_, outputs_;
  std::vector<Passage> in_, out_;
};

}  // namespace ptxbench::judge
