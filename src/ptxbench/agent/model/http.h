// HTTP for all model clients: one thread, one libcurl multi handle, one connection pool, however many requests are
// under way. A caller blocks in perform() and uses no processor while it waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/agent/model/config.h"

namespace ptxbench::agent {

using Clock = std::chrono::steady_clock;

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // sent with POST
  TimeLimits limits;                 // connect, first_token, silence
  Clock::time_point deadline;        // of the whole call: TimeLimits::total
};

struct HttpHead {
  int status = 0;
  std::string content_type;  // lower case, without parameters
  std::string location, retry_after, retry_after_ms, request_id;
};

// What takes the answer. Called on the network's thread, one call at a time, before perform() returns.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  // false: nothing more is wanted.
  virtual bool on_head(const HttpHead& head) = 0;
  virtual bool on_body(std::string_view bytes) = 0;
  virtual bool has_token() const = 0;    // from now on TimeLimits::silence counts, not first_token
  virtual bool is_complete() const = 0;  // the answer's own end mark was seen: its connection may linger
};

enum class HttpEnd {
  kDone,          // the answer is complete as far as HTTP can tell
  kStopped,       // the sink wanted no more
  kNoConnection,  // nothing was sent: no such host, refused, unreachable
  kTls,           // nothing was sent: certificate or protocol not accepted
  kCut,           // broken off after the connection stood
  kNotHttp,       // no HTTP, headers over 64 KiB, or broken compression
  kTimeoutConnect,
  kTimeoutFirstToken,
  kTimeoutSilence,
  kTimeoutTotal,
  kCancelled,
};

struct HttpResult {
  HttpEnd end = HttpEnd::kCut;
  std::string detail;                // libcurl's words; may quote the server
  bool sent = false;                 // the whole request went out, so the server may have acted on it
  std::uint64_t received_bytes = 0;  // of the body, as it came over the network's encoding
  std::optional<double> connected_s, first_byte_s, first_token_s;
  double duration_s = 0;
};

class HttpTransport {
 public:
  // The process's transport; it lives as long as somebody holds it.
  static std::shared_ptr<HttpTransport> shared();
  ~HttpTransport();

  // What a sink throws is thrown here.
  HttpResult perform(const HttpRequest& request, HttpSink& sink, const std::stop_token& cancel);

 private:
  HttpTransport();
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace ptxbench::agent
