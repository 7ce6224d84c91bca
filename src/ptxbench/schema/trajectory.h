// What an experiment's run folder holds (docs/agent.md): the plan (run.json, record ptxbench.run.v1) and, for every
// trajectory, an append-only log of events (events.jsonl, ptxbench.events.v1). The log is the truth; every other file of a
// trajectory is made from it. Reports read a folder through load_run() (run_folder.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::schema {

inline constexpr std::string_view kRunSchema = "ptxbench.run.v1";
inline constexpr std::string_view kEventsSchema = "ptxbench.events.v1";

// ---- The plan ------------------------------------------------------------------------------------------------------

// What the model is shown of its earlier turns.
enum class ContextPolicy {
  kFull,        // system, task, every answer with its feedback
  kLatestPair,  // system, task, the last answer with its feedback
  kSingleUser,  // system, then all the rest in one user message
};
std::string_view to_string(ContextPolicy policy);  // "full", "latest-pair", "single-user"
std::optional<ContextPolicy> context_policy_from(std::string_view text);

// The experiment with every default filled in.
struct ExperimentRecord {
  std::string name;
  std::vector<std::string> tasks, targets, models, packs;
  int trajectories = 1;  // of each combination
  int turns = 8;
  std::optional<double> target_speedup;  // a trajectory ends when it is reached; none: when a kernel passes
  ContextPolicy context = ContextPolicy::kFull;
  RuleSet rules = RuleSet::kStrict;
  std::string workload;                // "emu", "full", "all" or a UUID
  std::string device;                  // "emu", "gpu", "gpu:N"; in an experiment's file also "auto"
  std::optional<double> max_cost_usd;  // of the whole run
};

struct ModelRecord {
  std::string name;  // as the experiment names it
  std::string api, model;
  std::string settings_sha256;  // of everything that decides what is sent
  bool recording = false;       // the answers come from a recorded trajectory: says nothing about a model
};

struct PackRecord {
  std::string target, level, sha256;
  std::optional<int> tokens;
};

struct TrajectoryPlan {
  std::string id;  // "001"; its folder is trajectories/<id>
  std::string task, target, model, pack;
  int repeat = 1;                          // which of the combination's equal trajectories, from 1
  std::string judged_task;                 // the definition that is judged: an emulator sibling, or task itself
  std::vector<std::string> workloads;      // UUIDs; judged in this order up to the first that does not pass
  std::string system_sha256, task_sha256;  // of the first two messages: prompts/<sha256>.txt
  bool operator==(const TrajectoryPlan&) const = default;
};

struct RunManifest {
  ExperimentRecord experiment;
  std::vector<ModelRecord> models;
  std::vector<PackRecord> packs;
  std::vector<ToolVersion> versions;
  std::uint64_t seed = 0;  // the judge's: the inputs of every turn follow from it. Never shown to a model
  std::string created;     // UTC, ISO 8601
  std::vector<TrajectoryPlan> trajectories;
};

std::string to_json(const RunManifest& manifest);
Result<RunManifest> run_manifest_from_json(std::string_view text, std::string file_name = "run.json");

// ---- The events ----------------------------------------------------------------------------------------------------
// `at` is UTC, ISO 8601 with milliseconds. Turns count from 1.

// First line of every log.
struct StartEvent {
  std::string id;
  std::string at;
};

// On disk before anything is sent. A request without a reply was in flight when the process died: it is repeated, and
// what it may have cost is counted.
struct RequestEvent {
  int turn = 0;
  std::string messages_sha256;  // over roles and texts
  int messages = 0;
  std::int64_t bytes = 0;                   // of the messages' texts
  std::optional<double> possible_cost_usd;  // upper bound; none: the model has no prices
  std::string at;
};

struct TokenUsage {
  std::optional<std::int64_t> input, cached_input, cache_write, output, reasoning;  // agent/model/client.h
};

// On disk as soon as the reply is complete.
struct ReplyEvent {
  int turn = 0;
  std::string outcome;   // "answer", "truncated", "refusal", ... (agent/model/client.h)
  bool is_turn = false;  // false: the model never answered (no connection, ...), and the turn is still to be had
  std::string detail;    // why, in words; empty for "answer"
  std::string text, reasoning_text, finish_reason, served_model;
  TokenUsage usage;
  std::optional<double> cost_usd;
  bool cost_is_lower_bound = false;
  int attempts = 1;
  double seconds = 0;
  std::optional<double> first_token_seconds;
  std::string at;
};

// What became of the answer: the kernel that was found in it, what the judge said, what the model was told.
struct JudgedEvent {
  int turn = 0;
  std::string extraction;             // what was taken from the answer, or what was missing, in words
  std::optional<std::string> source;  // the kernel; none: the answer held none
  std::string source_sha256;          // empty without a source
  int version = 0;                    // counts the trajectory's kernels from 1; 0 without a source
  std::vector<Verdict> verdicts;      // one per workload, up to the first that did not pass; empty without a source
  std::string feedback;               // shown to the model before its next turn
  double wait_seconds = 0;            // for a free device
  double judge_seconds = 0;
  std::string at;
};

// The trajectory is not over: `ptxbench run --resume` goes on.
struct SuspendEvent {
  std::string reason;  // "interrupted", "budget", "model", "evaluator"
  std::string detail;
  std::string at;
};

enum class FinishReason {
  kTargetReached,
  kTurnsUsed,
  kContextOverflow,  // the messages no longer fit the model
  kError,            // this trajectory cannot go on: FinishEvent::detail
};
std::string_view to_string(FinishReason reason);  // "target_reached", "turns_used", "context_overflow", "error"
std::optional<FinishReason> finish_reason_from(std::string_view text);

struct FinishEvent {
  FinishReason reason = FinishReason::kError;
  std::string detail;
  std::string at;
};

using Event = std::variant<StartEvent, RequestEvent, ReplyEvent, JudgedEvent, SuspendEvent, FinishEvent>;

std::string to_json(const Event& event);  // one line, without the newline
Result<Event> event_from_json(std::string_view text, const std::string& file_name = "event", int line = 0);

// ---- A trajectory, put together from its events --------------------------------------------------------------------

struct Turn {
  int number = 0;
  ReplyEvent reply;
  JudgedEvent judged;

  // "NO_KERNEL", or the status of the last verdict: "PASSED" when every workload passed.
  std::string_view result() const;
  bool passed() const { return result() == "PASSED"; }
  // The smallest over the workloads; none unless all were timed.
  std::optional<double> speedup() const;
};

struct Trajectory {
  TrajectoryPlan plan;
  std::vector<Turn> turns;                  // complete ones
  std::optional<ReplyEvent> open_reply;     // answered and not judged yet
  std::optional<SuspendEvent> suspended;    // the last event, when it is one
  std::optional<FinishEvent> finish;        // none: not over
  std::vector<RequestEvent> lost_requests;  // in flight when a process died
  int failed_requests = 0;                  // answered by an error instead of a turn
  double cost_usd = 0;                      // of all replies whose cost is known
  int unpriced_replies = 0;                 // replies whose cost is not known
  double possible_cost_usd = 0;             // of lost requests, at most
  bool cost_is_lower_bound = false;
};

// Events in file order. A log that breaks the order (a reply nobody asked for, a turn twice) is refused by line.
Result<Trajectory> assemble(const TrajectoryPlan& plan, std::vector<Event> events,
                            const std::string& file_name = "events.jsonl");

}  // namespace ptxbench::schema
