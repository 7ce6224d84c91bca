// One place for "closed enum <-> text": a table of pairs, looked up both ways.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "ptxbench/base/check.h"

namespace ptxbench::schema {

template <class Enum, std::size_t kCount>
std::string_view enum_to_text(const std::pair<Enum, std::string_view> (&table)[kCount], Enum value) {
  for (const auto& [candidate, text] : table)
    if (candidate == value) return text;
  internal_error(__FILE__, __LINE__, "value in table", "an enum value without a text");
}

template <class Enum, std::size_t kCount>
std::optional<Enum> enum_from_text(const std::pair<Enum, std::string_view> (&table)[kCount], std::string_view text) {
  for (const auto& [value, candidate] : table)
    if (candidate == text) return value;
  return std::nullopt;
}

}  // namespace ptxbench::schema
