// When to ask again.
#pragma once

#include <chrono>
#include <ctime>
#include <optional>
#include <string>

#include "ptxbench/agent/model/config.h"

namespace ptxbench::agent {

// What Retry-After (RFC 9110, section 10.2.3: seconds, or a date) asks for at the time `now`; a date in the past is 0.
// retry-after-ms, which OpenAI sends beside it, is finer and goes first. None when there is neither, or nonsense.
std::optional<double> retry_after_seconds(const std::string& retry_after, const std::string& retry_after_ms,
                                          std::time_t now);

// The wait before the attempt after attempt number `failed` (from 1). `chance` in [0, 1) is the jitter. What the server
// asks for is kept to, with up to a tenth of first_wait on top so that not everybody returns at once; otherwise
// first_wait doubles with each attempt up to longest_wait, and half of it is jitter.
std::chrono::duration<double> wait_before_retry(const RetryPolicy& policy, int failed,
                                                std::optional<double> retry_after_s, double chance);

}  // namespace ptxbench::agent
