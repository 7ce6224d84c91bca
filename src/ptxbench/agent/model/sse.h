// Server-sent events (WHATWG HTML, section 9.2), read as they come in: any chunking, LF, CR or CRLF, comments,
// multi-line data, a byte order mark. Bytes are passed on as they are; UTF-8 is the reader's matter.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace ptxbench::agent {

struct SseEvent {
  std::string name;  // "" when the event has no "event:" line
  std::string data;  // the data lines, joined by '\n'
};

class SseParser {
 public:
  using Handler = std::function<void(const SseEvent&)>;

  explicit SseParser(Handler on_event) : on_event_(std::move(on_event)) {}

  void feed(std::string_view bytes);
  // The end of the stream. The standard drops an event whose blank line is missing; servers exist that leave out
  // exactly this one, so it is delivered.
  void finish();

 private:
  void take_line(std::string_view line);
  void dispatch();

  Handler on_event_;
  std::string buffer_;        // the unfinished line
  std::size_t searched_ = 0;  // no line end before here
  bool after_cr_ = false;     // the last line ended in CR: an LF right behind belongs to it
  bool at_start_ = true;
  bool has_data_ = false;
  SseEvent event_;
};

}  // namespace ptxbench::agent
