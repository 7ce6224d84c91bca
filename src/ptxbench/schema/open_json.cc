#include "ptxbench/schema/open_json.h"

namespace ptxbench::schema {
namespace {

const Json kNothing;

std::string escape_pointer(std::string_view key) {
  std::string escaped;
  for (const char c : key) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return escaped;
}

}  // namespace

Error OpenReading::take_error() {
  const std::string place = line > 0 ? fmt::format("{}:{}", file_name, line) : file_name;
  Error error{ErrorKind::kInvalidInput, fmt::format("{}: {}", place, errors.front()), "", {}, {}};
  for (std::size_t i = 1; i < errors.size(); ++i) error.notes.push_back(fmt::format("{}: {}", place, errors[i]));
  return error;
}

OpenObject::OpenObject(const Json& json, std::string path, std::string pointer, OpenReading& reading)
    : json_(json), path_(std::move(path)), pointer_(std::move(pointer)), reading_(reading) {}

std::string OpenObject::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const Json* OpenObject::take(std::string_view key) {
  known_.emplace(key);
  if (!json_.is_object()) return nullptr;
  const auto it = json_.find(std::string(key));
  return it == json_.end() ? nullptr : &*it;
}

const Json* OpenObject::require(std::string_view key) {
  const Json* found = take(key);
  if (found == nullptr && json_.is_object()) reading_.error(path_of(key), "missing");
  return found;
}

void OpenObject::wrong(std::string_view key, std::string_view expected, const Json& found) {
  reading_.error(path_of(key), fmt::format("found {}, expected {}", json_kind(found), expected));
}

std::string OpenObject::string(std::string_view key) {
  const Json* found = require(key);
  if (found == nullptr) return {};
  if (!found->is_string()) {
    wrong(key, "a string", *found);
    return {};
  }
  return found->get<std::string>();
}

std::string OpenObject::optional_string(std::string_view key) {
  const Json* found = take(key);
  if (found == nullptr || found->is_null()) return {};
  return string(key);
}

std::vector<std::string> OpenObject::strings(std::string_view key) {
  const Json* found = take(key);
  std::vector<std::string> list;
  if (found == nullptr || found->is_null()) return list;
  if (!found->is_array()) {
    wrong(key, "a list of strings", *found);
    return list;
  }
  for (std::size_t i = 0; i < found->size(); ++i) {
    if ((*found)[i].is_string()) {
      list.push_back((*found)[i].get<std::string>());
    } else {
      wrong(fmt::format("{}[{}]", key, i), "a string", (*found)[i]);
    }
  }
  return list;
}

std::optional<std::int64_t> OpenObject::integer(std::string_view key) {
  const Json* found = take(key);
  if (found == nullptr) return std::nullopt;
  const bool fits = found->is_number_unsigned() ? std::in_range<std::int64_t>(found->get<std::uint64_t>())
                                                : found->is_number_integer();
  if (!fits) {
    wrong(key, "an integer", *found);
    return std::nullopt;
  }
  return found->get<std::int64_t>();
}

bool OpenObject::boolean(std::string_view key, bool otherwise) {
  const Json* found = take(key);
  if (found == nullptr) return otherwise;
  if (!found->is_boolean()) {
    wrong(key, "true or false", *found);
    return otherwise;
  }
  return found->get<bool>();
}

OpenObject OpenObject::object(std::string_view key) {
  const Json* found = require(key);
  if (found != nullptr && !found->is_object()) {
    wrong(key, "an object", *found);
    found = nullptr;
  }
  return {found ? *found : kNothing, path_of(key), pointer_ + "/" + escape_pointer(key), reading_};
}

void OpenObject::leave() {
  if (!json_.is_object()) return;
  for (const auto& [key, value] : json_.items())
    if (!known_.contains(key)) reading_.unknown.push_back({pointer_ + "/" + escape_pointer(key), value.dump()});
}

void restore_unknown(Json& json, const std::vector<UnknownField>& unknown) {
  for (const UnknownField& field : unknown) json[Json::json_pointer(field.pointer)] = Json::parse(field.json);
}

}  // namespace ptxbench::schema
