#include "ptxbench/agent/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ptxbench/agent/event_writer.h"
#include "ptxbench/agent/export.h"
#include "ptxbench/agent/extract.h"
#include "ptxbench/agent/feedback.h"
#include "ptxbench/agent/prompt.h"
#include "ptxbench/base/hash.h"
#include "ptxbench/schema/run_folder.h"

namespace ptxbench::agent {
namespace {

using schema::FinishReason;
using schema::Trajectory;

schema::ReplyEvent reply_event(int turn, const ModelReply& reply) {
  schema::ReplyEvent event;
  event.turn = turn;
  event.outcome = to_string(reply.outcome);
  event.is_turn = is_turn(reply.outcome);
  event.detail = reply.detail;
  event.text = reply.text;
  event.reasoning_text = reply.reasoning_text;
  event.finish_reason = reply.finish_reason;
  event.served_model = reply.served_model;
  event.usage = {reply.usage.input, reply.usage.cached_input, reply.usage.cache_write, reply.usage.output,
                 reply.usage.reasoning};
  event.cost_usd = reply.cost_usd;
  event.cost_is_lower_bound = reply.cost_is_lower_bound;
  event.attempts = std::max(1, static_cast<int>(reply.attempts.size()));
  event.seconds = reply.timings.total_s;
  event.first_token_seconds = reply.timings.first_token_s;
  event.at = utc_now();
  return event;
}

class Loop {
 public:
  Loop(const LoopShared& shared, const schema::TrajectoryPlan& plan)
      : shared_(shared), experiment_(shared.plan.manifest.experiment), plan_(plan) {}

  Status run() {
    PTXBENCH_TRY_STATUS(open());
    while (!state_.finish && !suspended_) PTXBENCH_TRY_STATUS(step());
    // From the log and nothing else, so that a resumed trajectory exports what an undisturbed one does.
    PTXBENCH_TRY_STATUS(read_log());
    return export_trajectory(shared_.folder, shared_.plan.manifest, state_);
  }

 private:
  int turn() const { return static_cast<int>(state_.turns.size()) + 1; }
  void say(Progress::Step step, std::string text, double seconds = 0) {
    if (shared_.observer) shared_.observer({step, &plan_, turn(), std::move(text), seconds});
  }

  Status open() {
    const std::filesystem::path folder = schema::trajectory_folder(shared_.folder, plan_.id);
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed)
      return fail(ErrorKind::kUnavailable, fmt::format("cannot create '{}': {}", folder.string(), failed.message()));
    PTXBENCH_TRY_STATUS(read_log());
    if (state_.finish) return {};
    PTXBENCH_TRY(EventWriter writer, EventWriter::open(folder / "events.jsonl", log_bytes_));
    writer_.emplace(std::move(writer));
    if (log_bytes_ == 0) PTXBENCH_TRY_STATUS(writer_->append(schema::StartEvent{plan_.id, utc_now()}));
    PTXBENCH_TRY(system_, schema::load_prompt(shared_.folder, plan_.system_sha256));
    PTXBENCH_TRY(task_, schema::load_prompt(shared_.folder, plan_.task_sha256));
    const std::size_t answers = state_.turns.size() + (state_.open_reply ? 1 : 0);
    auto client = shared_.client(plan_, answers);
    if (!client) return suspend("model", client.error().format());
    client_ = std::move(*client);
    return {};
  }

  Status read_log() {
    const std::filesystem::path file = schema::trajectory_folder(shared_.folder, plan_.id) / "events.jsonl";
    PTXBENCH_TRY(schema::EventLog log, schema::read_events(file));
    PTXBENCH_TRY(state_, schema::assemble(plan_, std::move(log.events), file.string()));
    log_bytes_ = log.whole_bytes;
    return {};
  }

  // The next thing to do, given what the log holds.
  Status step() {
    if (!state_.open_reply && !state_.turns.empty() && target_reached())
      return finish(FinishReason::kTargetReached, "");
    if (!state_.open_reply && turn() > experiment_.turns) return finish(FinishReason::kTurnsUsed, "");
    if (state_.open_reply && state_.open_reply->outcome == to_string(Outcome::kContextOverflow))
      return finish(FinishReason::kContextOverflow, state_.open_reply->detail);
    if (shared_.stop.stop_requested()) return suspend("interrupted", "");
    return state_.open_reply ? judge() : ask();
  }

  bool target_reached() const {
    const schema::Turn& last = state_.turns.back();
    if (!last.passed()) return false;
    return !experiment_.target_speedup || last.speedup().value_or(0) >= *experiment_.target_speedup;
  }

  Status ask() {
    const ModelConfig& config = shared_.plan.model(plan_.model).config;
    ModelRequest request{messages_for(system_, task_, state_.turns, experiment_.context), shared_.give_up};
    const std::size_t bytes = bytes_of(request.messages);
    const std::optional<double> bound = cost_bound(config, token_bound(bytes, request.messages.size()));
    if (shared_.budget.limited() && !bound)
      return suspend("budget", "the cost of the next request has no upper bound: see the model's prices");
    if (!shared_.budget.reserve(bound.value_or(0), shared_.stop))
      return shared_.stop.stop_requested()
                 ? suspend("interrupted", "")
                 : suspend("budget", fmt::format("{:.4f} USD are spent and the next request may cost {:.4f}",
                                                 shared_.budget.spent(), bound.value_or(0)));
    say(Progress::Step::kAsking, "");
    PTXBENCH_TRY_STATUS(writer_->append(schema::RequestEvent{turn(), hash_of(request.messages),
                                                             static_cast<int>(request.messages.size()),
                                                             static_cast<std::int64_t>(bytes), bound, utc_now()}));
    const ModelReply reply = client_->complete(request);
    const schema::ReplyEvent event = reply_event(turn(), reply);
    const Status written = writer_->append(event);
    // What is not known is taken at its highest, so that the limit holds; a request that failed was not charged unless the
    // client says so.
    const double unknown = event.is_turn || event.cost_is_lower_bound ? bound.value_or(0) : 0;
    shared_.budget.settle(bound.value_or(0), event.cost_is_lower_bound ? unknown : event.cost_usd.value_or(unknown));
    PTXBENCH_TRY_STATUS(written);
    say(Progress::Step::kAnswered, event.outcome, event.seconds);
    if (event.is_turn) {
      state_.open_reply = event;
      return {};
    }
    return suspend(reply.outcome == Outcome::kCancelled ? "interrupted" : "model",
                   fmt::format("{}: {}", event.outcome, event.detail));
  }

  EvaluationRequest request_for(const std::string& source, const std::string& workload) const {
    EvaluationRequest request;
    request.task = plan_.task;
    request.workload = workload;
    request.target = plan_.target;
    request.rules = experiment_.rules;
    request.source = source;
    request.include_folders = shared_.plan.include_folders.at({plan_.target, plan_.pack});
    request.seed = evaluation_seed(shared_.plan.manifest.seed, plan_.id, turn(), workload);
    request.key = fmt::format("{}/{}/{}/{}", shared_.plan.manifest.created, plan_.id, turn(), workload);
    return request;
  }

  // All workloads up to the first that does not pass. False: no verdict could be had; the trajectory is suspended.
  Result<bool> judge_workloads(const std::string& source, schema::JudgedEvent& event) {
    for (const std::string& workload : plan_.workloads) {
      Result<Judged> judged = shared_.queue.judge(request_for(source, workload), shared_.stop);
      if (!judged) {
        const Error& error = judged.error();
        const bool machine = error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kTimeout ||
                             error.kind == ErrorKind::kProtocol;
        if (!machine) {
          PTXBENCH_TRY_STATUS(finish(FinishReason::kError, error.format()));
        } else {
          PTXBENCH_TRY_STATUS(suspend(shared_.stop.stop_requested() ? "interrupted" : "evaluator", error.message));
        }
        return false;
      }
      event.wait_seconds += judged->wait_seconds;
      event.judge_seconds += judged->judge_seconds;
      event.verdicts.push_back(std::move(judged->verdict));
      if (event.verdicts.back().status() != schema::VerdictStatus::kPassed) break;
    }
    return true;
  }

  std::optional<double> best_speedup() const {
    std::optional<double> best;
    for (const schema::Turn& earlier : state_.turns)
      if (const auto speedup = earlier.speedup()) best = std::max(best.value_or(0), *speedup);
    return best;
  }

  int versions() const {
    int count = 0;
    for (const schema::Turn& earlier : state_.turns) count += earlier.judged.source ? 1 : 0;
    return count;
  }

  Status judge() {
    const schema::ReplyEvent& reply = *state_.open_reply;
    const Extraction extraction = extract_kernel(reply.text);
    schema::JudgedEvent event;
    event.turn = turn();
    event.extraction = extraction.report;
    if (extraction.source) {
      event.source = extraction.source;
      event.source_sha256 = sha256_hex(*extraction.source);
      event.version = versions() + 1;
      PTXBENCH_TRY(const bool judged, judge_workloads(*extraction.source, event));
      if (!judged) return {};
    }
    event.feedback = feedback({turn(), experiment_.turns, extraction, reply.outcome, reply.detail, event.verdicts,
                               experiment_.target_speedup, best_speedup()});
    event.at = utc_now();
    PTXBENCH_TRY_STATUS(writer_->append(event));
    schema::Turn done{turn(), reply, event};
    say(Progress::Step::kJudged, std::string(done.result()), event.judge_seconds);
    state_.turns.push_back(std::move(done));
    state_.open_reply.reset();
    return export_turn(shared_.folder, state_, state_.turns.back());
  }

  Status suspend(std::string reason, std::string detail) {
    state_.suspended = schema::SuspendEvent{std::move(reason), std::move(detail), utc_now()};
    suspended_ = true;
    say(Progress::Step::kSuspended,
        state_.suspended->reason + (state_.suspended->detail.empty() ? "" : ": " + state_.suspended->detail));
    return writer_->append(*state_.suspended);
  }

  Status finish(FinishReason reason, std::string detail) {
    state_.finish = schema::FinishEvent{reason, std::move(detail), utc_now()};
    say(Progress::Step::kFinished, std::string(schema::to_string(reason)));
    return writer_->append(*state_.finish);
  }

  const LoopShared& shared_;
  const schema::ExperimentRecord& experiment_;
  const schema::TrajectoryPlan& plan_;
  Trajectory state_;
  std::uint64_t log_bytes_ = 0;  // of whole lines, when the log was read
  std::optional<EventWriter> writer_;
  std::shared_ptr<ModelClient> client_;
  std::string system_, task_;
  bool suspended_ = false;
};

}  // namespace

Status run_trajectory(const LoopShared& shared, const schema::TrajectoryPlan& plan) { return Loop(shared, plan).run(); }

std::uint64_t evaluation_seed(std::uint64_t run_seed, const std::string& trajectory, int turn,
                              const std::string& workload) {
  const std::string hash = sha256_hex(fmt::format("{} {} {} {}", run_seed, trajectory, turn, workload));
  return std::strtoull(hash.substr(0, 15).c_str(), nullptr, 16);
}

}  // namespace ptxbench::agent
