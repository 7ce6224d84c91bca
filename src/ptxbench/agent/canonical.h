// When two run folders are the same: all files, byte by byte, except for what no repetition can keep.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "ptxbench/base/result.h"

namespace ptxbench::agent {

// Relative path -> text with these left out:
// - times: the JSON fields at, created, timestamp, seconds, wait_seconds, judge_seconds, first_token_seconds, phases;
// - whether the compiler's cache had the artifact: cached;
// - from logs: suspend events, and requests that were lost in flight; from the summary what these may have cost;
// - the lock, and unfinished temporary files.
// A run that was killed and resumed gives the same as one that was not.
Result<std::map<std::string, std::string>> canonical_files(const std::filesystem::path& run);

}  // namespace ptxbench::agent
