#include "ptxbench/report/studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ptxbench/report/dates.h"

namespace ptxbench::report {
namespace {

std::set<std::string> values(const schema::Observations& data, Attribute attribute) {
  std::set<std::string> all;
  for (std::uint32_t t = 0; t < data.trajectories.size(); ++t) all.insert(value_of(data, t, attribute));
  return all;
}

// What an ablation is measured against: the least knowledge.
std::vector<Pair> against_least_pack(const schema::Observations& data) {
  const std::set<std::string> packs = values(data, Attribute::kPack);
  std::vector<Pair> pairs;
  for (const char* least : {"L0", "no-hint", "block-1"}) {
    if (!packs.contains(least)) continue;
    for (const std::string& pack : packs)
      if (pack != least) pairs.push_back({Attribute::kPack, pack, least});
    break;
  }
  return pairs;
}

std::vector<Pair> languages(const schema::Observations& data) {
  const std::set<std::string> all = values(data, Attribute::kLanguage);
  std::vector<Pair> pairs;
  for (auto a = all.begin(); a != all.end(); ++a)
    for (auto b = std::next(a); b != all.end(); ++b) pairs.push_back({Attribute::kLanguage, *a, *b});
  return pairs;
}

// A trained model's name goes on where its base's ends: "Qwen3.6-27B-s1", "Qwen3.6-27B + notes".
std::vector<Pair> before_and_after(const schema::Observations& data) {
  const std::set<std::string> models = values(data, Attribute::kModel);
  std::vector<Pair> pairs;
  for (const std::string& after : models)
    for (const std::string& before : models)
      if (after.starts_with(before + "-") || after.starts_with(before + " + "))
        pairs.push_back({Attribute::kModel, after, before});
  return pairs;
}

std::vector<Condition> trained_and_bases(const schema::Observations& data) {
  std::set<std::string> models;
  for (const Pair& pair : before_and_after(data)) models.insert({pair.a, pair.b});
  if (models.empty()) return {};
  return {{Attribute::kModel, {models.begin(), models.end()}}};
}

// Tasks whose name gives a head dimension.
std::vector<Condition> attention(const schema::Observations& data) {
  std::set<std::string> dims = values(data, Attribute::kHeadDim);
  dims.erase("-");
  if (dims.empty()) return {};
  return {{Attribute::kHeadDim, {dims.begin(), dims.end()}}};
}

// The other head dimensions against 128, the one that most models and all knowledge packs are about.
std::vector<Pair> against_128(const schema::Observations& data) {
  std::vector<Pair> pairs;
  const std::set<std::string> dims = values(data, Attribute::kHeadDim);
  if (!dims.contains("128")) return pairs;
  for (const std::string& dim : dims)
    if (dim != "128" && dim != "-") pairs.push_back({Attribute::kHeadDim, dim, "128"});
  return pairs;
}

const schema::Cell& cell_of(const schema::Observations& data, const Group& group) {
  return data.cells[data.trajectories[group.trajectories.front()].cell];
}

}  // namespace

const std::vector<Study>& studies() {
  using enum Attribute;
  static const std::vector<Study> all = {
      {"models", "models on each target and task", {kTarget, kTask, kModel}, nullptr, nullptr},
      {"ablation", "knowledge packs against the least", {kModel, kTask, kPack}, nullptr, against_least_pack},
      {"languages", "languages on the same tasks", {kModel, kTarget, kTask, kLanguage}, nullptr, languages},
      {"generalisation",
       "attention by head dimension and grouped heads",
       {kModel, kTarget, kFamily, kHeadDim, kHeads},
       attention,
       against_128},
      {"training", "models before and after training", {kTask, kModel}, trained_and_bases, before_and_after},
      {"time", "models by date, from the release of the instruction set", {kTarget, kModel}, nullptr, nullptr},
  };
  return all;
}

void sort_by_date(std::vector<Group>& groups, const schema::Observations& data) {
  const auto date = [&](const Group& group) {
    const std::string& text = cell_of(data, group).model_date;
    return text.empty() ? "9999" : text;
  };
  std::stable_sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) { return date(a) < date(b); });
}

schema::Table time_table(const schema::Observations& data, const std::vector<Group>& groups,
                         const MetricsRequest& request) {
  schema::Table table{"time",
                      "Models by date, and days from the release of the target's instruction set",
                      {{"target", ""},
                       {"model", ""},
                       {"date", ""},
                       {"date_kind", "knowledge, release, or not stated which"},
                       {"instructions", "release of the target's instruction set"},
                       {"days_after", "negative: the model's date is before"},
                       {"k", "within the first k turns"},
                       {"turns_target_rate", "correct by the target's instructions, of planned turns"},
                       {"low", "95 % Wilson interval"},
                       {"high", "95 % Wilson interval"},
                       {"best_target_speedup", ""}},
                      {}};
  for (const Group& group : groups) {
    const schema::Cell& cell = cell_of(data, group);
    const auto release = std::find_if(data.references.begin(), data.references.end(), [&](const auto& one) {
      return one.kind == "instructions" && one.target == cell.target;
    });
    const bool released = release != data.references.end(), dated = !cell.model_date.empty();
    const WithinTurns& within = group.within.at(static_cast<std::size_t>(request.max_turns) - 1);
    const Rate& rate = within.turn_target;
    const auto known = [](bool is, schema::TableValue value) { return is ? std::move(value) : schema::TableValue(); };
    table.rows.push_back(
        {cell.target, cell.model, known(dated, cell.model_date), known(dated, cell.date_kind),
         released ? schema::TableValue(release->date) : schema::TableValue(),
         released && dated ? schema::TableValue(std::int64_t{day_number(cell.model_date) - day_number(release->date)})
                           : schema::TableValue(),
         std::int64_t{within.k}, known(rate.n > 0, rate.rate().value_or(0)), known(rate.n > 0, rate.interval().low),
         known(rate.n > 0, rate.interval().high),
         within.best_target_speedup ? schema::TableValue(*within.best_target_speedup) : schema::TableValue()});
  }
  return table;
}

}  // namespace ptxbench::report
