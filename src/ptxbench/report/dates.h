// Days that results are read against: of models, instruction sets and libraries. From a folder with
//   model_release_dates.csv   model,date[,kind]   kind: knowledge or release; a table without it does not say which
//   ptx_release_dates.csv     arch,date           when the target's instructions could be used
//   fa_release_dates.csv      version,arch,dates  releases of FlashAttention
// Dates are written 2026-01-31 or, as in the paper's tables, 2026-0131.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/report/csv.h"
#include "ptxbench/schema/observations.h"

namespace ptxbench::report {

struct ModelDate {
  std::string date, kind;  // as schema::Cell
};

struct Dates {
  std::map<std::string, ModelDate> models;
  std::vector<schema::ReferenceDate> references;
  std::vector<std::string> notes;  // days that do not exist, and what they are taken for
};

// Each of the three files may be missing, but not all. A day that no month has is an error for a model; a reference line
// is drawn at that month's last day, with a note (the paper's tables hold one: 2025-0631).
Result<Dates> read_dates(const std::filesystem::path& folder);

// Models' dates by name, where the observations have none yet, and the reference dates.
void add_dates(schema::Observations& observations, const Dates& dates);

// Days from 1970-01-01. The text is a date that read_dates() made.
int day_number(const std::string& date);

}  // namespace ptxbench::report
