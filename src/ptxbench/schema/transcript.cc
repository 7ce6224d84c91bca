#include "ptxbench/schema/transcript.h"

#include "ptxbench/schema/json_io.h"

namespace ptxbench::schema {

std::string to_json(const Transcript& transcript) {
  Json json = {{"schema", std::string(kTranscriptSchema)}, {"id", transcript.id}, {"turns", Json::array()}};
  for (const TranscriptTurn& turn : transcript.turns) {
    Json verdicts = Json::array();
    for (const std::string& verdict : turn.verdicts) verdicts.push_back(Json::parse(verdict));
    json["turns"].push_back({{"turn", turn.turn},
                             {"status", turn.status},
                             {"answer", turn.answer},
                             {"reasoning", turn.reasoning},
                             {"extraction", turn.extraction},
                             {"source", turn.source ? Json(*turn.source) : Json(nullptr)},
                             {"verdicts", std::move(verdicts)},
                             {"feedback", turn.feedback}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status check_transcript(std::string_view text, const std::string& file_name) {
  PTXBENCH_TRY(const Json json, parse_json(text, file_name));
  const auto schema = json.is_object() ? json.find("schema") : json.end();
  const bool named = json.is_object() && schema != json.end() && *schema == std::string(kTranscriptSchema);
  if (named && json.contains("turns") && json["turns"].is_array()) return {};
  return fail(reading_error(text, file_name, {fmt::format("schema: expected '{}' and turns", kTranscriptSchema)},
                            "import the data again"));
}

}  // namespace ptxbench::schema
