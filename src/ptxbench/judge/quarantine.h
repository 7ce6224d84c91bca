// GPUs that failed their health check after a hang. They are not used until somebody has looked at them: a note in the
// cache folder, one per card or MIG slice, outlives the process.
#pragma once

#include <string>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::judge {

// card: a name that stays with the card, as GpuStation::card() gives it.
void quarantine(const std::string& card, const std::string& why);
// kUnavailable with the reason and how to lift it.
Status check_quarantine(const std::string& card);

struct Quarantined {
  std::string card, why;
};
std::vector<Quarantined> quarantined_cards();
// Removes every note; how many there were.
int clear_quarantine();

}  // namespace ptxbench::judge
