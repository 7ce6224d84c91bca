// Reading a TOML table key by key: types checked, errors with file, line and column, and what nobody asked for refused
// by name.
#pragma once

#include <toml++/toml.h>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::agent {

// What one file's reading finds.
struct TomlErrors {
  std::string file_name;
  std::vector<Error> errors;

  void add(const toml::node* at, std::string message, std::string hint = {});
  // The first one, the others as notes. Only when there is one.
  Error take() const;
};

Result<toml::table> parse_toml(std::string_view text, const std::string& file_name);

class TomlTable {
 public:
  TomlTable(const toml::table& table, std::string path, TomlErrors& errors)
      : table_(table), path_(std::move(path)), errors_(errors) {}

  bool has(std::string_view key) const { return table_.contains(key); }
  // Absent: the value stays as it is.
  void read(std::string_view key, std::string& value);
  void read(std::string_view key, bool& value);
  void read(std::string_view key, int& value);
  void read(std::string_view key, std::optional<std::int64_t>& value);
  void read(std::string_view key, std::optional<double>& value);
  void read(std::string_view key, std::vector<std::string>& value);
  const toml::table* table(std::string_view key);  // nullptr when absent or (with an error) no table
  void require(std::string_view key);
  void complain(std::string_view key, std::string message, std::string hint = {});
  void refuse_unknown();

 private:
  const toml::node* find(std::string_view key);
  std::string name_of(std::string_view key) const;
  void wrong_type(std::string_view key, const toml::node& node, std::string_view expected);

  const toml::table& table_;
  std::string path_;
  TomlErrors& errors_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace ptxbench::agent
