#include "ptxbench/agent/canonical.h"

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "ptxbench/base/file.h"

namespace ptxbench::agent {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::array kLeftOut = {"at",
                                 "created",
                                 "timestamp",
                                 "seconds",
                                 "wait_seconds",
                                 "judge_seconds",
                                 "phases",
                                 "cached",
                                 "first_token_seconds",
                                 "lost_requests",
                                 "possible_cost_of_lost_requests_usd"};

void strip(Json& json) {
  if (json.is_object())
    for (const char* name : kLeftOut) json.erase(name);
  if (json.is_structured())
    for (Json& child : json) strip(child);
}

Result<Json> parse(std::string_view text, const fs::path& file) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorKind::kInvalidInput, "'" + file.string() + "' is no JSON");
  strip(json);
  return json;
}

Result<std::vector<Json>> parse_lines(std::string_view text, const fs::path& file) {
  std::vector<Json> lines;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    PTXBENCH_TRY(Json line, parse(text.substr(0, end), file));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string name_of(const Json& event) { return event.value("event", ""); }

// Without suspensions, and without requests that no reply follows.
std::string log_text(std::vector<Json> events) {
  std::erase_if(events, [](const Json& event) { return name_of(event) == "suspend"; });
  std::string text;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (name_of(events[i]) != "request" || (i + 1 < events.size() && name_of(events[i + 1]) == "reply"))
      text += events[i].dump() + "\n";
  return text;
}

Result<std::string> canonical_text(const fs::path& file) {
  PTXBENCH_TRY(std::string text, read_file(file));
  if (file.extension() == ".json") {
    PTXBENCH_TRY(const Json json, parse(text, file));
    return json.dump(1);
  }
  if (file.extension() != ".jsonl") return text;
  PTXBENCH_TRY(const std::vector<Json> lines, parse_lines(text, file));
  if (file.filename() == "events.jsonl") return log_text(lines);
  std::string out;
  for (const Json& line : lines) out += line.dump() + "\n";
  return out;
}

}  // namespace

Result<std::map<std::string, std::string>> canonical_files(const fs::path& run) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run)) {
    if (!entry.is_regular_file() || entry.path().filename() == "lock" || entry.path().extension() == ".tmp") continue;
    PTXBENCH_TRY(files[fs::relative(entry.path(), run).string()], canonical_text(entry.path()));
  }
  return files;
}

}  // namespace ptxbench::agent
