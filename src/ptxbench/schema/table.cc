#include "ptxbench/schema/table.h"

#include <fmt/format.h>

#include "ptxbench/schema/json_io.h"

namespace ptxbench::schema {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_value(const TableValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) return csv_field(*text);
  return {};
}

Json json_value(const TableValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value))
    return std::isfinite(*real) ? Json(*real) : Json(fmt::format("{}", *real));
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

}  // namespace

std::string to_csv(const Table& table) {
  std::string csv;
  for (const TableColumn& column : table.columns) csv += (csv.empty() ? "" : ",") + csv_field(column.name);
  csv += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) csv += (i == 0 ? "" : ",") + csv_value(row[i]);
    csv += "\n";
  }
  return csv;
}

std::string to_json(const std::vector<Table>& tables) {
  Json json = {{"schema", "ptxbench.tables.v1"}, {"tables", Json::array()}};
  for (const Table& table : tables) {
    Json columns = Json::array(), rows = Json::array();
    for (const TableColumn& column : table.columns)
      columns.push_back({{"name", column.name}, {"meaning", column.meaning}});
    for (const auto& row : table.rows) {
      Json cells = Json::array();
      for (const TableValue& value : row) cells.push_back(json_value(value));
      rows.push_back(std::move(cells));
    }
    json["tables"].push_back(
        {{"name", table.name}, {"title", table.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ptxbench::schema
