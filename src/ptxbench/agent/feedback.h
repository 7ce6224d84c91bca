// What the model is told after a turn. Built from the verdict's typed fields and the kernel's own text, nothing else: no
// seed, no inputs, no text of tools that the verdict does not hold. docs/feedback.md shows one example per status.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/agent/extract.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::agent {

struct FeedbackRequest {
  int turn = 1, turns = 8;
  Extraction extraction;
  // How the reply ended (to_string(Outcome)) and why; "answer" needs no word.
  std::string outcome = "answer", outcome_detail;
  std::vector<schema::Verdict> verdicts;  // empty when there was no kernel
  std::optional<double> target_speedup;
  std::optional<double> best_speedup;  // of earlier turns
};

// Ends in a newline; at most kLargestFeedback bytes, valid UTF-8. Every part has its own cap and says what it left out.
std::string feedback(const FeedbackRequest& request);

inline constexpr std::size_t kLargestFeedback = 12'000;

}  // namespace ptxbench::agent
