#include "ptxbench/agent/model/sse.h"

namespace ptxbench::agent {

void SseParser::feed(std::string_view bytes) {
  buffer_.append(bytes);
  std::size_t start = 0;
  if (after_cr_ && !buffer_.empty()) {
    start = buffer_[0] == '\n' ? 1 : 0;
    searched_ = start;
    after_cr_ = false;
  }
  for (;;) {
    const std::size_t end = buffer_.find_first_of("\r\n", searched_);
    if (end == std::string::npos) break;
    take_line(std::string_view(buffer_).substr(start, end - start));
    start = end + 1;
    if (buffer_[end] == '\r') {
      if (start == buffer_.size()) {
        after_cr_ = true;
      } else if (buffer_[start] == '\n') {
        ++start;
      }
    }
    searched_ = start;
  }
  buffer_.erase(0, start);
  searched_ = buffer_.size();
}

void SseParser::finish() {
  if (!buffer_.empty()) take_line(buffer_);
  buffer_.clear();
  searched_ = 0;
  dispatch();
}

void SseParser::take_line(std::string_view line) {
  if (at_start_) {
    at_start_ = false;
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  }
  if (line.empty()) return dispatch();
  const std::size_t colon = line.find(':');
  if (colon == 0) return;  // a comment, sent to keep the connection alive
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  // "error:" is no field of the standard; llama.cpp's server has sent its errors under this name.
  if (field == "data" || field == "error") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
    if (field == "error") event_.name = "error";
  } else if (field == "event") {
    event_.name = value;
  }
}

void SseParser::dispatch() {
  if (has_data_) on_event_(event_);
  event_ = {};
  has_data_ = false;
}

}  // namespace ptxbench::agent
