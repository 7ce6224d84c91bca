#include "ptxbench/agent/prompt.h"

#include <fmt/format.h>

#include "ptxbench/base/hash.h"

namespace ptxbench::agent {
namespace {

using schema::ContextPolicy;
using schema::Definition;
using schema::TensorSpec;

std::string axes_text(const Definition& definition) {
  std::string text;
  for (const schema::Axis& axis : definition.axes) {
    text += fmt::format("- {}{}{}\n", axis.name, axis.constant ? fmt::format(" = {}", *axis.constant) : " (varies)",
                        axis.description.empty() ? "" : ": " + axis.description);
  }
  return text;
}

std::string tensor_text(const char* kind, const TensorSpec& tensor) {
  return fmt::format("- {} {}: {} {}{}\n", kind, tensor.name, schema::to_string(tensor.dtype),
                     tensor.shape ? fmt::format("[{}]", fmt::join(*tensor.shape, ", ")) : "scalar",
                     tensor.description.empty() ? "" : ", " + tensor.description);
}

std::string signature(const Definition& definition) {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : definition.inputs) names.push_back(tensor.name);
  for (const TensorSpec& tensor : definition.outputs) names.push_back(tensor.name);
  return fmt::format("run({})", fmt::join(names, ", "));
}

std::string sizes_text(const TaskInfo& task) {
  std::vector<std::string> sizes;
  for (const schema::Workload& workload : task.workloads) {
    std::vector<std::string> parts;
    for (const auto& [axis, value] : workload.axes) parts.push_back(fmt::format("{} = {}", axis, value));
    sizes.push_back(parts.empty() ? "the constants above" : fmt::format("{}", fmt::join(parts, ", ")));
  }
  return fmt::format("{}", fmt::join(sizes, "; then "));
}

std::string evidence_text(const Definition& definition, std::string_view target) {
  if (!definition.extension) return "";
  const auto families = definition.extension->target_families.find(std::string(target));
  if (families == definition.extension->target_families.end()) return "";
  return fmt::format(
      "The matrix products need {} FLOP in all. At least 90 % of them must be done by the matrix instructions of the "
      "target, and each of these instruction families must do its work: {}.\n",
      definition.extension->required_flops, fmt::join(families->second, ", "));
}

std::string goal_text(const schema::ExperimentRecord& experiment) {
  return experiment.target_speedup
             ? fmt::format(
                   "The goal is {:g} x the speed of the vendor's library. You are done when you reach it; a "
                   "correct kernel that is slower is worth more than none.\n",
                   *experiment.target_speedup)
             : "You are done when a kernel passes.\n";
}

std::string answer_of(const schema::Turn& turn) {
  if (!turn.reply.text.empty()) return turn.reply.text;
  return fmt::format("(no answer: {})", turn.reply.outcome);
}

void append_turn(std::vector<Message>& messages, const schema::Turn& turn) {
  messages.push_back({Role::kAssistant, answer_of(turn)});
  messages.push_back({Role::kUser, turn.judged.feedback});
}

}  // namespace

std::string system_prompt(std::string_view target, std::string_view pack_text, int turns) {
  std::string text = fmt::format(
      "You write GPU kernels in CUDA C++ with inline PTX for {}. A program compiles, runs and judges what you write "
      "and "
      "answers with what it found; you have {} turn{}.\n\n"
      "Answer with the complete source file in one fenced block:\n\n"
      "```cuda\n// the whole file: includes, kernels, run(), PTXBENCH_EXPORT(run)\n```\n\n"
      "Explain before the block as much as you like. Only the last complete block of an answer is judged, and nothing "
      "is "
      "carried over from earlier answers: always give the whole file.\n",
      target == "hopper"      ? "NVIDIA Hopper (sm_90a)"
      : target == "blackwell" ? "NVIDIA Blackwell (sm_100a)"
                              : target,
      turns, turns == 1 ? "" : "s");
  if (!pack_text.empty()) text += fmt::format("\n{}\n", pack_text);
  return text;
}

std::string task_prompt(const TaskInfo& task, std::string_view target, const schema::ExperimentRecord& experiment) {
  const Definition& definition = task.definition;
  std::string text = fmt::format("# Task: {}\n\n{}\n\n{} is called with, in this order:\n\n", definition.name,
                                 definition.description, signature(definition));
  for (const TensorSpec& tensor : definition.inputs) text += tensor_text("input", tensor);
  for (const TensorSpec& tensor : definition.outputs) text += tensor_text("output", tensor);
  text += "\nAxes:\n\n" + axes_text(definition);
  for (const std::string& constraint : definition.constraints) text += fmt::format("- holds: {}\n", constraint);
  text += fmt::format("\nIt is judged with {}.\n\n", sizes_text(task));
  text += fmt::format("The reference, in Python:\n\n```python\n{}{}```\n\n", definition.reference,
                      definition.reference.ends_with('\n') ? "" : "\n");
  text += evidence_text(definition, target) + goal_text(experiment);
  return text;
}

std::vector<Message> messages_for(const std::string& system, const std::string& task,
                                  const std::vector<schema::Turn>& turns, ContextPolicy policy) {
  std::vector<Message> messages = {{Role::kSystem, system}, {Role::kUser, task}};
  switch (policy) {
    case ContextPolicy::kFull:
      for (const schema::Turn& turn : turns) append_turn(messages, turn);
      break;
    case ContextPolicy::kLatestPair:
      if (!turns.empty()) append_turn(messages, turns.back());
      break;
    case ContextPolicy::kSingleUser:
      for (const schema::Turn& turn : turns)
        messages[1].text += fmt::format("\n# Your answer in turn {}\n\n{}\n\n# What was found in turn {}\n\n{}\n",
                                        turn.number, answer_of(turn), turn.number, turn.judged.feedback);
      break;
  }
  return messages;
}

std::string hash_of(const std::vector<Message>& messages) {
  std::string bytes;
  for (const Message& message : messages)
    bytes += fmt::format("{} {}\n{}", to_string(message.role), message.text.size(), message.text);
  return sha256_hex(bytes);
}

std::size_t bytes_of(const std::vector<Message>& messages) {
  std::size_t bytes = 0;
  for (const Message& message : messages) bytes += message.text.size();
  return bytes;
}

}  // namespace ptxbench::agent
