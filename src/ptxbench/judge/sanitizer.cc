#include "ptxbench/judge/sanitizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <pugixml.hpp>

namespace ptxbench::judge {
namespace {

constexpr std::array kTools = {SanitizerTool::kMemcheck, SanitizerTool::kRacecheck, SanitizerTool::kSynccheck,
                               SanitizerTool::kInitcheck};
// Records of one kernel's fault come by the thread; more of them say nothing new.
constexpr const char* kMostRecords = "1000";

std::string text_of(const pugi::xml_node& node, const char* path) {
  return node.first_element_by_path(path).text().as_string();
}

std::optional<std::uint64_t> number(const std::string& text) {
  const bool hexadecimal = text.starts_with("0x");
  const char *begin = text.data() + (hexadecimal ? 2 : 0), *end = text.data() + text.size();
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value, hexadecimal ? 16 : 10);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// "thread (31,0,0)" of a node that holds threadIdx or blockIdx; empty if it does not.
std::string place(const pugi::xml_node& node, const char* element, std::string_view word) {
  const pugi::xml_node index = node.child(element);
  if (!index) return "";
  return fmt::format("{} ({},{},{})", word, index.child_value("x"), index.child_value("y"), index.child_value("z"));
}

// "write at gemm.cu:12": one side of a race.
std::string side(const pugi::xml_node& node, const char* access) {
  std::string name = node.child_value(access);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::filesystem::path file = text_of(node, "where/path");
  const std::string line = text_of(node, "where/line");
  return file.empty() ? fmt::format("{} at {}", name, text_of(node, "where/pc"))
                      : fmt::format("{} at {}:{}", name, file.filename().string(), line);
}

void set_place(schema::SanitizerFinding& finding, const pugi::xml_node& where) {
  finding.kernel = where.child_value("func");
  // The author's file name: the folder is the build's.
  finding.source_file = std::filesystem::path(where.child_value("path")).filename().string();
  const std::uint64_t line = number(where.child_value("line")).value_or(0);
  finding.source_line = line <= 1'000'000'000 ? static_cast<int>(line) : 0;
}

// A record's kind, in short. The tool's own kinds say which checker spoke ("Precise", "Analysis"), not what is wrong.
std::string kind_of(const std::string& record_kind, const pugi::xml_node& what) {
  if (record_kind == "Analysis") return "race";
  if (record_kind == "Hazard") return fmt::format("{} hazard", text_of(what, "common/type"));
  if (record_kind == "Synccheck") return "barrier";
  if (record_kind == "Initcheck") return "uninitialized read";
  if (const std::string error = what.child_value("error"); !error.empty()) return error;  // "out of bounds"
  return record_kind;
}

struct Record {
  schema::SanitizerFinding finding;
  std::string who;  // of the first record that the finding stands for
};

Record read_record(const pugi::xml_node& node) {
  const pugi::xml_node what = node.child("what");
  Record record;
  schema::SanitizerFinding& finding = record.finding;
  const std::string record_kind = node.child_value("kind"), level = node.child_value("level");
  finding.kind = kind_of(record_kind, what);
  finding.severity = level == "Warning" ? "warning" : level == "Info" ? "info" : "error";
  finding.message = what.child_value("text");
  if (const std::string type = what.child_value("type"); !type.empty()) finding.message += ": " + type;
  if (const pugi::xml_node source = what.child("source")) {  // racecheck's analysis: two lines and how often
    const pugi::xml_node destination = what.child("destination");
    finding.message += fmt::format(" between {} and {}", side(source, "direction"), side(destination, "direction"));
    set_place(finding, source.child("where"));
    const std::uint64_t count = number(destination.child_value("count")).value_or(1);
    finding.count = static_cast<std::int64_t>(std::clamp<std::uint64_t>(count, 1, std::uint64_t{1} << 62));
  } else if (const pugi::xml_node first = what.child("thread0")) {  // racecheck's hazards: two threads
    const pugi::xml_node second = what.child("thread1"), common = what.child("common");
    finding.message += fmt::format(" between {} and {}", side(first, "access"), side(second, "access"));
    set_place(finding, first.child("where"));
    finding.address = number(common.child_value("address"));
    record.who = fmt::format("{} and {} of {}", place(first, "threadIdx", "thread"),
                             place(second, "threadIdx", "thread"), place(common, "blockIdx", "block"));
  } else {
    set_place(finding, node.child("where"));
    finding.address = number(what.child_value("address"));
    if (const pugi::xml_node who = node.child("who"))
      record.who = fmt::format("{} of {}", place(who, "threadIdx", "thread"), place(who, "blockIdx", "block"));
  }
  return record;
}

bool same(const schema::SanitizerFinding& a, const schema::SanitizerFinding& b) {
  return a.kind == b.kind && a.severity == b.severity && a.message == b.message && a.kernel == b.kernel &&
         a.source_file == b.source_file && a.source_line == b.source_line;
}

}  // namespace

std::string_view to_string(SanitizerTool tool) {
  switch (tool) {
    case SanitizerTool::kMemcheck: return "memcheck";
    case SanitizerTool::kRacecheck: return "racecheck";
    case SanitizerTool::kSynccheck: return "synccheck";
    case SanitizerTool::kInitcheck: return "initcheck";
  }
  return "unknown";
}

Result<std::vector<SanitizerTool>> sanitizer_tools_from(std::string_view list) {
  std::vector<SanitizerTool> tools;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view name = list.substr(at, end - at);
    at = end + 1;
    const auto known =
        std::find_if(kTools.begin(), kTools.end(), [name](auto tool) { return to_string(tool) == name; });
    if (known == kTools.end())
      return fail(ErrorKind::kInvalidInput, fmt::format("unknown sanitizer tool '{}'", name),
                  "any of memcheck, racecheck, synccheck, initcheck, separated by commas");
    if (std::count(tools.begin(), tools.end(), *known) != 0)
      return fail(ErrorKind::kInvalidInput, fmt::format("sanitizer tool '{}' is named twice", name));
    tools.push_back(*known);
  }
  return tools;
}

std::vector<std::string> sanitizer_prefix(const std::filesystem::path& sanitizer, SanitizerTool tool,
                                          const std::filesystem::path& report, const std::filesystem::path& log) {
  std::vector<std::string> argv = {sanitizer.string(), "--tool", std::string(to_string(tool))};
  // Whether the device process ended well is the judge's own finding.
  argv.insert(argv.end(), {"--xml", "--save", report.string(), "--log-file", log.string(), "--check-exit-code", "no"});
  argv.insert(argv.end(), {"--show-backtrace", "no", "--print-limit", kMostRecords});
  // Calls of the driver's API are the device process's own; it asks for parameters until the driver says that was the last.
  if (tool == SanitizerTool::kMemcheck) argv.insert(argv.end(), {"--report-api-errors", "no"});
  return argv;
}

Result<std::vector<schema::SanitizerFinding>> read_sanitizer_report(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  const pugi::xml_node root = document.child("ComputeSanitizerOutput");
  if (!parsed || !root)
    return fail(ErrorKind::kProtocol,
                fmt::format("no complete report of compute-sanitizer: {} at byte {}",
                            parsed ? "no element ComputeSanitizerOutput" : parsed.description(), parsed.offset),
                "the tool was ended before it wrote its findings, or cannot run here");
  std::vector<Record> records;
  for (const pugi::xml_node& node : root.children("record")) {
    Record record = read_record(node);
    const auto known = std::find_if(records.begin(), records.end(),
                                    [&record](const Record& other) { return same(record.finding, other.finding); });
    if (known == records.end())
      records.push_back(std::move(record));
    else
      known->finding.count += record.finding.count;
  }
  std::vector<schema::SanitizerFinding> findings;
  for (Record& record : records) {
    if (!record.who.empty())
      record.finding.message += fmt::format("{} by {}", record.finding.count > 1 ? ", first" : "", record.who);
    findings.push_back(std::move(record.finding));
  }
  return findings;
}

}  // namespace ptxbench::judge
