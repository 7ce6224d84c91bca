// A report as one HTML file that needs no network and no server. Drill-down into run folders lies in files beside it.
#pragma once

#include <filesystem>

#include "ptxbench/base/result.h"
#include "ptxbench/report/from_run.h"

namespace ptxbench::report {

// Where the page's parts are: page.html, page.css, page.js, plotly.min.js and highlight.min.js. $PTXBENCH_PAGE, beside the program, then
// where this program was built. kNotFound says what is missing.
struct PageParts {
  std::filesystem::path template_file, style, plotting, highlighting;
  std::vector<std::filesystem::path> scripts;  // in the order in which they run
  std::filesystem::path highlighting_licence;  // stands in the file, since Debian's has none
};
Result<PageParts> locate_page_parts();

// `file` and, for every trajectory that has one, its transcript in `file`_data/<number>.js, with what colours
// kernels beside them. Each file is written whole or
// not at all, the page last.
Status write_page(const Loaded& loaded, const std::filesystem::path& file);

}  // namespace ptxbench::report
