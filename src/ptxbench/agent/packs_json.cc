#include <nlohmann/json.hpp>

#include "ptxbench/agent/packs.h"

namespace ptxbench::agent {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_text(PackFile::Kind kind) {
  switch (kind) {
    case PackFile::Kind::kDocument: return "document";
    case PackFile::Kind::kHeader: return "header";
    case PackFile::Kind::kSupport: return "support";
  }
  return "";
}

Json number(std::optional<int> tokens) { return tokens ? Json(*tokens) : Json(); }

Json json_of(const PackFile& file) {
  return {
      {"path", file.path}, {"kind", kind_text(file.kind)}, {"sha256", file.sha256}, {"tokens", number(file.tokens)}};
}

Json json_of(const TargetPack& pack, const PackLevel& level) {
  Json files = Json::array();
  for (const PackFile& file : level.files) files.push_back(json_of(file));
  const auto prompt = pack.prompt(level.name);
  return {{"name", level.name},
          {"title", level.title},
          {"adds_tokens", number(level.tokens())},
          {"tokens", number(prompt ? prompt->tokens : std::nullopt)},
          {"prompt_sha256", prompt ? prompt->sha256 : ""},
          {"files", files}};
}

}  // namespace

std::string to_json(const PackSet& set) {
  Json targets = Json::array();
  for (const TargetPack& pack : set.targets) {
    Json levels = Json::array();
    for (const PackLevel& level : pack.levels) levels.push_back(json_of(pack, level));
    targets.push_back({{"target", pack.target}, {"levels", levels}});
  }
  const Json record = {{"schema", "ptxbench.packs.v1"}, {"tokenizer", set.tokenizer}, {"targets", targets}};
  return record.dump(2);
}

}  // namespace ptxbench::agent
