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

// Walks over JSON that is known to be valid.
class LineFinder {
 public:
  LineFinder(std::string_view text, std::string_view path) : text_(text), path_(path) {}
  std::size_t find() {
    value("");
    return found_;
  }

 private:
  void value(const std::string& at) {
    space();
    const bool around = path_.starts_with(at) &&
                        (at.empty() || path_.size() == at.size() || path_[at.size()] == '.' || path_[at.size()] == '[');
    if (around) found_ = at_;
    const char first = peek();
    if (first == '{' || first == '[') return members(at, first == '{');
    if (first == '"') return void(string());
    while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos) ++at_;
  }
  void members(const std::string& at, bool object) {
    ++at_;
    for (int index = 0; space(), at_ < text_.size() && peek() != '}' && peek() != ']'; ++index) {
      std::string name = fmt::format("{}[{}]", at, index);
      if (object) {
        name = fmt::format("{}{}{}", at, at.empty() ? "" : ".", string());
        space();
        ++at_;  // the colon
      }
      value(name);
      space();
      if (peek() == ',') ++at_;
    }
    ++at_;
  }
  std::string_view string() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    return text_.substr(begin, at_++ - begin);
  }
  void space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_, path_;
  std::size_t at_ = 0, found_ = 0;
};

}  // namespace

int line_of(std::string_view text, std::string_view path) {
  return locate(text, LineFinder(text, path).find(), "", 1).line;
}

Error reading_error(std::string_view text, const std::string& file_name, std::vector<std::string> errors,
                    std::string hint) {
  const int line = line_of(text, std::string_view(errors.front()).substr(0, errors.front().find(": ")));
  Error error{ErrorKind::kInvalidInput, errors.front(), std::move(hint), {file_name, line, 0}, {}};
  error.notes.assign(errors.begin() + 1, errors.end());
  return error;
}

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
