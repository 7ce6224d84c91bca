#include "ptxbench/agent/model/client.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <random>

#include "ptxbench/agent/model/exchange.h"
#include "ptxbench/agent/model/http.h"
#include "ptxbench/agent/model/retry.h"

namespace ptxbench::agent {
namespace {

std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double jitter() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

// false when stopped before the time is over.
bool sleep(std::chrono::duration<double> time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

std::string fault_of(const std::vector<Message>& messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].text.empty()) return fmt::format("message {} ({}) is empty", i, to_string(messages[i].role));
    if (messages[i].role == Role::kSystem && i != 0) return fmt::format("message {} is a second system message", i);
  }
  if (messages.empty() || messages.back().role != Role::kUser) return "the last message is not the user's";
  return {};
}

const Protocol& protocol_of(Api api) {
  return api == Api::kAnthropic ? anthropic_protocol() : api == Api::kGemini ? gemini_protocol() : openai_protocol();
}

class HttpClient final : public ModelClient {
 public:
  HttpClient(ModelConfig config, Secret secret)
      : config_(std::move(config)), secret_(std::move(secret)), protocol_(protocol_of(config_.api)) {}

  ModelReply complete(const ModelRequest& request) override {
    const Clock::time_point started = Clock::now();
    ModelReply reply;
    reply.detail = fault_of(request.messages);
    if (!reply.detail.empty()) {
      reply.outcome = Outcome::kRefusedRequest;
      return reply;
    }
    HttpRequest http;
    http.url = protocol_.url(config_);
    http.headers = protocol_.headers(config_, secret_.reveal());
    Json body = protocol_.body(config_, request.messages);
    body.merge_patch(Json::parse(config_.extra_body));
    http.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
    http.limits = config_.limits;
    http.deadline = started + config_.limits.total;
    ask_until_settled(http, request.cancel, reply);
    reply.timings.total_s = std::chrono::duration<double>(Clock::now() - started).count();
    return reply;
  }

 private:
  void ask_until_settled(const HttpRequest& http, const std::stop_token& cancel, ModelReply& reply) {
    int paid_repeats = 0;
    for (;;) {
      const Repeat repeat = ask_once(http, cancel, reply);
      Attempt& attempt = reply.attempts.back();
      if (repeat == Repeat::kNever || static_cast<int>(reply.attempts.size()) >= config_.retry.attempts) return;
      if (repeat == Repeat::kCharged && ++paid_repeats > config_.retry.paid_repeats) return;
      const auto wait =
          wait_before_retry(config_.retry, static_cast<int>(reply.attempts.size()), attempt.retry_after_s, jitter());
      // A server that asks for more patience than there is gets none: the caller may pause and come back.
      if (attempt.retry_after_s && wait > config_.retry.longest_wait) return;
      if (Clock::now() + wait >= http.deadline) return;
      attempt.wait_s = wait.count();
      if (!sleep(wait, cancel)) {
        reply.outcome = Outcome::kCancelled;
        reply.detail = "cancelled while waiting to try again";
        return;
      }
    }
  }

  Repeat ask_once(const HttpRequest& http, const std::stop_token& cancel, ModelReply& reply) {
    Attempt attempt;
    attempt.started_unix_ms = unix_ms();
    Exchange exchange(protocol_, most_text_bytes(config_.max_output_tokens));
    HttpResult result;
    if (cancel.stop_requested()) {
      result.end = HttpEnd::kCancelled;
    } else {
      result = transport_->perform(http, exchange, cancel);
    }
    const Exchange::Verdict verdict = exchange.conclude(result, secret_);
    StreamState& state = exchange.state();
    attempt.outcome = verdict.outcome;
    attempt.http_status = exchange.head().status;
    attempt.detail = verdict.detail;
    attempt.request_id = exchange.head().request_id.empty() ? state.request_id : exchange.head().request_id;
    attempt.duration_s = result.duration_s;
    attempt.retry_after_s = verdict.retry_after_s;
    attempt.received_bytes = result.received_bytes;
    const bool accepted = attempt.http_status == 200 || (attempt.http_status == 0 && result.sent);
    attempt.may_be_charged = accepted && !is_turn(verdict.outcome);
    reply.cost_is_lower_bound = reply.cost_is_lower_bound || attempt.may_be_charged;
    reply.attempts.push_back(std::move(attempt));
    take(verdict, state, exchange.broken_bytes(), result, reply);
    return verdict.repeat;
  }

  // The reply is the last attempt's.
  void take(const Exchange::Verdict& verdict, StreamState& state, std::uint64_t broken_bytes, const HttpResult& result,
            ModelReply& reply) {
    reply.outcome = verdict.outcome;
    reply.detail = verdict.detail;
    reply.text = std::move(state.text);
    reply.reasoning_text = std::move(state.reasoning_text);
    reply.finish_reason = std::move(state.finish_reason);
    reply.served_model = std::move(state.served_model);
    reply.usage = state.usage;
    reply.cost_usd = state.provider_cost_usd ? state.provider_cost_usd : cost_of(state.usage, config_.prices);
    reply.repaired_bytes = broken_bytes;
    reply.timings.connected_s = result.connected_s;
    reply.timings.first_byte_s = result.first_byte_s;
    reply.timings.first_token_s = result.first_token_s;
  }

  const ModelConfig config_;
  const Secret secret_;
  const Protocol& protocol_;
  const std::shared_ptr<HttpTransport> transport_ = HttpTransport::shared();
};

}  // namespace

Result<std::unique_ptr<ModelClient>> make_client(const ModelConfig& config) {
  if (config.api == Api::kReplay)
    return fail(ErrorKind::kUnsupported,
                fmt::format("model '{}' is a recording: it has no server to ask", config.name));
  Secret secret;
  if (!config.key_variable.empty()) {
    const char* key = std::getenv(config.key_variable.c_str());
    if (key == nullptr || *key == '\0')
      return fail(ErrorKind::kUnavailable,
                  fmt::format("model '{}' needs a key, and ${} is not set", config.name, config.key_variable),
                  fmt::format("export {}=... in the shell that starts ptxbench", config.key_variable));
    for (const char* c = key; *c != '\0'; ++c)
      if (static_cast<unsigned char>(*c) <= ' ' || static_cast<unsigned char>(*c) >= 0x7F)
        return fail(ErrorKind::kInvalidInput,
                    fmt::format("the key in ${} has a character that no HTTP header can carry (a space or line end?)",
                                config.key_variable),
                    "set it again, without quotes or line ends inside");
    secret = Secret(key);
  }
  return std::unique_ptr<ModelClient>(std::make_unique<HttpClient>(config, std::move(secret)));
}

}  // namespace ptxbench::agent
