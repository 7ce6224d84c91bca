// What a model is told before its first answer, and which of its earlier turns it is shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/agent/evaluator.h"
#include "ptxbench/agent/model/client.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::agent {

// First message: the role, the form of an answer, then the pack's text (which says what a candidate is and how it is
// judged).
std::string system_prompt(std::string_view target, std::string_view pack_text, int turns);

// Second message: the task. Tensors, sizes and reference come from the definition.
std::string task_prompt(const TaskInfo& task, std::string_view target, const schema::ExperimentRecord& experiment);

// The request for the turn after `turns`, under the context policy. An answer without text is shown as a remark, since
// no provider takes an empty message.
std::vector<Message> messages_for(const std::string& system, const std::string& task,
                                  const std::vector<schema::Turn>& turns, schema::ContextPolicy policy);

// SHA-256 over roles and texts.
std::string hash_of(const std::vector<Message>& messages);
std::size_t bytes_of(const std::vector<Message>& messages);

}  // namespace ptxbench::agent
