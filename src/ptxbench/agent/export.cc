#include "ptxbench/agent/export.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "ptxbench/schema/run_folder.h"

namespace ptxbench::agent {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// Renamed into place, so that a reader sees a whole file; not fsynced, since the log can make it again.
Status write_derived(const fs::path& file, std::string_view bytes) {
  const fs::path temporary = file.string() + ".tmp";
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (stream) fs::rename(temporary, file, failed);
  if (!stream || failed)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot write '{}'", file.string()),
                "free some disk space, then go on with ptxbench run --resume");
  return {};
}

std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string exit_status(const schema::Trajectory& trajectory) {
  if (!trajectory.finish) return trajectory.suspended ? "Suspended" : "Unfinished";
  switch (trajectory.finish->reason) {
    case schema::FinishReason::kTargetReached: return "Submitted";
    case schema::FinishReason::kTurnsUsed: return "LimitsExceeded";
    case schema::FinishReason::kContextOverflow: return "ContextWindowExceeded";
    case schema::FinishReason::kError: return "Error";
  }
  return "";
}

Json assistant(const schema::ReplyEvent& reply) {
  const schema::TokenUsage& usage = reply.usage;
  return {{"role", "assistant"},
          {"content", reply.text},
          {"extra",
           {{"turn", reply.turn},
            {"outcome", reply.outcome},
            {"detail", reply.detail},
            {"reasoning", reply.reasoning_text},
            {"finish_reason", reply.finish_reason},
            {"served_model", reply.served_model},
            {"usage",
             {{"input", optional(usage.input)},
              {"cached_input", optional(usage.cached_input)},
              {"cache_write", optional(usage.cache_write)},
              {"output", optional(usage.output)},
              {"reasoning", optional(usage.reasoning)}}},
            {"cost", optional(reply.cost_usd)},
            {"seconds", reply.seconds},
            {"timestamp", reply.at}}}};
}

Json observation(const schema::Turn& turn) {
  Json statuses = Json::array();
  for (const schema::Verdict& verdict : turn.judged.verdicts) statuses.push_back(schema::to_string(verdict.status()));
  return {{"role", "user"},
          {"content", turn.judged.feedback},
          {"extra",
           {{"turn", turn.number},
            {"event", turn.judged.source ? "evaluation" : "no_code"},
            {"result", turn.result()},
            {"statuses", statuses},
            {"all_passed", turn.passed()},
            {"min_speedup", optional(turn.speedup())},
            {"version", turn.judged.version},
            {"source_sha256", turn.judged.source_sha256},
            {"timestamp", turn.judged.at}}}};
}

// The last kernel that passed, else the last one.
std::string submission(const schema::Trajectory& trajectory) {
  std::string last, passed;
  for (const schema::Turn& turn : trajectory.turns) {
    if (turn.judged.source) last = *turn.judged.source;
    if (turn.passed()) passed = *turn.judged.source;
  }
  return passed.empty() ? last : passed;
}

bool is_recording(const schema::RunManifest& manifest, const std::string& model) {
  for (const schema::ModelRecord& record : manifest.models)
    if (record.name == model) return record.recording;
  return false;
}

Json mini_swe_agent(const schema::RunManifest& manifest, const schema::Trajectory& trajectory,
                    const std::string& system, const std::string& task) {
  const schema::TrajectoryPlan& plan = trajectory.plan;
  Json messages = Json::array();
  messages.push_back({{"role", "system"}, {"content", system}, {"extra", Json::object()}});
  messages.push_back({{"role", "user"}, {"content", task}, {"extra", Json::object()}});
  for (const schema::Turn& turn : trajectory.turns) {
    messages.push_back(assistant(turn.reply));
    messages.push_back(observation(turn));
  }
  if (trajectory.open_reply) messages.push_back(assistant(*trajectory.open_reply));
  const std::string status = exit_status(trajectory);
  const std::string kernel = submission(trajectory);
  if (trajectory.finish)
    messages.push_back(
        {{"role", "exit"},
         {"content", status},
         {"extra", {{"exit_status", status}, {"submission", kernel}, {"detail", trajectory.finish->detail}}}});
  Json info = {{"model_stats",
                {{"instance_cost", trajectory.cost_usd},
                 {"api_calls", trajectory.turns.size() + (trajectory.open_reply ? 1 : 0)}}},
               {"config",
                {{"id", plan.id},
                 {"task", plan.task},
                 {"judged_task", plan.judged_task},
                 {"target", plan.target},
                 {"model", {{"model_name", plan.model}}},
                 {"pack", plan.pack},
                 {"repeat", plan.repeat},
                 {"turns", manifest.experiment.turns},
                 {"context", schema::to_string(manifest.experiment.context)}}},
               {"exit_status", status},
               {"submission", kernel}};
  if (is_recording(manifest, plan.model)) info["recording"] = "the answers were played from " + plan.model;
  return {{"info", info}, {"messages", messages}, {"trajectory_format", "mini-swe-agent-1.1"}};
}

}  // namespace

Status export_turn(const fs::path& run, const schema::Trajectory& trajectory, const schema::Turn& turn) {
  if (!turn.judged.source) return {};
  const fs::path kernels = schema::trajectory_folder(run, trajectory.plan.id) / "kernels";
  PTXBENCH_TRY_STATUS(write_derived(kernels / fmt::format("v{}.cu", turn.judged.version), *turn.judged.source));
  std::string lines;
  for (const schema::Verdict& verdict : turn.judged.verdicts)
    lines += schema::to_json(verdict, schema::Audience::kJudge, -1) + "\n";
  return write_derived(kernels / fmt::format("v{}.verdict.jsonl", turn.judged.version), lines);
}

Status export_trajectory(const fs::path& run, const schema::RunManifest& manifest,
                         const schema::Trajectory& trajectory) {
  PTXBENCH_TRY(const std::string system, schema::load_prompt(run, trajectory.plan.system_sha256));
  PTXBENCH_TRY(const std::string task, schema::load_prompt(run, trajectory.plan.task_sha256));
  const fs::path folder = schema::trajectory_folder(run, trajectory.plan.id);
  for (const schema::Turn& turn : trajectory.turns)
    if (!fs::exists(folder / "kernels" / fmt::format("v{}.verdict.jsonl", turn.judged.version)))
      PTXBENCH_TRY_STATUS(export_turn(run, trajectory, turn));
  return write_derived(folder / (trajectory.plan.id + ".traj.json"),
                       dump(mini_swe_agent(manifest, trajectory, system, task), 1) + "\n");
}

std::string summary_json(const schema::RunManifest& manifest, const std::vector<schema::Trajectory>& trajectories) {
  Json rows = Json::array();
  int finished = 0, passed = 0, unpriced = 0, lost = 0;
  double cost = 0, possible = 0;
  for (const schema::Trajectory& trajectory : trajectories) {
    Json results = Json::array();
    bool any = false;
    std::optional<double> best;
    for (const schema::Turn& turn : trajectory.turns) {
      results.push_back(turn.result());
      any |= turn.passed();
      if (const auto speedup = turn.speedup()) best = std::max(best.value_or(0), *speedup);
    }
    finished += trajectory.finish.has_value();
    passed += any;
    cost += trajectory.cost_usd;
    possible += trajectory.possible_cost_usd;
    unpriced += trajectory.unpriced_replies;
    lost += static_cast<int>(trajectory.lost_requests.size());
    rows.push_back({{"id", trajectory.plan.id},
                    {"task", trajectory.plan.task},
                    {"target", trajectory.plan.target},
                    {"model", trajectory.plan.model},
                    {"pack", trajectory.plan.pack},
                    {"repeat", trajectory.plan.repeat},
                    {"results", results},
                    {"passed", any},
                    {"best_speedup", optional(best)},
                    {"exit_status", exit_status(trajectory)},
                    {"detail", trajectory.finish      ? trajectory.finish->detail
                               : trajectory.suspended ? trajectory.suspended->detail
                                                      : ""},
                    {"cost_usd", trajectory.cost_usd}});
  }
  const Json summary = {{"schema", "ptxbench.run_summary.v1"},
                        {"name", manifest.experiment.name},
                        {"trajectories", trajectories.size()},
                        {"finished", finished},
                        {"with_a_passing_kernel", passed},
                        {"cost_usd", cost},
                        {"replies_without_known_cost", unpriced},
                        {"lost_requests", lost},
                        {"possible_cost_of_lost_requests_usd", possible},
                        {"results", rows}};
  return dump(summary, 2) + "\n";
}

}  // namespace ptxbench::agent
