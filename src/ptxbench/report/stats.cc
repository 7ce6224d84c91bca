#include "ptxbench/report/stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ptxbench::report {
namespace {

// Probabilities that were computed on different ways count as equal within rounding.
constexpr double kTie = 1 + 1e-7;

double log_choose(std::int64_t n, std::int64_t k) {
  return std::lgamma(static_cast<double>(n) + 1) - std::lgamma(static_cast<double>(k) + 1) -
         std::lgamma(static_cast<double>(n - k) + 1);
}

// Probability of each count of A's successes, from `first` up.
struct Distribution {
  std::int64_t first = 0;
  std::vector<double> p{1.0};
};

Distribution hypergeometric(const Stratum& s) {
  const std::int64_t successes = s.a_successes + s.b_successes, n = s.a_n + s.b_n;
  const std::int64_t low = std::max<std::int64_t>(0, successes - s.b_n), high = std::min(s.a_n, successes);
  Distribution d{low, {}};
  for (std::int64_t x = low; x <= high; ++x)
    d.p.push_back(std::exp(log_choose(s.a_n, x) + log_choose(s.b_n, successes - x) - log_choose(n, successes)));
  return d;
}

Distribution convolve(const Distribution& a, const Distribution& b) {
  Distribution sum{a.first + b.first, std::vector<double>(a.p.size() + b.p.size() - 1)};
  for (std::size_t i = 0; i < a.p.size(); ++i)
    for (std::size_t j = 0; j < b.p.size(); ++j) sum.p[i + j] += a.p[i] * b.p[j];
  return sum;
}

}  // namespace

Interval wilson(std::int64_t successes, std::int64_t n) {
  if (n <= 0) return {};
  constexpr double z = 1.959963984540054;  // the normal distribution's 97.5 % point
  const double count = static_cast<double>(n), rate = static_cast<double>(successes) / count;
  const double centre = rate + z * z / (2 * count);
  const double half = z * std::sqrt(rate * (1 - rate) / count + z * z / (4 * count * count));
  const double scale = 1 + z * z / count;
  // No success is compatible with a rate of 0, and rounding must not say otherwise.
  return {successes == 0 ? 0 : (centre - half) / scale, successes == n ? 1 : (centre + half) / scale};
}

std::optional<double> pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k) {
  if (k < 1 || k > n) return std::nullopt;
  double none = 1;
  for (std::int64_t i = 0; i < k; ++i)
    none *= std::max(0.0, static_cast<double>(n - c - i)) / static_cast<double>(n - i);
  return 1 - none;
}

std::optional<double> quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const std::size_t below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double exact_stratified_p(std::span<const Stratum> strata) {
  Distribution total;
  std::int64_t observed = 0;
  for (const Stratum& stratum : strata) {
    total = convolve(total, hypergeometric(stratum));
    observed += stratum.a_successes;
  }
  const double limit = total.p[static_cast<std::size_t>(observed - total.first)] * kTie;
  double p = 0;
  for (const double chance : total.p)
    if (chance <= limit) p += chance;
  return std::min(1.0, p);
}

std::vector<double> holm_adjusted(const std::vector<double>& ps) {
  std::vector<std::size_t> order(ps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ps[a] < ps[b]; });
  std::vector<double> adjusted(ps.size());
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, std::min(1.0, static_cast<double>(ps.size() - i) * ps[order[i]]));
    adjusted[order[i]] = least;
  }
  return adjusted;
}

std::optional<double> sign_flip_p(std::span<const double> differences) {
  if (differences.empty() || differences.size() > kMaxPairs) return std::nullopt;
  const double observed = std::fabs(std::accumulate(differences.begin(), differences.end(), 0.0));
  const std::uint32_t flips = 1u << differences.size();
  std::uint32_t as_large = 0;
  for (std::uint32_t signs = 0; signs < flips; ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i)
      sum += (signs >> i & 1) != 0 ? -differences[i] : differences[i];
    if (std::fabs(sum) * kTie >= observed) ++as_large;
  }
  return static_cast<double>(as_large) / flips;
}

}  // namespace ptxbench::report
