// A scripted evaluator, packs and plans for the loop's tests.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "ptxbench/agent/run.h"
#include "ptxbench/base/hash.h"

namespace ptxbench::agent {

// A record that is sound in itself: PASSED when the source holds "good", else COMPILE_ERROR.
inline schema::Verdict fake_verdict(const EvaluationRequest& request) {
  schema::VerdictFields fields;
  fields.task = request.task;
  fields.workload_uuid = request.workload;
  fields.axes = {{"M", 128}};
  fields.target = request.target;
  fields.device = "fake";
  fields.source_hash = sha256_hex(request.source);
  fields.seed = request.seed;
  if (request.source.find("good") == std::string::npos) {
    fields.status = schema::VerdictStatus::kCompileError;
    fields.message = "kernel.cu:1: no";
    fields.compile.state = schema::LayerState::kFailed;
    fields.compile.message = fields.message;
    fields.compile.diagnostics = {{"error", "kernel.cu", 1, 1, "no"}};
    return *schema::Verdict::create(fields);
  }
  fields.status = schema::VerdictStatus::kPassed;
  fields.artifact_hash = "ab";
  fields.compile.state = fields.correct.state = fields.executed.state = schema::LayerState::kPassed;
  schema::OutputFigures output;
  output.output = "C";
  fields.correct.strict_passed = fields.correct.paper_passed = true;
  fields.correct.runs = {{"latest", 0.5, 1}};
  fields.correct.families = {{"normal", "N(0,1)", 0, "all", true, true, true, {output}, {}}};
  fields.executed.strict_passed = fields.executed.paper_passed = true;
  fields.executed.families = {{"wgmma", true, 4, std::nullopt, 100, 3200, 9395240960U, 0}};
  fields.executed.launches = {{0, "gemm", {1, 1, 1}, {384, 1, 1}, {1, 1, 1}, 0, 1, fields.executed.families}};
  fields.fast.state = schema::LayerState::kNotMeasured;
  fields.fast.message = "not measured: no GPU";
  return *schema::Verdict::create(fields);
}

class FakeEvaluator : public Evaluator {
 public:
  Result<TaskInfo> task(const std::string& name, const std::string& target, const std::string&) override {
    if (target != "hopper") return fail(ErrorKind::kUnsupported, "target '" + target + "'");
    TaskInfo info;
    info.definition.name = name;
    schema::Workload workload;
    workload.uuid = "w1";
    info.workloads = {workload};
    return info;
  }
  int slots() const override { return 1; }
  Result<schema::Verdict> evaluate(const EvaluationRequest& request) override {
    ++evaluations;
    const int now = ++running;
    most_running = std::max(most_running.load(), now);
    std::this_thread::sleep_for(delay);
    --running;
    if (ill || always_fails) return fail(ErrorKind::kUnavailable, "the device fell off the bus");
    return fake_verdict(request);
  }
  Status check_health() override {
    ++probes;
    if (probes >= well_after) ill = false;
    if (ill) return fail(ErrorKind::kUnavailable, "still no device");
    return {};
  }
  std::vector<schema::ToolVersion> versions() override { return {{"fake", "1"}}; }

  std::chrono::milliseconds delay{0};
  std::atomic<int> evaluations = 0, running = 0, most_running = 0, probes = 0, well_after = 1'000'000;
  std::atomic<bool> ill = false, always_fails = false;
};

inline std::string answer(const std::string& word) {
  return "I try.\\n\\n```cuda\\n__global__ void k() {} // " + word + "\\nPTXBENCH_EXPORT(run)\\n```\\n";
}

// A recording with these answers, as JSON.
inline std::string recording(const std::vector<std::string>& words) {
  std::string messages;
  for (const std::string& word : words)
    messages += std::string(messages.empty() ? "" : ",") + R"({"role":"assistant","content":")" +
                (word == "none" ? "no code" : answer(word)) + R"(","extra":{"cost":0.25}})";
  return R"({"info":{"recording":"for a test"},"messages":[)" + messages + "]}";
}

inline PackSet fake_packs() {
  TargetPack pack;
  pack.target = "hopper";
  pack.levels.resize(2);
  pack.levels[0].name = "L0";
  pack.levels[1].name = "L1";
  PackSet set;
  set.targets = {pack};
  return set;
}

}  // namespace ptxbench::agent
