// One attempt: takes an HTTP answer as it streams in, and says how it ended and whether asking again is safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ptxbench/agent/model/http.h"
#include "ptxbench/agent/model/protocol.h"
#include "ptxbench/agent/model/secret.h"
#include "ptxbench/agent/model/sse.h"

namespace ptxbench::agent {

enum class Repeat {
  kNever,    // nothing would change
  kFree,     // the provider did no work
  kCharged,  // the provider may have worked, and charge for it
};

class Exchange final : public HttpSink {
 public:
  // most_text: bytes of answer and reasoning together; what goes beyond is not read, and the answer counts as truncated.
  Exchange(const Protocol& protocol, std::uint64_t most_text)
      : protocol_(protocol), most_text_(most_text), sse_([this](const SseEvent& e) { take(e); }) {}

  bool on_head(const HttpHead& head) override;
  bool on_body(std::string_view bytes) override;
  bool has_token() const override { return !state_.text.empty() || !state_.reasoning_text.empty(); }
  bool is_complete() const override { return state_.end_mark; }

  struct Verdict {
    Outcome outcome = Outcome::kTransport;
    std::string detail;
    Repeat repeat = Repeat::kNever;
    std::optional<double> retry_after_s;
  };
  // After HttpTransport::perform(). Key and pieces of it do not appear in what it gives.
  Verdict conclude(const HttpResult& result, const Secret& secret);

  const HttpHead& head() const { return head_; }
  StreamState& state() { return state_; }
  std::uint64_t broken_bytes() const { return broken_bytes_; }

 private:
  enum class Kind { kEvents, kJson, kError, kForeign };

  void take(const SseEvent& event);
  bool take_json(std::string_view text);
  void repair_texts();
  Verdict verdict_of(const HttpResult& result);
  Verdict verdict_of_status();
  Verdict verdict_of_answer();
  Verdict verdict_of_loss(const HttpResult& result);

  const Protocol& protocol_;
  const std::uint64_t most_text_;
  SseParser sse_;
  HttpHead head_;
  Kind kind_ = Kind::kError;
  StreamState state_;
  std::string body_;       // kJson, kError, kForeign: the beginning of it
  std::string malformed_;  // what was wrong with the stream
  std::uint64_t received_ = 0, broken_bytes_ = 0;
  bool too_large_ = false, overlong_ = false, sheltered_ = false, finishing_ = false;
};

// What max_output_tokens can amount to, generously; a server that sends more ignores it. Without that setting 64 MiB.
std::uint64_t most_text_bytes(std::optional<std::int64_t> max_output_tokens);

}  // namespace ptxbench::agent
