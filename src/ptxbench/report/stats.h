// The statistics of reports. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ptxbench::report {

struct Interval {
  double low = 0, high = 1;
};

// 95 % interval of a rate by Wilson's score, without continuity correction (E. B. Wilson, JASA 22, 1927, 209-212).
// n = 0: [0, 1].
Interval wilson(std::int64_t successes, std::int64_t n);

// The unbiased estimate of the chance that at least one of k samples is right, from n samples of which c are:
// 1 - C(n - c, k) / C(n, k) (Chen et al., arXiv 2107.03374, section 2.1). None if k > n or k < 1.
std::optional<double> pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k);

// Linear between the closest ranks; q in [0, 1]. None for no values.
std::optional<double> quantile(std::vector<double> values, double q);

// One stratum (a shared task) of a comparison of two groups.
struct Stratum {
  std::int64_t a_successes = 0, a_n = 0, b_successes = 0, b_n = 0;
};

// Are the two groups' rates the same in every stratum? Exact two-sided p: with all margins fixed, A's successes are
// hypergeometric in each stratum and independent between strata; p is the chance of every total that is no more likely
// than the observed one. One stratum is Fisher's exact test. (Mehta, Patel & Gray, JASA 80, 1985, 969-973.)
double exact_stratified_p(std::span<const Stratum> strata);

// S. Holm's correction for several tests (Scand. J. Statist. 6, 1979, 65-70): the chance that any of them shows a difference
// where there is none stays below the level.
std::vector<double> holm_adjusted(const std::vector<double>& ps);

// Are paired differences as often positive as negative, weighed by size? Exact two-sided sign-flip (permutation) test of
// the mean; at most kMaxPairs pairs, none beyond. Zero differences stay in.
inline constexpr int kMaxPairs = 20;
std::optional<double> sign_flip_p(std::span<const double> differences);

}  // namespace ptxbench::report
