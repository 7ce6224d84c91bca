// compute-sanitizer as a second judge of a run: how to start a device process under it, and its findings as records.
//
// The tool writes XML to a file of ours; the candidate cannot write there. The file is from the same process as the
// candidate's kernels, though, so all of it is data: names and texts are shown, numbers are checked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::judge {

enum class SanitizerTool { kMemcheck, kRacecheck, kSynccheck, kInitcheck };
std::string_view to_string(SanitizerTool tool);  // "memcheck", ...

// "memcheck,racecheck": no tool twice. kInvalidInput names an unknown one and what there is.
Result<std::vector<SanitizerTool>> sanitizer_tools_from(std::string_view list);

// What stands before the argv of the device process. `sanitizer`: path of compute-sanitizer. `report`: the XML file, which
// the tool writes when the process ends; `log`: what it has to say beside it (problems of the tool itself).
std::vector<std::string> sanitizer_prefix(const std::filesystem::path& sanitizer, SanitizerTool tool,
                                          const std::filesystem::path& report, const std::filesystem::path& log);

// The findings of one report: records that differ only in thread and address are one finding with a count, whose message
// names the first thread. kProtocol if the text is no complete report, as when the tool was killed.
Result<std::vector<schema::SanitizerFinding>> read_sanitizer_report(std::string_view xml);

}  // namespace ptxbench::judge
