#include "ptxbench/agent/model/http_head.h"

#include <algorithm>
#include <charconv>

namespace ptxbench::agent {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trim(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t\r\n") - start + 1);
}

}  // namespace

bool HeadReader::line(std::string_view line, std::size_t max_bytes) {
  bytes_ += line.size();
  if (bytes_ > max_bytes) {
    overflowed_ = true;
    return false;
  }
  if (line.starts_with("HTTP/")) {
    head_ = {};  // an earlier one was provisional (1xx) or a proxy's
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    std::from_chars(line.data() + space + 1, line.data() + line.size(), head_.status);
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string name = lower(trim(line.substr(0, colon)));
  const std::string value(trim(line.substr(colon + 1)));
  if (name == "content-type") head_.content_type = lower(trim(value.substr(0, value.find(';'))));
  if (name == "location") head_.location = value;
  if (name == "retry-after") head_.retry_after = value;
  if (name == "retry-after-ms") head_.retry_after_ms = value;
  if (name == "x-request-id" || name == "request-id" || name == "x-generation-id") head_.request_id = value;
  return true;
}

}  // namespace ptxbench::agent
