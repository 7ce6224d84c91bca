// Internal to schema: the records of json_io.h read at the speed of simdjson, for logs of gigabytes.
//
// A QuickReader reads what JsonWriter writes: fields in the order of their description, each once, none that is unknown.
// Anything else makes it give up, without a reason: then JsonReader has the word, which takes fields in any order and says
// what is wrong where.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ptxbench/schema/json_io.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::schema {

class QuickReader {
 public:
  // Of a text with more bytes than `longest` only so many are kept.
  QuickReader(simdjson::dom::element element, std::size_t longest) : longest_(longest) {
    simdjson::dom::object object;
    valid_ = element.get(object) == simdjson::SUCCESS;
    if (!valid_) return;
    at_ = object.begin();
    end_ = object.end();
  }

  template <class T>
  void field(std::string_view name, T& value) {
    if (const auto found = take(name)) return from(*found, value);
    valid_ = false;
  }
  template <class T>
  void field(std::string_view name, std::optional<T>& value) {
    value.reset();
    if (const auto found = take(name)) from(*found, value.emplace());
  }
  template <class Body>
  void object(std::string_view name, Body&& body) {
    const auto found = take(name);
    if (!found) return void(valid_ = false);
    QuickReader nested(*found, longest_);
    body(nested);
    valid_ &= nested.done();
  }
  // The next field, if it is this one.
  std::optional<simdjson::dom::element> take(std::string_view name) {
    if (!valid_ || !(at_ != end_) || at_.key() != name) return std::nullopt;
    const simdjson::dom::element value = at_.value();
    ++at_;
    return value;
  }
  // Whether everything was as described, and nothing is left.
  bool done() const { return valid_ && !(at_ != end_); }

 private:
  void from(simdjson::dom::element json, bool& value) { valid_ &= json.get(value) == simdjson::SUCCESS; }
  void from(simdjson::dom::element json, std::string& value) {
    std::string_view text;
    valid_ &= json.get(text) == simdjson::SUCCESS;
    value = text.substr(0, longest_);
  }
  void from(simdjson::dom::element json, double& value) {
    if (json.get(value) == simdjson::SUCCESS) return;
    std::string_view text;
    valid_ &= json.get(text) == simdjson::SUCCESS;
    if (text == "nan")
      value = std::numeric_limits<double>::quiet_NaN();
    else if (text == "inf" || text == "-inf")
      value = (text == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
    else
      valid_ = false;
  }
  void from(simdjson::dom::element json, NamedIntegers& value) {
    simdjson::dom::object object;
    valid_ &= json.get(object) == simdjson::SUCCESS;
    if (!valid_) return;
    value.clear();
    for (const auto& [name, number] : object) from(number, value.emplace_back(name, 0).second);
  }
  template <class T>
  void from(simdjson::dom::element json, std::vector<T>& value) {
    simdjson::dom::array array;
    valid_ &= json.get(array) == simdjson::SUCCESS;
    if (!valid_) return;
    value.clear();
    value.reserve(array.size());
    for (const simdjson::dom::element element : array) from(element, value.emplace_back());
  }
  template <class T>
  void from(simdjson::dom::element json, T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::string_view text;
      const bool known = json.get(text) == simdjson::SUCCESS;
      const auto parsed = known ? EnumFromText<T>::parse(text) : std::nullopt;
      parsed ? void(value = *parsed) : void(valid_ = false);
    } else if constexpr (std::is_integral_v<T>) {
      std::int64_t small = 0;
      std::uint64_t large = 0;
      if (json.get(small) == simdjson::SUCCESS && std::in_range<T>(small))
        value = static_cast<T>(small);
      else if (json.get(large) == simdjson::SUCCESS && std::in_range<T>(large))
        value = static_cast<T>(large);
      else
        valid_ = false;
    } else {
      QuickReader nested(json, longest_);
      describe(nested, value);
      valid_ &= nested.done();
    }
  }

  simdjson::dom::object::iterator at_, end_;
  std::size_t longest_ = 0;
  bool valid_ = false;
};

// As verdict_from_json() and event_from_json(); none when the strict reader must look at it.
std::optional<Verdict> quick_verdict(simdjson::dom::element json, std::size_t longest);
std::optional<Event> quick_event(simdjson::dom::element json, std::size_t longest);

}  // namespace ptxbench::schema
