// libFuzzer: arbitrary bytes as a server's answer. The first byte chooses protocol, status and content type, the second
// how the rest is cut into pieces. Whatever comes out has one outcome and valid UTF-8.
#include <cstdlib>

#include "ptxbench/agent/model/exchange.h"
#include "ptxbench/agent/model/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptxbench::agent;
  if (size < 2) return 0;
  const Protocol* protocols[] = {&openai_protocol(), &anthropic_protocol(), &gemini_protocol()};
  const char* types[] = {"text/event-stream", "application/json", "text/html", ""};
  HttpHead head;
  head.status = (data[0] & 0x40) != 0 ? 400 : 200;
  head.content_type = types[data[0] >> 2 & 3];
  const std::size_t piece = 1 + data[1];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);

  Exchange exchange(*protocols[data[0] % 3], 1 << 20);
  HttpResult result;
  result.sent = true;
  result.end = (data[0] & 0x80) != 0 ? HttpEnd::kCut : HttpEnd::kDone;
  bool more = exchange.on_head(head);
  for (std::size_t i = 0; more && i < bytes.size(); i += piece) more = exchange.on_body(bytes.substr(i, piece));
  if (!more) result.end = HttpEnd::kStopped;
  const Exchange::Verdict verdict = exchange.conclude(result, Secret("sk-0123456789abcdef"));
  const StreamState& state = exchange.state();
  for (const std::string& text : {verdict.detail, state.text, state.reasoning_text, state.finish_reason})
    if (join_sheltered(text).broken_bytes != 0) std::abort();
  if (to_string(verdict.outcome).empty()) std::abort();
  return 0;
}
