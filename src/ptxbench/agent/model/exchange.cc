#include "ptxbench/agent/model/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "ptxbench/agent/model/retry.h"
#include "ptxbench/agent/model/utf8.h"

namespace ptxbench::agent {
namespace {

constexpr std::uint64_t kMaxAnswerBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMaxErrorBytes = 64 << 10;  // kept of an error's body
constexpr std::size_t kQuoted = 300, kMaxDetail = 2000;

std::string quote(std::string_view text) {
  return fmt::format("\"{}{}\"", text.substr(0, kQuoted), text.size() > kQuoted ? "..." : "");
}

// To at most so many bytes, not in the middle of a character.
void cut(std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  text.resize(bytes);
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

// The error object in a body: {"error": {...}} (all providers), [{"error": ...}] (Gemini), {"detail"/"message": ...}.
Json error_in(std::string_view body) {
  Json json = Json::parse(body, nullptr, false);
  if (json.is_array() && !json.empty()) json = Json(json.front());
  if (!json.is_object()) return Json{{"message", std::string(body.substr(0, kMaxDetail))}};
  if (json.contains("error")) return json["error"];
  if (json.contains("detail")) return Json{{"message", json["detail"].dump()}};
  return json;
}

}  // namespace

std::uint64_t most_text_bytes(std::optional<std::int64_t> max_output_tokens) {
  constexpr std::uint64_t kBytesPerToken = 32, kLeast = std::uint64_t{1} << 20;  // most tokens have 3 to 5
  if (!max_output_tokens) return kMaxAnswerBytes;
  return std::clamp(static_cast<std::uint64_t>(*max_output_tokens) * kBytesPerToken, kLeast, kMaxAnswerBytes);
}

bool Exchange::on_head(const HttpHead& head) {
  head_ = head;
  const std::string& type = head.content_type;
  if (head.status != 200) {
    kind_ = Kind::kError;
  } else if (type == "text/event-stream" || type.empty()) {
    kind_ = Kind::kEvents;
  } else {
    kind_ = type == "application/json" ? Kind::kJson : Kind::kForeign;
  }
  return true;
}

bool Exchange::on_body(std::string_view bytes) {
  received_ += bytes.size();
  if (received_ > kMaxAnswerBytes) {
    too_large_ = true;
    return false;
  }
  switch (kind_) {
    case Kind::kEvents: sse_.feed(bytes); return malformed_.empty() && !state_.failure && !overlong_;
    case Kind::kJson: body_ += bytes; return true;
    case Kind::kForeign: body_ += bytes; return body_.size() < kQuoted;
    case Kind::kError: body_ += bytes; return body_.size() < kMaxErrorBytes;
  }
  return false;
}

void Exchange::take(const SseEvent& event) {
  if (!malformed_.empty() || state_.failure || state_.end_mark || overlong_) return;
  if (event.data == "[DONE]") {
    state_.end_mark = true;
  } else if (event.name == "error" && !Json::accept(event.data)) {
    state_.failure = Failure{Outcome::kServerError, event.data, {}};
  } else if (!take_json(event.data) && !finishing_) {
    malformed_ = fmt::format("an event is not what the protocol says: {}", quote(event.data));
  }
}

bool Exchange::take_json(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    json = Json::parse(shelter_broken_utf8(text), nullptr, false);
    sheltered_ = sheltered_ || !json.is_discarded();
  }
  if (!json.is_object()) return false;
  protocol_.on_event(json, state_);
  if (state_.text.size() + state_.reasoning_text.size() > most_text_) {
    overlong_ = true;
    cut(state_.reasoning_text, most_text_);
    cut(state_.text, most_text_ - state_.reasoning_text.size());
  }
  return true;
}

void Exchange::repair_texts() {
  if (!sheltered_) return;
  for (std::string* text : {&state_.text, &state_.reasoning_text}) {
    Repaired repaired = join_sheltered(*text);
    *text = std::move(repaired.text);
    broken_bytes_ += repaired.broken_bytes;
  }
}

Exchange::Verdict Exchange::conclude(const HttpResult& result, const Secret& secret) {
  if (kind_ == Kind::kEvents && result.end == HttpEnd::kDone) {
    finishing_ = true;  // half an event at the end is a cut stream, not a malformed one
    sse_.finish();
  }
  if (kind_ == Kind::kJson && result.end == HttpEnd::kDone && !take_json(body_))
    malformed_ = fmt::format("the answer is no JSON object: {}", quote(body_));
  repair_texts();
  Verdict verdict = verdict_of(result);
  state_.text = secret.redact(std::move(state_.text));
  state_.reasoning_text = secret.redact(std::move(state_.reasoning_text));
  for (std::string* field : {&state_.finish_reason, &state_.served_model, &state_.request_id, &head_.request_id})
    *field = join_sheltered(secret.redact_pieces(field->substr(0, 200))).text;
  verdict.detail = join_sheltered(secret.redact_pieces(verdict.detail).substr(0, kMaxDetail)).text;
  return verdict;
}

Exchange::Verdict Exchange::verdict_of(const HttpResult& result) {
  if (too_large_)
    return {Outcome::kMalformed, fmt::format("the answer is over {} MiB", kMaxAnswerBytes >> 20), Repeat::kNever, {}};
  if (overlong_)
    return {Outcome::kTruncated,
            fmt::format("the server sends more than max_output_tokens can be; cut after {} bytes", most_text_),
            Repeat::kNever,
            {}};
  if (!malformed_.empty()) return {Outcome::kMalformed, malformed_, Repeat::kCharged, {}};
  if (state_.failure) {
    const bool retry =
        state_.failure->outcome == Outcome::kServerError || state_.failure->outcome == Outcome::kRateLimited;
    const Repeat repeat = !retry ? Repeat::kNever : has_token() ? Repeat::kCharged : Repeat::kFree;
    return {state_.failure->outcome, state_.failure->detail, repeat, state_.failure->retry_after_s};
  }
  // A body that was cut after its status is still an error with that status.
  const bool answered = result.end == HttpEnd::kDone || result.end == HttpEnd::kStopped || result.end == HttpEnd::kCut;
  if (answered && head_.status != 0 && head_.status != 200) return verdict_of_status();
  if (answered && kind_ == Kind::kForeign)
    return {Outcome::kMalformed,
            fmt::format("the answer is '{}', expected 'text/event-stream': {}", head_.content_type, quote(body_)),
            Repeat::kNever,
            {}};
  const bool whole = state_.end_mark || (result.end == HttpEnd::kDone && state_.ending);
  return whole ? verdict_of_answer() : verdict_of_loss(result);
}

Exchange::Verdict Exchange::verdict_of_status() {
  if (head_.status >= 300 && head_.status < 400)
    return {Outcome::kRefusedRequest,
            fmt::format("HTTP {}: the server redirects to '{}'; redirects are not followed, since the key would go "
                        "along: put the final address into base_url",
                        head_.status, head_.location),
            Repeat::kNever,
            {}};
  Failure failure = protocol_.on_error(head_.status, error_in(body_));
  const auto wait = retry_after_seconds(head_.retry_after, head_.retry_after_ms, std::time(nullptr));
  const bool retry = failure.outcome == Outcome::kServerError || failure.outcome == Outcome::kRateLimited;
  return {failure.outcome, fmt::format("HTTP {}: {}", head_.status, failure.detail),
          retry ? Repeat::kFree : Repeat::kNever, wait ? wait : failure.retry_after_s};
}

Exchange::Verdict Exchange::verdict_of_answer() {
  const Outcome ending = state_.ending.value_or(Outcome::kAnswer);
  if (ending == Outcome::kAnswer && is_blank(state_.text))
    return {Outcome::kEmpty,
            fmt::format("finished ({}) without an answer{}", state_.finish_reason,
                        state_.reasoning_text.empty() ? "" : ", after reasoning"),
            Repeat::kNever,
            {}};
  if (ending == Outcome::kAnswer) return {ending, "", Repeat::kNever, {}};
  return {ending,
          state_.note.empty() ? fmt::format("ended with \"{}\"", state_.finish_reason) : state_.note,
          Repeat::kNever,
          {}};
}

Exchange::Verdict Exchange::verdict_of_loss(const HttpResult& result) {
  const Repeat if_sent = result.sent ? Repeat::kCharged : Repeat::kFree;
  switch (result.end) {
    case HttpEnd::kNoConnection: return {Outcome::kTransport, result.detail, Repeat::kFree, {}};
    case HttpEnd::kTls: return {Outcome::kTransport, "TLS: " + result.detail, Repeat::kNever, {}};
    case HttpEnd::kNotHttp:
      return {Outcome::kMalformed, "not HTTP as it should be: " + result.detail, Repeat::kNever, {}};
    case HttpEnd::kCancelled: return {Outcome::kCancelled, "cancelled", Repeat::kNever, {}};
    case HttpEnd::kTimeoutConnect: return {Outcome::kTimeoutConnect, result.detail, Repeat::kFree, {}};
    case HttpEnd::kTimeoutFirstToken:
      return {Outcome::kTimeoutFirstToken, "no token within limits.first_token_s", if_sent, {}};
    case HttpEnd::kTimeoutSilence:
      return {Outcome::kTimeoutSilence, "no byte for limits.silence_s inside the answer", Repeat::kCharged, {}};
    case HttpEnd::kTimeoutTotal:
      return {Outcome::kTimeoutTotal, "not finished within limits.total_s", Repeat::kNever, {}};
    case HttpEnd::kDone:
    case HttpEnd::kStopped:
      return {Outcome::kTransport, "the stream ended before the answer did", Repeat::kCharged, {}};
    case HttpEnd::kCut: return {Outcome::kTransport, "the connection broke: " + result.detail, if_sent, {}};
  }
  return {};
}

}  // namespace ptxbench::agent
