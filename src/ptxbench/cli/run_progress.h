// What a run shows while it goes on, and its table at the end.
#pragma once

#include <map>
#include <string>

#include "ptxbench/agent/loop.h"
#include "ptxbench/schema/run_folder.h"

namespace ptxbench::cli {

// On stderr: one bar that is redrawn on a terminal, a line per step elsewhere. Calls come one at a time.
class RunProgress {
 public:
  RunProgress(const agent::RunPlan& plan, bool terminal) : plan_(plan), terminal_(terminal) {}
  void take(const agent::Progress& progress);
  void end();

 private:
  void draw();
  const agent::RunPlan& plan_;
  const bool terminal_;
  int turns_ = 0, over_ = 0, passed_ = 0, asking_ = 0;
  std::string last_;
};

// A line per trajectory: its turns' results, cost, end.
void print_summary(const schema::Run& run);

// "PASSED" -> "PASSED", with the speed-up when there is one.
std::string result_text(const schema::Turn& turn);

}  // namespace ptxbench::cli
