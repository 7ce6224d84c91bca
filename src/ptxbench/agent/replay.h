// replay: plays a recorded trajectory's answers instead of asking a model.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/agent/model/client.h"

namespace ptxbench::agent {

struct Recording {
  std::string label;                // what the file says of itself ("info.recording"); may be empty
  std::vector<ModelReply> answers;  // one per assistant message
};

// A trajectory as ptxbench run and mini-swe-agent write it: {"messages": [{"role", "content", "extra"}]}. Content may be
// text or a list of parts with text. What "extra" knows of usage and cost is played as well.
Result<Recording> read_recording(std::string_view json, const std::string& file_name);

// Gives answer number `first` (from 0) to its first request, and so on. When there are no more: Outcome::kRefusedRequest,
// which is no turn.
std::unique_ptr<ModelClient> make_replay_client(Recording recording, std::size_t first);

// "replay:PATH" -> PATH; empty for other model names.
std::string replay_path(const std::string& model_name);

}  // namespace ptxbench::agent
