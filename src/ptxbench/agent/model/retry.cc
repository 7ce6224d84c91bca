#include "ptxbench/agent/model/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ptxbench::agent {
namespace {

std::optional<double> number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> retry_after_seconds(const std::string& retry_after, const std::string& retry_after_ms,
                                          std::time_t now) {
  if (const auto milliseconds = number(retry_after_ms)) return *milliseconds / 1000;
  if (const auto seconds = number(retry_after)) return seconds;
  if (retry_after.empty()) return std::nullopt;
  const std::time_t date = curl_getdate(retry_after.c_str(), nullptr);
  if (date == -1) return std::nullopt;
  return std::max(0.0, std::difftime(date, now));
}

std::chrono::duration<double> wait_before_retry(const RetryPolicy& policy, int failed,
                                                std::optional<double> retry_after_s, double chance) {
  const double first = std::chrono::duration<double>(policy.first_wait).count();
  const double longest = std::chrono::duration<double>(policy.longest_wait).count();
  if (retry_after_s) return std::chrono::duration<double>(*retry_after_s + 0.1 * first * chance);
  const double doubled = std::min(longest, first * std::exp2(std::min(failed - 1, 30)));
  return std::chrono::duration<double>(doubled * (0.5 + 0.5 * chance));
}

}  // namespace ptxbench::agent
