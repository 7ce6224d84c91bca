// What differs between the providers: where a request goes, what it looks like, and what their events and errors mean.
// Stateless; one object per provider.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/agent/model/client.h"

namespace ptxbench::agent {

using Json = nlohmann::ordered_json;

// How something ended that is no answer.
struct Failure {
  Outcome outcome = Outcome::kServerError;
  std::string detail;
  std::optional<double> retry_after_s;  // where the provider says it in the body
};

// What a stream has brought so far.
struct StreamState {
  std::string text, reasoning_text;
  std::string finish_reason, served_model, request_id;
  std::string note;  // the provider's explanation of a refusal or filter
  Usage usage;
  std::optional<double> provider_cost_usd;
  std::optional<Outcome> ending;   // kAnswer, kTruncated, kRefusal, ...: the provider has said how the answer ended
  std::optional<Failure> failure;  // an error event inside the stream
  bool end_mark = false;           // the protocol's last event was seen
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual std::string url(const ModelConfig& config) const = 0;
  virtual std::vector<std::string> headers(const ModelConfig& config, std::string_view key) const = 0;
  virtual Json body(const ModelConfig& config, const std::vector<Message>& messages) const = 0;
  // One event's JSON object, or a whole answer from a server that does not stream. What is not known, or not of the
  // type it should be, is passed over: providers add fields at any time.
  virtual void on_event(const Json& event, StreamState& state) const = 0;
  // An error object, from an answer with that status or from an event (status 0: the object says it).
  virtual Failure on_error(int status, const Json& error) const = 0;
};

const Protocol& openai_protocol();
const Protocol& anthropic_protocol();
const Protocol& gemini_protocol();

// ---- shared by the three ----

// What the words of an error message say, in any provider's phrasing.
bool says_context_overflow(std::string_view message);
bool says_content_filter(std::string_view message);
bool says_no_money(std::string_view message);
// By HTTP status and message alone.
Outcome outcome_of_error(int status, std::string_view message);

// Reading JSON that others wrote: absent, null and wrong type are all "not there".
std::string text_at(const Json& object, const char* key);
std::optional<std::int64_t> count_at(const Json& object, const char* key);
const Json& object_at(const Json& object, const char* key);  // an empty object when not there

template <class T>
void put(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

}  // namespace ptxbench::agent
