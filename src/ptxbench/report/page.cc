#include "ptxbench/report/page.h"

#include <fmt/format.h>

#include <cstdlib>

#include "ptxbench/base/file.h"
#include "ptxbench/schema/page_data.h"

namespace ptxbench::report {
namespace fs = std::filesystem;
namespace {

// The first of these folders that has the file.
Result<fs::path> find_part(const char* name, const std::vector<fs::path>& folders) {
  std::error_code ignored;
  for (const fs::path& folder : folders)
    if (fs::exists(folder / name, ignored)) return folder / name;
  return fail(ErrorKind::kNotFound, fmt::format("the report page's part {} is not installed", name),
              "run scripts/setup (it fetches the plotting library), or name the folder in PTXBENCH_PAGE");
}

// Puts `text` where the template says @name@, exactly once.
Status fill(std::string& page, const std::string& name, const std::string& text) {
  const std::string mark = "@" + name + "@";
  const std::size_t at = page.find(mark);
  if (at == std::string::npos || page.find(mark, at + 1) != std::string::npos)
    return fail(ErrorKind::kInvalidInput, fmt::format("the page's template does not have {} exactly once", mark));
  page.replace(at, mark.size(), text);
  return {};
}

}  // namespace

Result<PageParts> locate_page_parts() {
  std::vector<fs::path> folders;
  if (const char* named = std::getenv("PTXBENCH_PAGE")) folders.emplace_back(named);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  folders.push_back(program.parent_path().parent_path() / "share/ptxbench/page");
  folders.emplace_back(PTXBENCH_PAGE_FOLDER);
  folders.emplace_back(PTXBENCH_PLOTLY_FOLDER);
  PageParts parts;
  PTXBENCH_TRY(parts.template_file, find_part("page.html", folders));
  PTXBENCH_TRY(parts.style, find_part("page.css", folders));
  PTXBENCH_TRY(parts.script, find_part("page.js", folders));
  PTXBENCH_TRY(parts.plotting, find_part("plotly.min.js", folders));
  return parts;
}

Status write_page(const schema::Observations& observations, const std::vector<schema::Run>& runs,
                  const fs::path& file) {
  PTXBENCH_TRY(const PageParts parts, locate_page_parts());
  PTXBENCH_TRY(std::string page, read_file(parts.template_file));
  PTXBENCH_TRY(const std::string style, read_file(parts.style));
  PTXBENCH_TRY(const std::string script, read_file(parts.script));
  PTXBENCH_TRY(const std::string plotting, read_file(parts.plotting));
  const fs::path folder = file.string() + "_data";
  std::size_t details = 0;
  for (const schema::Run& run : runs)
    for (const schema::Trajectory& trajectory : run.trajectories) {
      std::error_code error;
      fs::create_directories(folder, error);
      if (error)
        return fail(ErrorKind::kUnavailable, fmt::format("cannot create '{}': {}", folder.string(), error.message()));
      PTXBENCH_TRY_STATUS(write_file_atomic(
          folder / fmt::format("{}.js", details),
          fmt::format("ptxbenchDetail({}, {});\n", details, schema::script_safe(schema::to_page_json(trajectory)))));
      ++details;
    }
  PTXBENCH_TRY_STATUS(fill(page, "STYLE", style));
  PTXBENCH_TRY_STATUS(
      fill(page, "DETAILS", details == 0 ? "null" : fmt::format("\"{}_data\"", file.filename().string())));
  // Largest last: each filling searches the page.
  PTXBENCH_TRY_STATUS(fill(page, "SCRIPT", script));
  PTXBENCH_TRY_STATUS(fill(page, "DATA", schema::script_safe(schema::to_page_json(observations))));
  PTXBENCH_TRY_STATUS(fill(page, "PLOTTING", plotting));
  return write_file_atomic(file, page);
}

}  // namespace ptxbench::report
