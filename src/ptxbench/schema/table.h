// A table as reports give it away: named, typed columns; CSV (RFC 4180) and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ptxbench::schema {

using TableValue = std::variant<std::monostate, std::int64_t, double, std::string>;  // monostate: not known

struct TableColumn {
  std::string name;     // snake_case
  std::string meaning;  // one line, for people
};

struct Table {
  std::string name;  // a file name without its ending: "rates"
  std::string title;
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableValue>> rows;  // each as long as columns
};

// First line: the columns' names. Unknown values are empty, non-finite ones "nan", "inf", "-inf". Numbers have as many
// digits as they need to be read back exactly.
std::string to_csv(const Table& table);

// {"schema": "ptxbench.tables.v1", "tables": [{"name", "title", "columns": [{"name", "meaning"}], "rows": [[...]]}]}
std::string to_json(const std::vector<Table>& tables);

}  // namespace ptxbench::schema
