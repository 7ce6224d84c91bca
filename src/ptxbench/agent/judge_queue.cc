#include "ptxbench/agent/judge_queue.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptxbench::agent {
namespace {

using Clock = std::chrono::steady_clock;
using schema::VerdictStatus;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool is_sickness(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kTimeout ||
         error.kind == ErrorKind::kProtocol;
}

// The emulator says that it lacks an instruction: no other attempt can help.
bool is_limit_of_device(const schema::Verdict& verdict) {
  const auto& failure = verdict->correct.failure;
  return failure && failure->trap && failure->trap->kind == "unsupported_instruction";
}

tl::unexpected<Error> stopped() { return fail(ErrorKind::kUnavailable, "interrupted while waiting for a device"); }

}  // namespace

bool JudgeQueue::take_slot(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  waiting_.push_back(ticket);
  const bool mine =
      changed_.wait(lock, stop, [&] { return given_up_ || (waiting_.front() == ticket && free_ > 0 && !paused_); });
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), ticket));
  changed_.notify_all();  // the next one is at the front now
  if (!mine || given_up_) return false;
  --free_;
  return true;
}

void JudgeQueue::give_slot() {
  const std::lock_guard lock(mutex_);
  ++free_;
  changed_.notify_all();
}

Status JudgeQueue::probe(std::unique_lock<std::mutex>& lock, const std::string& why, std::stop_token stop) {
  const Clock::time_point start = Clock::now();
  std::string last = why;
  for (auto wait = patience_.first_wait;; wait = std::min(2 * wait, patience_.longest_wait)) {
    changed_.wait_for(lock, stop, wait, [] { return false; });
    if (stop.stop_requested()) return stopped();
    lock.unlock();
    const Status health = evaluator_.check_health();
    lock.lock();
    if (health) return {};
    last = health.error().message;
    if (Clock::now() - start < patience_.total) continue;
    given_up_ = Error{ErrorKind::kTimeout,
                      fmt::format("the evaluator has been ill for {:.0f} s: {}", seconds_since(start), last),
                      "mend it, then go on with ptxbench run --resume",
                      {},
                      {}};
    return fail(*given_up_);
  }
}

Status JudgeQueue::recover(const std::string& why, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (paused_) {
    if (!changed_.wait(lock, stop, [&] { return !paused_; })) return stopped();
    if (given_up_) return fail(*given_up_);
    return {};
  }
  if (given_up_) return fail(*given_up_);
  paused_ = true;
  if (said_) said_(why);
  Status status = probe(lock, why, stop);
  paused_ = false;
  if (said_ && status) said_("");
  changed_.notify_all();
  return status;
}

Result<Judged> JudgeQueue::judge(const EvaluationRequest& request, std::stop_token stop) {
  const Clock::time_point start = Clock::now();
  if (!take_slot(stop)) {
    const std::lock_guard lock(mutex_);
    if (given_up_) return fail(*given_up_);
    return stopped();
  }
  struct Slot {
    JudgeQueue& queue;
    ~Slot() { queue.give_slot(); }
  } slot{*this};
  for (int attempt = 1;; ++attempt) {
    const Clock::time_point begin = Clock::now();
    Result<schema::Verdict> verdict = evaluator_.evaluate(request);
    const bool last = attempt >= patience_.attempts_per_kernel;
    if (!verdict && (last || !is_sickness(verdict.error()))) return fail(std::move(verdict).error());
    const bool infrastructure = verdict && verdict->status() == VerdictStatus::kInfraError;
    if (verdict && (!infrastructure || is_limit_of_device(*verdict) || last)) {
      const double judged = seconds_since(begin);
      return Judged{std::move(*verdict), seconds_since(start) - judged, judged};
    }
    PTXBENCH_TRY_STATUS(recover(verdict ? (*verdict)->message : verdict.error().message, stop));
  }
}

}  // namespace ptxbench::agent
