#include "ptxbench/agent/replay.h"

#include <fmt/format.h>

#include <atomic>
#include <nlohmann/json.hpp>

namespace ptxbench::agent {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (content.is_array())
    for (const Json& part : content)
      if (part.is_object() && part.contains("text") && part["text"].is_string())
        text += part["text"].get<std::string>();
  return text;
}

std::optional<std::int64_t> count(const Json& usage, const char* name) {
  const auto found = usage.find(name);
  if (found == usage.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

ModelReply reply_of(const Json& message) {
  ModelReply reply;
  reply.text = text_of(message.value("content", Json()));
  reply.outcome = reply.text.empty() ? Outcome::kEmpty : Outcome::kAnswer;
  reply.finish_reason = "recorded";
  const Json extra = message.value("extra", Json::object());
  if (!extra.is_object()) return reply;
  if (const auto found = extra.find("outcome"); found != extra.end() && found->is_string())
    if (const auto outcome = outcome_from_text(found->get<std::string>()); outcome && is_turn(*outcome))
      reply.outcome = *outcome;
  if (const auto found = extra.find("reasoning"); found != extra.end() && found->is_string())
    reply.reasoning_text = found->get<std::string>();
  if (const auto usage = extra.find("usage"); usage != extra.end() && usage->is_object())
    reply.usage = {count(*usage, "input"), count(*usage, "cached_input"), count(*usage, "cache_write"),
                   count(*usage, "output"), count(*usage, "reasoning")};
  if (const auto cost = extra.find("cost"); cost != extra.end() && cost->is_number())
    reply.cost_usd = cost->get<double>();
  return reply;
}

class ReplayClient : public ModelClient {
 public:
  ReplayClient(Recording recording, std::size_t first) : recording_(std::move(recording)), next_(first) {}

  ModelReply complete(const ModelRequest&) override {
    const std::size_t at = next_++;
    if (at < recording_.answers.size()) return recording_.answers[at];
    ModelReply none;
    none.outcome = Outcome::kRefusedRequest;
    none.detail =
        fmt::format("the recording has {} answers and was asked for number {}", recording_.answers.size(), at + 1);
    return none;
  }

 private:
  const Recording recording_;
  std::atomic<std::size_t> next_;
};

}  // namespace

Result<Recording> read_recording(std::string_view text, const std::string& file_name) {
  const Json json = Json::parse(text, nullptr, false);
  const auto messages = json.is_object() ? json.find("messages") : json.end();
  if (messages == json.end() || !messages->is_array())
    return fail(Error{ErrorKind::kInvalidInput,
                      "expected a trajectory: a JSON object with an array \"messages\"",
                      "give a <id>.traj.json of a run folder",
                      {file_name, 0, 0},
                      {}});
  Recording recording;
  if (const auto info = json.find("info"); info != json.end() && info->is_object())
    if (const auto label = info->find("recording"); label != info->end() && label->is_string())
      recording.label = label->get<std::string>();
  for (const Json& message : *messages)
    if (message.is_object() && message.value("role", Json()) == "assistant")
      recording.answers.push_back(reply_of(message));
  if (recording.answers.empty())
    return fail(Error{ErrorKind::kInvalidInput,
                      "the trajectory has no message of the role \"assistant\"",
                      "",
                      {file_name, 0, 0},
                      {}});
  return recording;
}

std::unique_ptr<ModelClient> make_replay_client(Recording recording, std::size_t first) {
  return std::make_unique<ReplayClient>(std::move(recording), first);
}

std::string replay_path(const std::string& model_name) {
  constexpr std::string_view kPrefix = "replay:";
  return model_name.starts_with(kPrefix) ? model_name.substr(kPrefix.size()) : "";
}

}  // namespace ptxbench::agent
