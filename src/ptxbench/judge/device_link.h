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

  // Addresses in the trusted process, in the definition's order. The inputs are blocks of its own that a further process of
  // the judge's may map (input_blocks()); the candidate's never does.
  const std::vector<std::uint64_t>& inputs() const { return inputs_; }
  const std::vector<wire::SharedBlock>& input_blocks() const { return input_blocks_; }
  const std::vector<std::uint64_t>& outputs() const { return outputs_; }

  // From this process into the trusted one's inputs, and back.
  Status upload(const InputSet& inputs);
  Result<std::vector<HostTensor>> download();

  // Three steps that bring the trusted process's inputs into the candidate's tensors, and the candidate's outputs to
  // outputs(). What one process reads, the other one must have finished: publish() waits; take_in() and hand_out() are
  // commands for the candidate's process, to be carried out before and after its kernels.
  Status publish();
  std::vector<wire::BatchCommand> take_in() const;  // and poison in the outputs
  std::vector<wire::BatchCommand> hand_out() const;

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
  std::vector<wire::SharedBlock> input_blocks_;
  std::vector<Passage> in_, out_;
};

}  // namespace ptxbench::judge
