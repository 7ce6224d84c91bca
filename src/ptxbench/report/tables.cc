#include "ptxbench/report/tables.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptxbench::report {
namespace {

using schema::Table;
using schema::TableValue;

template <class T>
TableValue value(const std::optional<T>& maybe) {
  return maybe ? TableValue(*maybe) : TableValue();
}
TableValue value(std::int64_t number) { return number; }

Table with_keys(std::string name, std::string title, const MetricsRequest& request,
                std::vector<schema::TableColumn> columns) {
  Table table{std::move(name), std::move(title), {}, {}};
  for (const Attribute attribute : request.by) table.columns.push_back({std::string(to_string(attribute)), ""});
  table.columns.insert(table.columns.end(), columns.begin(), columns.end());
  return table;
}

std::vector<TableValue> keys_of(const Group& group) { return {group.key.begin(), group.key.end()}; }

void append(std::vector<TableValue>& row, std::vector<TableValue> more) {
  row.insert(row.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void append_rate(std::vector<TableValue>& row, const Rate& rate) {
  const bool known = rate.n > 0;
  append(row, {rate.successes, rate.n, rate.unknown, value(rate.rate()),
               known ? TableValue(rate.interval().low) : TableValue(),
               known ? TableValue(rate.interval().high) : TableValue()});
}

void add_rate_columns(std::vector<schema::TableColumn>& columns, const std::string& name, const std::string& what) {
  columns.push_back({name, what});
  columns.push_back({name + "_n", "out of so many"});
  columns.push_back({name + "_unknown", "left out of n: the evidence is missing"});
  columns.push_back({name + "_rate", what + " / n"});
  columns.push_back({name + "_low", "95 % Wilson interval"});
  columns.push_back({name + "_high", "95 % Wilson interval"});
}

}  // namespace

Table rates_table(const std::vector<Group>& groups, const MetricsRequest& request, const std::vector<int>& ks) {
  std::vector<schema::TableColumn> columns = {{"k", "within the first k turns"},
                                              {"turns_planned", ""},
                                              {"turns_present", "fewer than planned where trajectories ended early"}};
  add_rate_columns(columns, "trajectories_correct", "trajectories with a correct turn");
  add_rate_columns(columns, "trajectories_target",
                   "trajectories with a turn that is correct by the target's instructions");
  add_rate_columns(columns, "turns_correct", "correct turns out of planned ones");
  add_rate_columns(columns, "turns_target", "turns that are correct by the target's instructions, out of planned ones");
  columns.push_back({"best_speedup", "of correct turns"});
  columns.push_back({"best_target_speedup", "of turns that are correct by the target's instructions"});
  columns.push_back({"median_speedup", "over correct turns"});
  columns.push_back({"final_speedup", "median over trajectories whose last turn within k is correct"});
  Table table = with_keys("rates", fmt::format("Rates under the {} rules", schema::to_string(request.rules)), request,
                          std::move(columns));
  for (const Group& group : groups)
    for (const int k : ks) {
      const WithinTurns& within = group.within.at(static_cast<std::size_t>(k) - 1);
      std::vector<TableValue> row = keys_of(group);
      append(row, {value(k), within.planned_turns, within.present_turns});
      for (const Rate* rate :
           {&within.trajectory_correct, &within.trajectory_target, &within.turn_correct, &within.turn_target})
        append_rate(row, *rate);
      append(row, {value(within.best_speedup), value(within.best_target_speedup), value(within.median_speedup),
                   value(within.final_speedup)});
      table.rows.push_back(std::move(row));
    }
  return table;
}

Table summary_table(const std::vector<Group>& groups, const MetricsRequest& request, const std::vector<int>& ks) {
  Table table = with_keys(
      "summary", fmt::format("Rates under the {} rules, 95 % intervals", schema::to_string(request.rules)), request,
      {{"k", ""},
       {"correct", "trajectories"},
       {"by_target", "trajectories, correct by the target's instructions"},
       {"turns_correct", "of planned turns"},
       {"turns_by_target", "of planned turns"},
       {"best", "speed-up, correct by the target's instructions"}});
  const auto cell = [](const Rate& rate) -> TableValue {
    if (rate.n == 0) return fmt::format("? ({} unknown)", rate.unknown);
    return fmt::format("{}/{} {:.1f}% [{:.0f} {:.0f}]{}", rate.successes, rate.n, 100 * *rate.rate(),
                       100 * rate.interval().low, 100 * rate.interval().high,
                       rate.unknown > 0 ? fmt::format(" +{}?", rate.unknown) : "");
  };
  for (const Group& group : groups)
    for (const int k : ks) {
      const WithinTurns& within = group.within.at(static_cast<std::size_t>(k) - 1);
      std::vector<TableValue> row = keys_of(group);
      append(row, {value(k), cell(within.trajectory_correct), cell(within.trajectory_target), cell(within.turn_correct),
                   cell(within.turn_target), value(within.best_target_speedup)});
      table.rows.push_back(std::move(row));
    }
  return table;
}

Table pass_table(const std::vector<Group>& groups, const MetricsRequest& request) {
  Table table = with_keys(
      "pass_at", fmt::format("Unbiased pass@j, a sample is a trajectory of {} turns", request.max_turns), request,
      {{"j", "trajectories drawn"}, {"n", "trajectories"}, {"pass_at_j", "chance of a correct one"}});
  for (const Group& group : groups)
    for (const std::int64_t j : {1, 2, 4, 8, 16}) {
      const std::optional<double> pass = pass_at(group, request.max_turns, j);
      if (!pass) continue;
      std::vector<TableValue> row = keys_of(group);
      append(row, {j, group.within.back().trajectory_correct.n, *pass});
      table.rows.push_back(std::move(row));
    }
  return table;
}

Table status_table(const std::vector<Group>& groups, const MetricsRequest& request) {
  std::vector<schema::TableColumn> columns = {{"status", ""}, {"turns", ""}, {"share", "of the group's turns"}};
  for (int next = 0; next < schema::kTurnStatuses; ++next)
    columns.push_back(
        {"then_" + std::string(to_string(static_cast<schema::TurnStatus>(next))), "next turns of this status"});
  columns.push_back({"then_nothing", "last turns of their trajectories"});
  Table table = with_keys("statuses", "What became of turns, and of the turn after", request, std::move(columns));
  for (const Group& group : groups)
    for (std::size_t status = 0; status < schema::kTurnStatuses; ++status) {
      if (group.statuses[status] == 0) continue;
      std::vector<TableValue> row = keys_of(group);
      append(row, {std::string(to_string(static_cast<schema::TurnStatus>(status))), group.statuses[status],
                   static_cast<double>(group.statuses[status]) / static_cast<double>(group.turns)});
      for (const std::int64_t next : group.transitions[status]) row.emplace_back(next);
      table.rows.push_back(std::move(row));
    }
  return table;
}

Table cost_table(const std::vector<Group>& groups, const MetricsRequest& request) {
  const std::pair<const char*, Total Group::*> kinds[] = {{"input_tokens", &Group::input_tokens},
                                                          {"output_tokens", &Group::output_tokens},
                                                          {"reasoning_tokens", &Group::reasoning_tokens},
                                                          {"cost_usd", &Group::cost_usd},
                                                          {"seconds", &Group::seconds}};
  std::vector<schema::TableColumn> columns = {{"turns", ""}, {"successes", "correct trajectories"}};
  for (const auto& [name, total] : kinds) {
    columns.push_back({name, "total of the turns where it is known"});
    columns.push_back({fmt::format("{}_turns", name), "turns where it is known"});
    columns.push_back({fmt::format("{}_per_success", name), "only where it is known for every turn"});
  }
  Table table = with_keys("costs", "Tokens, money and time", request, std::move(columns));
  for (const Group& group : groups) {
    const std::int64_t successes = group.within.back().trajectory_correct.successes;
    std::vector<TableValue> row = keys_of(group);
    append(row, {group.turns, successes});
    for (const auto& [name, total] : kinds) {
      const Total& sum = group.*total;
      const bool whole = sum.turns == group.turns && successes > 0;
      append(row, {sum.turns > 0 ? TableValue(sum.sum) : TableValue(), sum.turns,
                   whole ? TableValue(sum.sum / static_cast<double>(successes)) : TableValue()});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table published_table(const schema::Observations& data) {
  Table table{"published",
              "Published rates by trajectory, beside those counted from single turns",
              {{"run", ""},
               {"k", ""},
               {"correct_published", ""},
               {"correct_counted", ""},
               {"target_published", "by executed SASS"},
               {"target_counted", "by the turns' own evidence"},
               {"best_speedup_published", ""},
               {"best_speedup_counted", ""},
               {"agrees", "yes, or what differs"}},
              {}};
  if (data.published.empty()) return table;
  MetricsRequest request;
  request.by = {Attribute::kRun};
  const std::vector<Group> groups = measure(data, request);
  for (const schema::PublishedCell& cell : data.published) {
    const std::string& run = data.cells[cell.cell].run;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.key[0] == run; });
    const WithinTurns& within = group->within.at(static_cast<std::size_t>(cell.turns) - 1);
    std::string differs;
    if (within.trajectory_correct.successes != cell.correct) differs += "correct ";
    if (cell.target_correct && within.trajectory_target.successes != *cell.target_correct) differs += "target ";
    const double best = within.best_speedup.value_or(0);
    if (cell.best_speedup && std::abs(best - *cell.best_speedup) > 5e-9 * std::max(1.0, best)) differs += "speedup ";
    if (!differs.empty()) differs.pop_back();
    table.rows.push_back({run, value(cell.turns), value(cell.correct), within.trajectory_correct.successes,
                          cell.target_correct ? TableValue(std::int64_t{*cell.target_correct}) : TableValue(),
                          within.trajectory_target.successes, value(cell.best_speedup), value(within.best_speedup),
                          differs.empty() ? "yes" : differs});
  }
  return table;
}

std::string render(const Table& table) {
  std::vector<std::vector<std::string>> texts(table.rows.size());
  std::vector<std::size_t> widths;
  std::vector<bool> numeric(table.columns.size(), true);
  for (const schema::TableColumn& column : table.columns) widths.push_back(column.name.size());
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const TableValue& cell = table.rows[r][c];
      std::string text = "-";
      if (const auto* integer = std::get_if<std::int64_t>(&cell)) text = fmt::format("{}", *integer);
      if (const auto* real = std::get_if<double>(&cell)) text = fmt::format("{:.4g}", *real);
      if (const auto* string = std::get_if<std::string>(&cell)) text = *string, numeric[c] = false;
      widths[c] = std::max(widths[c], text.size());
      texts[r].push_back(std::move(text));
    }
  std::string out = table.title + "\n";
  const auto line = [&](const auto& cell) {
    std::string text;
    for (std::size_t c = 0; c < widths.size(); ++c)
      text += numeric[c] ? fmt::format("{:>{}}  ", cell(c), widths[c]) : fmt::format("{:<{}}  ", cell(c), widths[c]);
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](std::size_t c) { return table.columns[c].name; });
  for (const auto& row : texts) line([&](std::size_t c) { return row[c]; });
  return out;
}

}  // namespace ptxbench::report
