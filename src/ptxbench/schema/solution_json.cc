#include <algorithm>
#include <set>

#include "ptxbench/base/hash.h"
#include "ptxbench/schema/enum_text.h"
#include "ptxbench/schema/open_json.h"
#include "ptxbench/schema/solution.h"

namespace ptxbench::schema {
namespace {

constexpr std::pair<Language, std::string_view> kLanguages[] = {
    {Language::kPython, "python"}, {Language::kTriton, "triton"},     {Language::kCpp, "cpp"},
    {Language::kCuda, "cuda"},     {Language::kTileLang, "tilelang"},
};

// Relative, in normal form, inside the folder that it will be written to.
bool safe_path(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\\') != std::string_view::npos ||
      path.find('\0') != std::string_view::npos)
    return false;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") return false;
    start = end + 1;
  }
  return true;
}

void read_sources(OpenObject& top, Solution& solution, OpenReading& reading) {
  const Json* sources = top.require("sources");
  if (sources == nullptr) return;
  if (!sources->is_array() || sources->empty()) {
    reading.error("sources", "expected a list with at least one file");
    return;
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < sources->size(); ++i) {
    const std::string path = fmt::format("sources[{}]", i);
    OpenObject entry((*sources)[i], path, fmt::format("/sources/{}", i), reading);
    if (!entry.valid()) {
      reading.error(path, fmt::format("found {}, expected an object", json_kind((*sources)[i])));
      continue;
    }
    SourceFile file{entry.string("path"), entry.string("content")};
    if (!safe_path(file.path))
      reading.error(path + ".path", fmt::format("'{}' must be relative, without '.', '..' and empty parts", file.path));
    if (!seen.insert(file.path).second) reading.error(path + ".path", fmt::format("'{}' stands twice", file.path));
    entry.leave();
    solution.sources.push_back(std::move(file));
  }
}

void check_entry_point(const Solution& solution, OpenReading& reading) {
  const std::size_t colons = solution.entry_point.find("::");
  if (colons == std::string::npos || colons == 0 || colons + 2 == solution.entry_point.size()) {
    reading.error("spec.entry_point", fmt::format("found '{}', expected 'file::symbol'", solution.entry_point));
    return;
  }
  const std::string file = solution.entry_point.substr(0, colons);
  const bool exists = std::any_of(solution.sources.begin(), solution.sources.end(),
                                  [&](const SourceFile& source) { return source.path == file; });
  if (!exists) reading.error("spec.entry_point", fmt::format("'{}' is not one of the sources", file));
}

void read_spec(OpenObject& top, Solution& solution, OpenReading& reading) {
  OpenObject spec = top.object("spec");
  if (!spec.valid()) return;
  const std::string language = spec.string("language");
  if (const auto known = enum_from_text(kLanguages, language)) {
    solution.language = *known;
  } else if (!language.empty()) {
    reading.error("spec.language", fmt::format("'{}' is not one of python, triton, cpp, cuda, tilelang", language));
  }
  solution.target_hardware = spec.strings("target_hardware");
  if (solution.target_hardware.empty()) reading.error("spec.target_hardware", "expected at least one");
  solution.entry_point = spec.string("entry_point");
  solution.dependencies = spec.strings("dependencies");
  solution.destination_passing_style = spec.boolean("destination_passing_style", true);
  solution.binding = spec.optional_string("binding");
  if (!solution.binding.empty() && solution.binding != "tvm-ffi" && solution.binding != "torch")
    reading.error("spec.binding", fmt::format("found '{}', expected 'tvm-ffi' or 'torch'", solution.binding));
  spec.leave();
  check_entry_point(solution, reading);
}

}  // namespace

std::string_view to_string(Language language) { return enum_to_text(kLanguages, language); }

std::string Solution::content_hash() const {
  std::string bytes;
  const auto add = [&](std::string_view field) { bytes += fmt::format("{}:{},", field.size(), field); };
  const auto add_all = [&](const std::vector<std::string>& fields) {
    bytes += fmt::format("{};", fields.size());
    for (const std::string& field : fields) add(field);
  };
  add(definition);
  add(to_string(language));
  add(entry_point);
  add(binding);
  add(destination_passing_style ? "destination" : "value");
  add_all(target_hardware);
  add_all(dependencies);
  for (const SourceFile& source : sources) add(source.path), add(source.content);
  return sha256_hex(bytes);
}

Result<Solution> solution_from_json(std::string_view text, std::string file_name) {
  PTXBENCH_TRY(const Json json, parse_json(text, file_name));
  OpenReading reading{std::move(file_name), 0, {}, {}};
  Solution solution;
  if (!json.is_object()) {
    reading.error("", fmt::format("found {}, expected an object", json_kind(json)));
    return fail(reading.take_error());
  }
  OpenObject top(json, "", "", reading);
  solution.name = top.string("name");
  solution.definition = top.string("definition");
  solution.author = top.string("author");
  solution.description = top.optional_string("description");
  read_sources(top, solution, reading);
  read_spec(top, solution, reading);
  top.leave();
  if (solution.name.empty() && top.take("name") != nullptr) reading.error("name", "is empty");
  if (!reading.errors.empty()) return fail(reading.take_error());
  solution.unknown = std::move(reading.unknown);
  return solution;
}

std::string to_json(const Solution& solution, int indent) {
  Json json = Json::object();
  json["name"] = solution.name;
  json["definition"] = solution.definition;
  json["author"] = solution.author;
  if (!solution.description.empty()) json["description"] = solution.description;
  Json& spec = json["spec"] = Json::object();
  spec["language"] = std::string(to_string(solution.language));
  spec["target_hardware"] = solution.target_hardware;
  spec["entry_point"] = solution.entry_point;
  spec["dependencies"] = solution.dependencies;
  spec["destination_passing_style"] = solution.destination_passing_style;
  if (!solution.binding.empty()) spec["binding"] = solution.binding;
  Json& sources = json["sources"] = Json::array();
  for (const SourceFile& source : solution.sources)
    sources.push_back({{"path", source.path}, {"content", source.content}});
  restore_unknown(json, solution.unknown);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ptxbench::schema
