#include "ptxbench/agent/model/toml_table.h"

#include <fmt/format.h>

#include <limits>

namespace ptxbench::agent {
namespace {

Location place(const std::string& file, const toml::source_region& source) {
  return {file, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
}

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a fraction";
    case toml::node_type::boolean: return "a boolean";
    default: return "a date or time";
  }
}

}  // namespace

void TomlErrors::add(const toml::node* at, std::string message, std::string hint) {
  errors.push_back(Error{ErrorKind::kInvalidInput,
                         std::move(message),
                         std::move(hint),
                         at != nullptr ? place(file_name, at->source()) : Location{file_name, 0, 0},
                         {}});
}

Error TomlErrors::take() const {
  Error first = errors.front();
  for (std::size_t i = 1; i < errors.size(); ++i) first.notes.push_back(errors[i].format());
  return first;
}

Result<toml::table> parse_toml(std::string_view text, const std::string& file_name) {
  try {
    return toml::parse(text, file_name);
  } catch (const toml::parse_error& problem) {
    return fail(Error{ErrorKind::kInvalidInput,
                      fmt::format("not valid TOML: {}", problem.description()),
                      "",
                      place(file_name, problem.source()),
                      {}});
  }
}

void TomlTable::read(std::string_view key, std::string& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto* text = node->as_string()) {
    value = text->get();
  } else {
    wrong_type(key, *node, "a string");
  }
}

void TomlTable::read(std::string_view key, bool& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto* boolean = node->as_boolean()) {
    value = boolean->get();
  } else {
    wrong_type(key, *node, "true or false");
  }
}

void TomlTable::read(std::string_view key, std::optional<std::int64_t>& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto* integer = node->as_integer()) {
    value = integer->get();
  } else {
    wrong_type(key, *node, "an integer");
  }
}

void TomlTable::read(std::string_view key, int& value) {
  std::optional<std::int64_t> wide;
  read(key, wide);
  if (!wide) return;
  if (*wide < 0 || *wide > std::numeric_limits<int>::max()) return complain(key, "out of range");
  value = static_cast<int>(*wide);
}

void TomlTable::read(std::string_view key, std::optional<double>& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (node->is_number()) {
    value = node->value<double>();
  } else {
    wrong_type(key, *node, "a number");
  }
}

void TomlTable::read(std::string_view key, std::vector<std::string>& value) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) return wrong_type(key, *node, "an array of strings");
  value.clear();
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr) return wrong_type(key, element, "a string in the array");
    value.push_back(text->get());
  }
}

const toml::table* TomlTable::table(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) wrong_type(key, *node, "a table");
  return node->as_table();
}

void TomlTable::require(std::string_view key) {
  if (!has(key)) errors_.add(&table_, fmt::format("{} is missing", name_of(key)));
}

void TomlTable::complain(std::string_view key, std::string message, std::string hint) {
  const toml::node* node = table_.get(key);
  errors_.add(node != nullptr ? node : &table_, fmt::format("{}: {}", name_of(key), message), std::move(hint));
}

void TomlTable::refuse_unknown() {
  for (const auto& [key, node] : table_) {
    if (known_.contains(key.str())) continue;
    errors_.errors.push_back(Error{ErrorKind::kInvalidInput,
                                   fmt::format("{} is not a known setting", name_of(key.str())),
                                   "",
                                   place(errors_.file_name, key.source()),
                                   {}});
  }
}

const toml::node* TomlTable::find(std::string_view key) {
  known_.emplace(key);
  return table_.get(key);
}

std::string TomlTable::name_of(std::string_view key) const {
  return path_.empty() ? fmt::format("'{}'", key) : fmt::format("'{}.{}'", path_, key);
}

void TomlTable::wrong_type(std::string_view key, const toml::node& node, std::string_view expected) {
  errors_.add(&node, fmt::format("{}: found {}, expected {}", name_of(key), kind_of(node), expected));
}

}  // namespace ptxbench::agent
