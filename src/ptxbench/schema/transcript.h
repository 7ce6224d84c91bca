// What was said in a trajectory, for people who read it: answers, kernels, verdicts and feedback. Made from a run's log, or
// kept beside imported observations as a file (ptxbench.transcript.v1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::schema {

inline constexpr std::string_view kTranscriptSchema = "ptxbench.transcript.v1";

struct TranscriptTurn {
  int turn = 0;
  std::string status;  // as turn_status_from()
  std::string answer, reasoning;
  std::string extraction;             // where the kernel was found in the answer
  std::optional<std::string> source;  // none: the answer held no kernel
  std::vector<std::string> verdicts;  // JSON objects with a "status", one per workload
  std::string feedback;
};

struct Transcript {
  std::string id;
  std::vector<TranscriptTurn> turns;
};

// {schema, id, turns: [...]}, verdicts as objects. What is no UTF-8 is replaced.
std::string to_json(const Transcript& transcript);

// Reads no more than is needed to show it whole: kInvalidInput when the text is no transcript.
Status check_transcript(std::string_view text, const std::string& file_name);

}  // namespace ptxbench::schema
