// A report as one HTML file that needs no network and no server. Drill-down into run folders lies in files beside it.
#pragma once

#include <filesystem>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/observations.h"
#include "ptxbench/schema/run_folder.h"

namespace ptxbench::report {

// Where the page's parts are: page.html, page.css, page.js and plotly.min.js. $PTXBENCH_PAGE, beside the program, then
// where this program was built. kNotFound says what is missing.
struct PageParts {
  std::filesystem::path template_file, style, script, plotting;
};
Result<PageParts> locate_page_parts();

// `file` and, if `runs` holds any turns, `file`_data/<number>.js for every trajectory; numbers count as in
// observations.trajectories, whose first ones must be those of `runs` in order. Each file is written whole or not at all,
// the page last.
Status write_page(const schema::Observations& observations, const std::vector<schema::Run>& runs,
                  const std::filesystem::path& file);

}  // namespace ptxbench::report
