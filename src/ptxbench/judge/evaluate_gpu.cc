#include "ptxbench/judge/evaluate_gpu.h"

#include <fmt/format.h>

#include <future>
#include <new>

#include "ptxbench/base/file.h"
#include "ptxbench/judge/candidate_session.h"
#include "ptxbench/judge/compare.h"
#include "ptxbench/judge/draft.h"
#include "ptxbench/judge/gpu_evidence.h"
#include "ptxbench/judge/quarantine.h"
#include "ptxbench/judge/timed_calls.h"
#include "ptxbench/judge/tool_runs.h"
#include "ptxbench/judge/turn.h"
#include "ptxbench/toolchain/build.h"

namespace ptxbench::judge {
namespace {

using schema::VerdictStatus;
using Clock = std::chrono::steady_clock;

constexpr char kCounter[] = "CUPTI SASS metrics";
constexpr char kNoBytes[] = "a GPU counts instructions, not the bytes that they move";

class GpuEvaluation {
 public:
  GpuEvaluation(GpuStation& station, Draft& draft)
      : station_(station), draft_(draft), request_(draft.request()), cpu_(request_.threads) {}
  // What the evaluation placed in the trusted process goes; that one lives on.
  ~GpuEvaluation();
  Status run();

 private:
  Status open();
  bool run_once(const RunPlan& plan, int run);
  Status place_inputs(const RunPlan& plan, int run);
  Result<RunOutcome> execute(const RunPlan& plan, int run);
  Result<bool> compare(const RunPlan& plan, int run);
  Status count();
  void time();
  void take_times(TimedCallsOutcome outcome);
  std::vector<OutputShape> output_shapes() const;
  // The CPU is the oracle that the trusted kernels are tested against, where it is fast enough.
  bool on_cpu() { return draft_.fields().emulator_sized; }
  InputSet inputs_of(const RunPlan& plan, int run) const {
    return make_inputs(draft_.problem(), plan, draft_.seed(), run, request_.threads);
  }
  Result<std::vector<HostTensor>> tool_inputs(const RunPlan& first_plan);
  void look_after_a_hang();
  void infrastructure(const Error& error) { draft_.end(VerdictStatus::kInfraError, error.message); }

  GpuStation& station_;
  Draft& draft_;
  const EvaluateRequest& request_;
  CpuWorkbench cpu_;
  InputSet inputs_;  // on_cpu(): of the run that is under way
  TrustedDevice* trusted_ = nullptr;
  std::optional<CandidateSession> session_;
  std::optional<DeviceLink> link_;
  std::future<Result<Baseline>> preparing_;
  std::optional<Baseline> baseline_;
};

GpuEvaluation::~GpuEvaluation() {
  if (preparing_.valid()) {
    if (Result<Baseline> unused = preparing_.get()) baseline_ = std::move(*unused);
  }
  if (baseline_) baseline_->close();
  if (link_) link_->close();
}

Status GpuEvaluation::open() {
  PTXBENCH_TRY(DeviceProcess device, station_.candidate_device(request_.another_follows));
  PTXBENCH_TRY(trusted_, station_.trusted());
  RunRequest request = request_.run;
  request.artifact = request_.build.library;
  request.arguments = draft_.arguments({});
  PTXBENCH_TRY(session_, CandidateSession::open(std::move(device), std::move(request)));
  if (auto state = session_->device().call(wire::GetTelemetry{}))
    draft_.fields().versions.push_back({"driver", state->driver_version});
  PTXBENCH_TRY(link_, DeviceLink::open(*session_, *trusted_->process));
  // The libraries take a while to load; they do it beside the candidate's first run.
  if (!DeviceWorkbench::can_draw(draft_.problem())) return {};
  std::vector<std::uint64_t> bytes;
  for (const PlacedTensor& tensor : session_->tensors())
    if (!tensor.output) bytes.push_back(tensor.bytes);
  preparing_ = std::async(
      std::launch::async,
      [this, blocks = link_->input_blocks(), bytes = std::move(bytes), shapes = output_shapes()]() -> Result<Baseline> {
        PTXBENCH_TRY(DeviceProcess * libraries, station_.libraries());
        return Baseline::prepare(*libraries, draft_.problem(), blocks, bytes, shapes);
      });
  return {};
}

// Into the candidate's tensors, with poison in its outputs.
Status GpuEvaluation::place_inputs(const RunPlan& plan, int run) {
  if (on_cpu()) {
    inputs_ = inputs_of(plan, run);
    PTXBENCH_TRY_STATUS(session_->write_inputs(inputs_.tensors));
    return session_->poison_outputs();
  }
  if (DeviceWorkbench::can_draw(draft_.problem()))
    PTXBENCH_TRY_STATUS(trusted_->bench->draw_inputs(draft_.problem(), plan, link_->inputs(), draft_.seed(), run));
  else
    PTXBENCH_TRY_STATUS(link_->upload(inputs_of(plan, run)));
  PTXBENCH_TRY_STATUS(link_->publish());
  return session_->device().carry_out(link_->take_in());
}

Result<RunOutcome> GpuEvaluation::execute(const RunPlan& plan, int run) {
  if (run == 0) return session_->run();
  Result<wire::RunReply> reply = session_->replay({wire::ReplayMode::kCheck, plan.schedule, 0, {}, {}});
  RunOutcome outcome;
  outcome.sandbox = draft_.fields().sandbox;
  if (!reply && reply.error().kind == ErrorKind::kTimeout) {
    outcome.end = HostEnd::kDeviceTimeout;
    return outcome;
  }
  if (!reply) return fail(std::move(reply).error());
  outcome.launches = std::move(reply->launches);
  outcome.sticky_error = reply->sticky_code;
  outcome.sticky_message = std::move(reply->sticky_message);
  return outcome;
}

std::vector<OutputShape> GpuEvaluation::output_shapes() const {
  std::vector<OutputShape> shapes;
  for (const schema::TensorSpec& spec : request_.definition.outputs)
    shapes.push_back({spec.name, spec.dtype, schema::extents(spec, draft_.axes())});
  return shapes;
}

Result<bool> GpuEvaluation::compare(const RunPlan& plan, int run) {
  const Problem& problem = draft_.problem();
  if (on_cpu() || request_.keep_outputs) {
    PTXBENCH_TRY(const auto bytes, session_->read_outputs());
    if (request_.keep_outputs) request_.keep_outputs(run, bytes);
    if (on_cpu()) {
      std::vector<RunOutput> outputs;
      for (OutputShape& shape : output_shapes()) outputs.push_back({std::move(shape), bytes[outputs.size()]});
      PTXBENCH_TRY(auto families, cpu_.compare(problem, plan, inputs_, outputs, run));
      return draft_.take_families(std::move(families));
    }
  }
  PTXBENCH_TRY_STATUS(session_->device().carry_out(link_->hand_out()));
  PTXBENCH_TRY(auto families, trusted_->bench->compare_placed(
                                  problem, plan, [&] { return inputs_of(plan, run); }, link_->inputs(), output_shapes(),
                                  link_->outputs(), run));
  return draft_.take_families(std::move(families));
}

// False when the evaluation ends with this run.
bool GpuEvaluation::run_once(const RunPlan& plan, int run) {
  if (const Status placed = draft_.phase("inputs", [&] { return place_inputs(plan, run); }); !placed) {
    infrastructure(placed.error());
    return false;
  }
  const Clock::time_point start = Clock::now();
  const Result<RunOutcome> outcome =
      draft_.phase(run == 0 ? "first run" : "replays", [&] { return execute(plan, run); });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!outcome) {
    infrastructure(outcome.error());
    return false;
  }
  // A GPU has one order of its own; the emulator's schedules do not exist there.
  if (!draft_.take_run(*outcome, "hardware", seconds)) {
    look_after_a_hang();
    return false;
  }
  const Result<bool> good = draft_.phase("comparison", [&] { return compare(plan, run); });
  if (!good) infrastructure(good.error());
  return good && *good;
}

// After a TIMEOUT: did the candidate hang, or is the device ill?
void GpuEvaluation::look_after_a_hang() {
  if (draft_.fields().status != VerdictStatus::kTimeout) return;
  session_.reset();
  const Result<Finished> health = ask_device_program(station_.gpu(), {"--health"});
  if (health && health->exit.ok()) return;
  const std::string why = health ? health->err.bytes + " (it " + health->exit.describe() + ")" : health.error().message;
  quarantine(station_.card(), why);
  draft_.fields().correct.state = schema::LayerState::kNotReached;
  draft_.fields().correct.failure.reset();
  draft_.end(VerdictStatus::kInfraError,
             "after the candidate's kernel did not end, the GPU failed its health check and is quarantined: " + why);
}

Status GpuEvaluation::count() {
  PTXBENCH_TRY_STATUS(session_->poison_outputs());
  Result<wire::RunReply> reply = session_->replay({wire::ReplayMode::kCount, wire::Schedule::kLatest, 0, {}, {}});
  if (!reply) return draft_.void_executed(kCounter, reply.error().message), Status();
  if (!reply->void_reason.empty()) return draft_.void_executed(kCounter, reply->void_reason), Status();
  const auto listing = toolchain::sass_listing(request_.build.artifact);
  if (!listing) return draft_.void_executed(kCounter, listing.error().message), Status();
  if (const Status joined = join_disassembly(*listing, reply->launches); !joined)
    return draft_.void_executed(kCounter, joined.error().message), Status();
  PTXBENCH_TRY_STATUS(draft_.judge_executed({reply->launches}, {kCounter, kNoBytes}));
  return {};
}

constexpr char kMethod[] =
    "CUPTI kernel times, first start to last end; {} warm-ups and {} calls, each with fresh inputs, poisoned outputs "
    "and a "
    "flushed L2, in turns with the baseline on the same inputs; medians";

// The third layer. Whatever keeps it from being measured makes it void, with the reason.
void GpuEvaluation::time() {
  schema::FastLayer& fast = draft_.fields().fast;
  if (!DeviceWorkbench::can_draw(draft_.problem())) {
    fast.state = schema::LayerState::kNotMeasured;
    fast.message = "not measured: inputs whose rows are no whole blocks of 8 elements are not drawn on a GPU";
    return;
  }
  const auto give_up = [&](std::string reason) {
    schema::FastLayer layer;
    layer.void_reasons = {std::move(reason)};
    draft_.void_fast(std::move(layer));
  };
  Result<Baseline> prepared = preparing_.get();
  if (!prepared) return give_up("the baseline could not be prepared: " + prepared.error().message);
  baseline_ = std::move(*prepared);
  TimedCallsOrder order{draft_.problem(), output_shapes(), draft_.seed(), request_.rules};
  Result<TimedCallsOutcome> outcome =
      time_calls(order, *session_, *link_, *trusted_->process, *trusted_->bench, *baseline_);
  if (!outcome) return give_up(outcome.error().message);
  take_times(std::move(*outcome));
}

void GpuEvaluation::take_times(TimedCallsOutcome outcome) {
  if (outcome.hung || outcome.fault) {
    RunOutcome run;
    run.sandbox = draft_.fields().sandbox;
    if (outcome.hung) run.end = HostEnd::kDeviceTimeout;
    if (outcome.fault) {
      run.launches = std::move(outcome.fault->launches);
      run.sticky_error = outcome.fault->sticky_code;
      run.sticky_message = std::move(outcome.fault->sticky_message);
    }
    draft_.take_back();
    draft_.take_run(run, "timed call", 0);
    return look_after_a_hang();
  }
  if (outcome.wrong) {
    outcome.wrong->run = static_cast<int>(draft_.fields().correct.runs.size());
    draft_.fields().correct.runs.push_back({"timed call", 0, static_cast<int>(outcome.data.kernels.size())});
    draft_.take_back();
    draft_.take_families({std::move(*outcome.wrong)});
    return;
  }
  const schema::ExecutedLayer& executed = draft_.fields().executed;
  outcome.data.required_flops = executed.required_flops;
  outcome.data.compulsory_bytes = executed.compulsory_bytes;
  for (const PlacedTensor& tensor : session_->tensors())
    if (!tensor.output) outcome.data.input_bytes += tensor.bytes;
  schema::FastLayer layer = judge_times(outcome.data);
  layer.method = fmt::format(kMethod, kWarmUps, kTimedCalls);
  if (layer.state == schema::LayerState::kVoid) return draft_.void_fast(std::move(layer));
  draft_.fields().fast = std::move(layer);
}

// For a run under a tool: where inputs are drawn on the GPU, those of the last run.
Result<std::vector<HostTensor>> GpuEvaluation::tool_inputs(const RunPlan& first_plan) {
  if (on_cpu() || !link_) return inputs_of(first_plan, 0).tensors;
  return link_->download();
}

Status GpuEvaluation::run() {
  PTXBENCH_TRY(const std::vector<RunPlan> plans,
               plan_runs(draft_.problem(), request_.definition.extension->families, draft_.seed()));
  if (!draft_.accept_build()) return {};
  ToolRuns tools(draft_, station_.gpu());
  if (const Status opened = draft_.phase("device", [&] { return open(); }); !opened)
    return infrastructure(opened.error()), Status();
  for (std::size_t run = 0; run < plans.size(); ++run) {
    draft_.say(fmt::format("run {} of {}", run + 1, plans.size()));
    if (!run_once(plans[run], static_cast<int>(run))) break;
  }
  draft_.finish_correct(plans.size());
  if (!draft_.ended()) {
    draft_.say("counting");
    PTXBENCH_TRY_STATUS(draft_.phase("counting", [&] { return count(); }));
  }
  tools.run([&] { return tool_inputs(plans[0]); });
  if (draft_.ended()) return {};
  draft_.say("timing");
  draft_.phase("timing", [&] { time(); });
  if (session_) session_->close();
  return {};
}

}  // namespace

Result<schema::Verdict> evaluate_on_gpu(const EvaluateRequest& request, GpuStation& station) {
  PTXBENCH_TRY(const UniqueFd turn, take_turn(station.card(), [&] {
                 if (request.progress) request.progress("waiting for another evaluation on this GPU");
               }));
  PTXBENCH_TRY_STATUS(check_quarantine(station.card()));
  PTXBENCH_TRY(Draft draft, Draft::create(request, "gpu: " + station.name()));
  try {
    PTXBENCH_TRY_STATUS(GpuEvaluation(station, draft).run());
    return draft.finish();
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(request));
  }
}

}  // namespace ptxbench::judge
