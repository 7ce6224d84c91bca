// Internal to schema: records described once, written and read by the same description.
//
//   template <class Archive, class Record> void describe(Archive& archive, Record& record) {
//     archive.field("name", record.name);
//   }
//
// Writer makes JSON, Reader fills the record and collects errors with their JSON path. Optional fields are left out
// when empty. Non-finite numbers are the strings "nan", "inf", "-inf", which JSON numbers cannot hold.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::schema {

using Json = nlohmann::ordered_json;

// A list of named integers that is a JSON object and keeps its order.
using NamedIntegers = std::vector<std::pair<std::string, std::int64_t>>;

// Enums take part by an overload of to_string and a specialisation of EnumFromText.
template <class Enum>
struct EnumFromText;  // static std::optional<Enum> parse(std::string_view)

inline std::string json_kind(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "an array";
    case Json::value_t::string: return "a string";
    case Json::value_t::boolean: return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return "an integer";
    case Json::value_t::number_float: return "a fraction";
    default: return "something else";
  }
}

// Parses text; a syntax error becomes an Error with line and column. Duplicate keys are refused: the last one would
// win silently.
Result<Json> parse_json(std::string_view text, const std::string& file_name, int first_line = 1);

// The line on which the value at `path` begins ("models[0].name", as in the readers' errors), or the closest value around it
// that there is. `text` has been parsed before.
int line_of(std::string_view text, std::string_view path);

// The readers' errors of one file as one Error: the first with its line, the others as notes. There is at least one.
Error reading_error(std::string_view text, const std::string& file_name, std::vector<std::string> errors,
                    std::string hint = {});

class JsonWriter {
 public:
  explicit JsonWriter(Json& out) : out_(out) { out_ = Json::object(); }

  template <class T>
  void field(const char* name, const T& value) {
    out_[name] = to(value);
  }
  template <class T>
  void field(const char* name, const std::optional<T>& value) {
    if (value) out_[name] = to(*value);
  }
  template <class Body>
  void object(const char* name, Body&& body) {
    JsonWriter nested(out_[name]);
    body(nested);
  }

 private:
  static Json to(bool value) { return value; }
  static Json to(const std::string& value) { return value; }
  static Json to(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  static Json to(const NamedIntegers& value) {
    Json object = Json::object();
    for (const auto& [name, number] : value) object[name] = number;
    return object;
  }
  template <class T>
  static Json to(const std::vector<T>& value) {
    Json array = Json::array();
    for (const T& element : value) array.push_back(to(element));
    return array;
  }
  template <class T>
  static Json to(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return std::string(to_string(value));
    } else if constexpr (std::is_integral_v<T>) {
      return value;
    } else {
      Json json;
      JsonWriter nested(json);
      describe(nested, value);
      return json;
    }
  }

  Json& out_;
};

class JsonReader {
 public:
  // Errors go to `errors`, as "path: found, expected".
  JsonReader(const Json& in, std::string path, std::vector<std::string>& errors)
      : in_(in), path_(std::move(path)), errors_(errors) {
    if (!in_.is_object()) complain(path_, "an object", in_);
  }
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  template <class T>
  void field(const char* name, T& value) {
    const Json* found = find(name);
    if (found == nullptr) {
      errors_.push_back(fmt::format("{}: missing", join(name)));
      return;
    }
    from(*found, join(name), value);
  }
  template <class T>
  void field(const char* name, std::optional<T>& value) {
    const Json* found = find(name);
    value.reset();
    if (found == nullptr || found->is_null()) return;
    value.emplace();
    from(*found, join(name), *value);
  }
  template <class Body>
  void object(const char* name, Body&& body) {
    const Json* found = find(name);
    if (found == nullptr) {
      errors_.push_back(fmt::format("{}: missing", join(name)));
      return;
    }
    JsonReader nested(*found, join(name), errors_);
    body(nested);
    nested.refuse_unknown();
  }
  // Call last: names every field that the description did not ask for.
  void refuse_unknown() {
    if (!in_.is_object()) return;
    for (const auto& [key, value] : in_.items())
      if (!seen_.contains(key)) errors_.push_back(fmt::format("{}: unknown field", join(key)));
  }

 private:
  std::string join(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }
  const Json* find(const char* name) {
    if (!in_.is_object()) return nullptr;
    seen_.insert(name);
    const auto it = in_.find(name);
    return it == in_.end() ? nullptr : &*it;
  }
  void complain(const std::string& path, std::string_view expected, const Json& found) {
    errors_.push_back(
        fmt::format("{}: found {}, expected {}", path.empty() ? "top level" : path, json_kind(found), expected));
  }

  void from(const Json& json, const std::string& path, bool& value) {
    json.is_boolean() ? void(value = json.get<bool>()) : complain(path, "true or false", json);
  }
  void from(const Json& json, const std::string& path, std::string& value) {
    json.is_string() ? void(value = json.get<std::string>()) : complain(path, "a string", json);
  }
  void from(const Json& json, const std::string& path, double& value) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (json.is_number()) {
      value = json.get<double>();
    } else if (json == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (json == "inf" || json == "-inf") {
      value = json == "inf" ? kInfinity : -kInfinity;
    } else {
      complain(path, "a number, \"nan\", \"inf\" or \"-inf\"", json);
    }
  }
  void from(const Json& json, const std::string& path, NamedIntegers& value) {
    value.clear();
    if (!json.is_object()) return complain(path, "an object of integers", json);
    for (const auto& [key, number] : json.items()) {
      std::int64_t integer = 0;
      from(number, fmt::format("{}.{}", path, key), integer);
      value.emplace_back(key, integer);
    }
  }
  template <class T>
  void from(const Json& json, const std::string& path, std::vector<T>& value) {
    value.clear();
    if (!json.is_array()) return complain(path, "an array", json);
    value.resize(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) from(json[i], fmt::format("{}[{}]", path, i), value[i]);
  }
  template <class T>
  void from(const Json& json, const std::string& path, T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::string text;
      if (!json.is_string()) return complain(path, "a string", json);
      const auto parsed = EnumFromText<T>::parse(json.get<std::string>());
      if (parsed) {
        value = *parsed;
      } else {
        errors_.push_back(fmt::format("{}: '{}' is not one of the known values", path, json.get<std::string>()));
      }
    } else if constexpr (std::is_integral_v<T>) {
      const bool fits = json.is_number_unsigned()
                            ? std::in_range<T>(json.get<std::uint64_t>())
                            : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
      fits ? void(value = json.get<T>()) : complain(path, fmt::format("an integer of {} bits", 8 * sizeof(T)), json);
    } else {
      JsonReader nested(json, path, errors_);
      describe(nested, value);
      nested.refuse_unknown();
    }
  }

  const Json& in_;
  std::string path_;
  std::vector<std::string>& errors_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace ptxbench::schema
