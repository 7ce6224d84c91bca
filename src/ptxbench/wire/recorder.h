// The command list of one run: what was done on the device, in order, and enough of it to do it again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptxbench/wire/messages.h"

namespace ptxbench::wire {

class Recorder {
 public:
  // Everything that replay needs beside the report's CommandRecord.
  struct Step {
    CommandRecord record;
    std::uint32_t kernel = 0;  // kLaunch: the protocol's kernel handle
    LaunchGeometry geometry;
    std::string data;  // kLaunch: parameters; kHostWrite: the bytes
    std::uint32_t pattern = 0, width = 1;
  };
  static constexpr std::size_t kMaxSteps = 200'000;
  static constexpr std::uint64_t kMaxKeptBytes = std::uint64_t{64} << 20;
  // Later launches keep family counts, but no per-instruction ones. Where the instructions are all there is (GPU), they
  // are kept up to a total.
  static constexpr std::size_t kDetailedLaunches = 16;
  static constexpr std::size_t kMaxInstructions = 1'000'000;

  void start(std::uint32_t client) {
    *this = Recorder{};
    client_ = client;
  }
  bool records(std::uint32_t client) const { return client_ == client && client_ != 0; }
  bool full() const { return steps_.size() >= kMaxSteps; }

  void add(Step step);
  // `bytes` are kept for replay unless the run has spent kMaxKeptBytes.
  void add_host_write(std::uint64_t address, std::uint32_t stream, std::span<const std::byte> bytes);
  void add_launch(Step step, LaunchRecord launch);
  // A trap of launches that were not waited for one by one: the last one gets it if all are of one kernel, whose name comes
  // back. Empty: it may have been any of several.
  std::string blame(const TrapRecord& trap);
  void add_refusal(Refusal refusal);
  void add_failure(ApiFailure failure);
  void set_sticky(std::int32_t code, std::string message) { sticky_code_ = code, sticky_message_ = std::move(message); }

  const std::vector<Step>& steps() const { return steps_; }
  // Why the list cannot be executed again; empty if it can.
  std::string replay_obstacle() const;
  RunReply report() const;

 private:
  std::uint32_t client_ = 0;
  std::vector<Step> steps_;
  std::vector<LaunchRecord> launches_;
  std::vector<Refusal> refusals_;
  std::vector<ApiFailure> failures_;
  std::uint64_t kept_bytes_ = 0;
  std::size_t kept_instructions_ = 0;
  bool writes_dropped_ = false;
  std::int32_t sticky_code_ = 0;
  std::string sticky_message_;
};

}  // namespace ptxbench::wire
