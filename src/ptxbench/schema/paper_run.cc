#include "ptxbench/schema/paper_run.h"

#include <cmath>

#include "ptxbench/schema/open_json.h"

namespace ptxbench::schema {
namespace {

constexpr std::string_view kHint =
    "the layout is that of the published implementation; fetch the file again if it is damaged";

// A list of objects under `key`; `read` gets each. Absent or null: nothing.
template <class Read>
void for_each(OpenObject& parent, std::string_view key, OpenReading& reading, Read&& read) {
  const Json* list = parent.take(key);
  if (list == nullptr || list->is_null()) return;
  if (!list->is_array()) return parent.wrong(key, "a list of objects", *list);
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string path = fmt::format("{}[{}]", parent.path_of(key), i);
    if ((*list)[i].is_object()) {
      read(OpenObject((*list)[i], path, "", reading));
    } else {
      reading.error(path, fmt::format("found {}, expected an object", json_kind((*list)[i])));
    }
  }
}

// An object that may be absent or null; an invalid one then, without an error.
OpenObject maybe_object(OpenObject& parent, std::string_view key, OpenReading& reading) {
  static const Json nothing;
  const Json* found = parent.take(key);
  if (found == nullptr || found->is_null()) return {nothing, parent.path_of(key), "", reading};
  return parent.object(key);
}

std::optional<double> number(OpenObject& parent, std::string_view key) {
  const Json* found = parent.take(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (found->is_number()) {
    const double value = found->get<double>();
    if (std::isfinite(value) && value >= 0) return value;
  }
  parent.wrong(key, "a finite number, 0 or more, or null", *found);
  return std::nullopt;
}

std::optional<std::int64_t> count(OpenObject& parent, std::string_view key) {
  const Json* found = parent.take(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  return parent.integer(key);
}

// The first of the names under which providers report the same count.
std::optional<std::int64_t> first_count(OpenObject& parent, std::initializer_list<std::string_view> keys) {
  std::optional<std::int64_t> first;
  for (const std::string_view key : keys) {
    const std::optional<std::int64_t> one = count(parent, key);
    if (!first) first = one;
  }
  return first;
}

void read_usage(OpenObject usage, OpenReading& reading, PaperTurn& turn) {
  if (!usage.valid()) return;
  turn.input_tokens = first_count(usage, {"prompt_tokens", "input_tokens"});
  turn.output_tokens = first_count(usage, {"completion_tokens", "output_tokens"});
  OpenObject completion = maybe_object(usage, "completion_tokens_details", reading);
  if (completion.valid()) turn.reasoning_tokens = count(completion, "reasoning_tokens");
  OpenObject output = maybe_object(usage, "output_tokens_details", reading);
  if (output.valid() && !turn.reasoning_tokens) turn.reasoning_tokens = count(output, "thinking_tokens");
}

void read_answer(OpenObject& message, OpenReading& reading, PaperTurn& turn) {
  turn.answer = message.optional_string("content");
  turn.reasoning = message.optional_string("reasoning_content");
  OpenObject extra = maybe_object(message, "extra", reading);
  if (!extra.valid()) return;
  turn.cost_usd = number(extra, "cost");
  OpenObject response = maybe_object(extra, "response", reading);
  if (response.valid()) read_usage(maybe_object(response, "usage", reading), reading, turn);
}

PaperTrace read_trace(OpenObject trace, OpenReading& reading) {
  PaperTrace read;
  OpenObject workload = maybe_object(trace, "workload", reading);
  if (workload.valid()) read.workload = workload.optional_string("uuid");
  OpenObject evaluation = trace.object("evaluation");
  if (!evaluation.valid()) return read;
  read.status = evaluation.string("status");
  OpenObject performance = maybe_object(evaluation, "performance", reading);
  if (performance.valid()) read.speedup = number(performance, "speedup_factor");
  Json shown = {{"status", read.status}, {"workload", read.workload}};
  for (const auto& [key, value] : trace.take("evaluation")->items()) shown[key] = value;
  read.evaluation = shown.dump(-1, ' ', false, Json::error_handler_t::replace);
  return read;
}

// Returns when the feedback was given, in seconds; none where it does not say.
std::optional<double> read_feedback(OpenObject& message, OpenReading& reading, PaperTurn& turn) {
  turn.feedback = message.optional_string("content");
  OpenObject extra = maybe_object(message, "extra", reading);
  if (!extra.valid()) return std::nullopt;
  turn.event = extra.optional_string("event");
  turn.min_speedup = number(extra, "min_speedup");
  for_each(extra, "traces", reading, [&](OpenObject trace) { turn.traces.push_back(read_trace(trace, reading)); });
  return number(extra, "timestamp");
}

// The messages in their order: who may speak next follows from who spoke before.
class Conversation {
 public:
  Conversation(OpenReading& reading, PaperTrajectory& out) : reading_(reading), out_(out) {}

  void add(OpenObject message) {
    const std::string role = message.string("role");
    const bool fits = role == "exit" ? !last_.empty() : role == expected();
    if (!fits || last_ == "exit")
      reading_.error(message.path_of("role"), last_ == "exit"
                                                  ? fmt::format("found '{}' after 'exit', expected no more", role)
                                                  : fmt::format("found '{}', expected '{}'{}", role, expected(),
                                                                last_.empty() ? "" : " or 'exit'"));
    if (role == "system") out_.system = message.optional_string("content");
    if (role == "assistant") {
      open_ = {};
      read_answer(message, reading_, open_);
    }
    if (role == "user" && last_ == "assistant") {
      const std::optional<double> now = read_feedback(message, reading_, open_);
      if (now && before_ && *now >= *before_) open_.seconds = *now - *before_;
      before_ = now;
      out_.turns.push_back(std::move(open_));
    }
    if (role == "exit") {
      OpenObject extra = maybe_object(message, "extra", reading_);
      out_.exit_status = extra.valid() ? extra.optional_string("exit_status") : message.optional_string("content");
    }
    last_ = role;
  }

 private:
  std::string_view expected() const { return last_.empty() ? "system" : last_ == "user" ? "assistant" : "user"; }

  OpenReading& reading_;
  PaperTrajectory& out_;
  std::string last_;
  PaperTurn open_;
  std::optional<double> before_;
};

}  // namespace

Result<std::vector<PaperPlanItem>> paper_plan_from_json(std::string_view text, const std::string& file_name) {
  PTXBENCH_TRY(const Json json, parse_json(text, file_name));
  OpenReading reading{file_name, 0, {}, {}};
  std::vector<PaperPlanItem> plan;
  std::set<std::int64_t> seen;
  OpenObject top(json, "", "", reading);
  if (!top.valid()) reading.error("", fmt::format("found {}, expected an object", json_kind(json)));
  if (top.valid() && !json.contains("plan")) reading.error("plan", "missing, expected a list of experiments");
  for_each(top, "plan", reading, [&](OpenObject item) {
    PaperPlanItem one;
    const std::int64_t index = item.integer("exp_index").value_or(-1), turns = item.integer("num_turns").value_or(0);
    if (index < 0 || index > 1'000'000)
      reading.error(item.path_of("exp_index"), fmt::format("found {}, expected 0 or more", index));
    if (turns < 1 || turns > 1000)
      reading.error(item.path_of("num_turns"), fmt::format("found {}, expected 1 to 1000", turns));
    if (!seen.insert(index).second)
      reading.error(item.path_of("exp_index"), fmt::format("found {} twice, expected each once", index));
    one.index = static_cast<int>(index);
    one.turns = static_cast<int>(turns);
    one.prompt_tag = item.string("prompt_tag");
    one.definition = item.string("definition");
    one.test_path = item.optional_string("test_path");
    one.line = line_of(text, item.path_of("prompt_tag"));
    plan.push_back(std::move(one));
  });
  if (!reading.errors.empty()) return fail(reading_error(text, file_name, reading.errors, std::string(kHint)));
  return plan;
}

Result<PaperTrajectory> paper_trajectory_from_json(std::string_view text, const std::string& file_name) {
  PTXBENCH_TRY(const Json json, parse_json(text, file_name));
  OpenReading reading{file_name, 0, {}, {}};
  PaperTrajectory trajectory;
  OpenObject top(json, "", "", reading);
  if (!top.valid()) reading.error("", fmt::format("found {}, expected an object", json_kind(json)));
  if (top.valid()) {
    const std::string format = top.string("trajectory_format");
    if (!format.empty() && !format.starts_with("mini-swe-agent"))
      reading.error("trajectory_format", fmt::format("found '{}', expected 'mini-swe-agent-...'", format));
    OpenObject info = top.object("info");
    OpenObject config = info.valid() ? info.object("config") : info;
    OpenObject model = config.valid() ? config.object("model") : config;
    if (model.valid()) trajectory.model = model.string("model_name");
    if (!json.contains("messages")) reading.error("messages", "missing, expected a list of messages");
    Conversation conversation(reading, trajectory);
    for_each(top, "messages", reading, [&](OpenObject message) { conversation.add(std::move(message)); });
  }
  if (!reading.errors.empty()) return fail(reading_error(text, file_name, reading.errors, std::string(kHint)));
  return trajectory;
}

}  // namespace ptxbench::schema
