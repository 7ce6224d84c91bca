#include "ptxbench/schema/page_data.h"

#include <algorithm>

#include "ptxbench/schema/json_io.h"

namespace ptxbench::schema {
namespace {

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

int truth(const std::optional<bool>& value) { return value ? *value : -1; }

template <class T>
Json number(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// null where nothing is known of the whole column.
template <class T>
Json column(const std::vector<TurnRecord>& turns, std::optional<T> TurnRecord::*field) {
  if (std::none_of(turns.begin(), turns.end(), [&](const TurnRecord& turn) { return (turn.*field).has_value(); }))
    return nullptr;
  Json values = Json::array();
  for (const TurnRecord& turn : turns) values.push_back(number(turn.*field));
  return values;
}

}  // namespace

std::string to_page_json(const Observations& observations) {
  Json json = {{"source", observations.source}, {"notes", observations.notes}, {"statuses", Json::array()}};
  for (int status = 0; status < kTurnStatuses; ++status)
    json["statuses"].push_back(std::string(to_string(static_cast<TurnStatus>(status))));
  json["cells"] = Json::array();
  for (const Cell& cell : observations.cells) {
    const TaskTraits traits = traits_of(cell.task);
    json["cells"].push_back({{"run", cell.run},
                             {"model", cell.model},
                             {"target", cell.target},
                             {"task", cell.task},
                             {"workload", cell.workload},
                             {"language", cell.language},
                             {"date", cell.model_date},
                             {"date_kind", cell.date_kind},
                             {"recording", cell.recording},
                             {"family", traits.family},
                             {"head_dim", traits.head_dim},
                             {"heads", traits.heads}});
  }
  json["references"] = Json::array();
  for (const ReferenceDate& one : observations.references)
    json["references"].push_back({{"name", one.name}, {"kind", one.kind}, {"target", one.target}, {"date", one.date}});
  Json& trajectories = json["trajectories"] = {{"id", Json::array()},
                                               {"cell", Json::array()},
                                               {"pack", Json::array()},
                                               {"planned", Json::array()},
                                               {"open", Json::array()}};
  for (const TrajectoryInfo& info : observations.trajectories) {
    trajectories["id"].push_back(info.id);
    trajectories["cell"].push_back(info.cell);
    trajectories["pack"].push_back(info.pack);
    trajectories["planned"].push_back(info.planned_turns);
    trajectories["open"].push_back(info.open ? 1 : 0);
  }
  Json trajectory = Json::array(), turn = Json::array(), status = Json::array(), correct_paper = Json::array(),
       correct_strict = Json::array(), target_paper = Json::array(), target_strict = Json::array(),
       speedup = Json::array(), tokens = Json::array();
  for (const TurnRecord& record : observations.turns) {
    trajectory.push_back(record.trajectory);
    turn.push_back(record.turn);
    status.push_back(static_cast<int>(record.status));
    correct_paper.push_back(truth(record.correct_paper));
    correct_strict.push_back(truth(record.correct_strict));
    target_paper.push_back(truth(record.target_paper));
    target_strict.push_back(truth(record.target_strict));
    speedup.push_back(number(record.speedup));
    tokens.push_back(number(record.reasoning_tokens));
  }
  json["turns"] = {{"trajectory", std::move(trajectory)},
                   {"turn", std::move(turn)},
                   {"status", std::move(status)},
                   {"correct_paper", std::move(correct_paper)},
                   {"correct_strict", std::move(correct_strict)},
                   {"target_paper", std::move(target_paper)},
                   {"target_strict", std::move(target_strict)},
                   {"speedup", std::move(speedup)},
                   {"reasoning_tokens", std::move(tokens)},
                   {"input_tokens", column(observations.turns, &TurnRecord::input_tokens)},
                   {"output_tokens", column(observations.turns, &TurnRecord::output_tokens)},
                   {"cost_usd", column(observations.turns, &TurnRecord::cost_usd)},
                   {"seconds", column(observations.turns, &TurnRecord::seconds)}};
  return dump(json);
}

Transcript transcript_of(const Trajectory& trajectory) {
  Transcript transcript{trajectory.plan.id, {}};
  for (const Turn& turn : trajectory.turns) {
    TranscriptTurn& said = transcript.turns.emplace_back();
    said.turn = turn.number;
    said.status = turn.result();
    said.answer = turn.reply.text;
    said.reasoning = turn.reply.reasoning_text;
    said.extraction = turn.judged.extraction;
    said.source = turn.judged.source;
    for (const Verdict& verdict : turn.judged.verdicts)
      said.verdicts.push_back(to_json(verdict, Audience::kCandidate, -1));
    said.feedback = turn.judged.feedback;
  }
  return transcript;
}

std::string script_safe(std::string json) {
  // "<" occurs inside strings only, where the escape means the same.
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

}  // namespace ptxbench::schema
