// The queue before the devices: trajectories wait their turn in the order in which they came, and when the evaluator is ill
// all of them wait until it is well again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "ptxbench/agent/evaluator.h"

namespace ptxbench::agent {

// How long a sick evaluator is waited for.
struct Patience {
  std::chrono::milliseconds first_wait{1'000};  // doubled each time
  std::chrono::milliseconds longest_wait{60'000};
  std::chrono::milliseconds total{600'000};  // then judge() gives up
  // A healthy evaluator that cannot judge one kernel this often: the fault goes with the kernel.
  int attempts_per_kernel = 3;
};

struct Judged {
  schema::Verdict verdict;
  double wait_seconds = 0;   // in the queue, pauses included
  double judge_seconds = 0;  // in the evaluator
};

class JudgeQueue {
 public:
  // said: told when the queue pauses (the error's text) and goes on (""); from any thread, one call at a time.
  JudgeQueue(Evaluator& evaluator, Patience patience, std::function<void(const std::string&)> said)
      : evaluator_(evaluator), patience_(patience), said_(std::move(said)), free_(evaluator.slots()) {}

  // Blocks, without using the processor, until there is a verdict. INFRA_ERROR comes back only where the evaluator is
  // healthy and the fault goes with the kernel (an instruction that the emulator does not have, or Patience's attempts).
  // Errors: kTimeout when patience is over, kUnavailable when stop was requested, others from the evaluator: those of
  // Patience's last attempt, or at once what can never be judged.
  Result<Judged> judge(const EvaluationRequest& request, std::stop_token stop);

 private:
  bool take_slot(std::stop_token stop);
  void give_slot();
  // Pauses the queue and asks for the evaluator's health until it is well; when another trajectory does that already,
  // waits for it. An Error: patience is over, or stop was requested.
  Status recover(const std::string& why, std::stop_token stop);
  Status probe(std::unique_lock<std::mutex>& lock, const std::string& why, std::stop_token stop);

  Evaluator& evaluator_;
  Patience patience_;
  std::function<void(const std::string&)> said_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  int free_;
  std::deque<std::uint64_t> waiting_;  // tickets, first come first
  std::uint64_t next_ticket_ = 0;
  bool paused_ = false;
  std::optional<Error> given_up_;  // patience is over: for every trajectory of the run
};

}  // namespace ptxbench::agent
