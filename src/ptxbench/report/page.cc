#include "ptxbench/report/page.h"

#include <fmt/format.h>

#include <cstdlib>

#include "ptxbench/base/file.h"
#include "ptxbench/report/on_all_cores.h"
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
              "run scripts/setup (it fetches the libraries of the page), or name the folder in PTXBENCH_PAGE");
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

// A JavaScript string that can stand inside a <script> element.
std::string script_string(std::string_view text) {
  std::string safe = "\"";
  for (const char c : text) {
    const bool plain = c != '"' && c != '\\' && c != '<' && static_cast<unsigned char>(c) >= 0x20;
    safe += plain ? std::string(1, c) : fmt::format("\\u{:04x}", static_cast<int>(c));
  }
  return safe + "\"";
}

// Writes the transcripts into an empty folder. Returns their numbers as a JavaScript array.
Result<std::string> write_details(const std::vector<DetailSource>& details, const fs::path& folder) {
  PTXBENCH_TRY_STATUS(on_all_cores(details.size(), [&](std::size_t i) -> Status {
    if (!details[i]) return {};
    PTXBENCH_TRY(const std::string text, details[i]());
    return write_file_atomic(folder / fmt::format("{}.js", i),
                             fmt::format("ptxbenchDetail({}, {});\n", i, schema::script_safe(text)));
  }));
  std::string numbers;
  for (std::size_t i = 0; i < details.size(); ++i)
    if (details[i]) numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", i);
  return numbers;
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
  folders.emplace_back(PTXBENCH_HIGHLIGHT_FOLDER);
  PageParts parts;
  PTXBENCH_TRY(parts.template_file, find_part("page.html", folders));
  PTXBENCH_TRY(parts.style, find_part("page.css", folders));
  for (const char* script : {"tables.js", "drill.js", "plots.js", "page.js"}) {
    PTXBENCH_TRY(parts.scripts.emplace_back(), find_part(script, folders));
  }
  PTXBENCH_TRY(parts.plotting, find_part("plotly.min.js", folders));
  PTXBENCH_TRY(parts.highlighting, find_part("highlight.min.js", folders));
  PTXBENCH_TRY(parts.highlighting_licence, find_part("highlight.LICENSE.txt", folders));
  return parts;
}

Status write_page(const Loaded& loaded, const fs::path& file) {
  PTXBENCH_TRY(const PageParts parts, locate_page_parts());
  PTXBENCH_TRY(std::string page, read_file(parts.template_file));
  PTXBENCH_TRY(const std::string style, read_file(parts.style));
  std::string script = "\"use strict\";\n";
  for (const fs::path& part : parts.scripts) {
    PTXBENCH_TRY(const std::string text, read_file(part));
    script += text;
  }
  PTXBENCH_TRY(const std::string plotting, read_file(parts.plotting));
  const fs::path folder = file.string() + "_data";
  PTXBENCH_TRY(PartialFolder partial, PartialFolder::create(folder));
  PTXBENCH_TRY(const std::string numbers, write_details(loaded.details, partial.path()));
  // In a file of its own: a page without kernels does not need it.
  if (!numbers.empty()) {
    PTXBENCH_TRY(const std::string highlighting, read_file(parts.highlighting));
    PTXBENCH_TRY(const std::string licence, read_file(parts.highlighting_licence));
    PTXBENCH_TRY_STATUS(
        write_file_atomic(partial.path() / "highlight.min.js", fmt::format("/*\n{}*/\n{}", licence, highlighting)));
  }
  PTXBENCH_TRY_STATUS(fill(page, "STYLE", style));
  PTXBENCH_TRY_STATUS(fill(
      page, "DETAILS", fmt::format("{{folder: {}, of: [{}]}}", script_string(folder.filename().string()), numbers)));
  // Largest last: each filling searches the page.
  PTXBENCH_TRY_STATUS(fill(page, "SCRIPT", script));
  PTXBENCH_TRY_STATUS(fill(page, "DATA", schema::script_safe(schema::to_page_json(loaded.observations))));
  PTXBENCH_TRY_STATUS(fill(page, "PLOTTING", plotting));
  if (!numbers.empty()) PTXBENCH_TRY_STATUS(partial.take_place());
  return write_file_atomic(file, page);
}

}  // namespace ptxbench::report
