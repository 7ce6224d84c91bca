#include "ptxbench/schema/json_io.h"

#include <algorithm>

namespace ptxbench::schema {
namespace {

constexpr int kMaxDepth = 64;

// Line and column (from 1) of a byte offset.
Location locate(std::string_view text, std::size_t offset, const std::string& file_name, int first_line) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {file_name, first_line + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          static_cast<int>(offset - line_start) + 1};
}

// nlohmann's sentence without its "[json.exception.parse_error.101] parse error at line 1, column 5: " in front.
std::string plain_reason(std::string_view what) {
  const std::size_t column = what.find(", column ");
  const std::size_t colon = column == std::string_view::npos ? what.find("] ") : what.find(": ", column);
  return std::string(colon == std::string_view::npos ? what : what.substr(colon + 2));
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& file_name, int first_line) {
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  bool too_deep = false;
  const auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
    // What lies deeper is thrown away while it is read: later steps recurse over the tree.
    if (depth > kMaxDepth) {
      too_deep = true;
      return false;
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second && duplicate.empty())
      duplicate = parsed.get<std::string>();
    return true;
  };
  try {
    Json json = Json::parse(text, callback);
    if (too_deep)
      return fail(Error{ErrorKind::kInvalidInput,
                        fmt::format("nested more than {} levels deep", kMaxDepth),
                        "",
                        {file_name, 0, 0},
                        {}});
    if (duplicate.empty()) return json;
    Error error{ErrorKind::kInvalidInput,
                fmt::format("key '{}' stands twice in one object", duplicate),
                "remove one of the two",
                {file_name, 0, 0},
                {}};
    return fail(std::move(error));
  } catch (const nlohmann::json::parse_error& problem) {
    const std::size_t offset = problem.byte > 0 ? problem.byte - 1 : 0;
    return fail(Error{ErrorKind::kInvalidInput,
                      "not valid JSON: " + plain_reason(problem.what()),
                      "",
                      locate(text, offset, file_name, first_line),
                      {}});
  } catch (const nlohmann::json::exception& problem) {
    return fail(Error{ErrorKind::kInvalidInput,
                      "not valid JSON: " + plain_reason(problem.what()),
                      "",
                      {file_name, first_line, 0},
                      {}});
  }
}

}  // namespace ptxbench::schema
