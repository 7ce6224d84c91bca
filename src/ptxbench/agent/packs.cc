#include "ptxbench/agent/packs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"

namespace ptxbench::agent {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 20;

// tokens.json: {"tokenizer": "...", "files": {"hopper/parameters.md": {"sha256": "...", "tokens": 259}, ...}}
struct Count {
  std::string sha256;
  int tokens = 0;
};
struct Counts {
  std::string tokenizer;
  std::map<std::string, Count> files;
};

Error manifest_error(const fs::path& manifest, std::string message, std::string hint = "docs/packs.md has the format") {
  return Error{ErrorKind::kInvalidInput, std::move(message), std::move(hint), {manifest.string(), 0, 0}, {}};
}

Result<Counts> read_counts(const fs::path& root) {
  const fs::path path = root / "tokens.json";
  PTXBENCH_TRY(const std::string text, read_file(path, kMaxFileBytes));
  try {
    const auto json = nlohmann::json::parse(text);
    Counts counts;
    counts.tokenizer = json.at("tokenizer").get<std::string>();
    for (const auto& [name, entry] : json.at("files").items())
      counts.files[name] = {entry.at("sha256").get<std::string>(), entry.at("tokens").get<int>()};
    return counts;
  } catch (const nlohmann::json::exception& error) {
    return fail(manifest_error(path, error.what(), "scripts/count_tokens writes this file"));
  }
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// scripts/count_tokens makes the same text; a test compares the two.
std::string section_of(PackFile::Kind kind, const std::string& include_name, const std::string& text) {
  switch (kind) {
    case PackFile::Kind::kDocument: return trimmed(text);
    case PackFile::Kind::kHeader: return fmt::format("#include <{}>\n```cuda\n{}\n```", include_name, trimmed(text));
    case PackFile::Kind::kSupport: break;
  }
  return "";
}

// One manifest while it is read.
class Reader {
 public:
  Reader(fs::path root, fs::path manifest, const Counts& counts)
      : root_(std::move(root)), manifest_(std::move(manifest)), folder_(manifest_.parent_path()), counts_(counts) {}

  Result<TargetPack> read() {
    PTXBENCH_TRY(const std::string text, read_file(manifest_, kMaxFileBytes));
    toml::table table;
    try {
      table = toml::parse(text);
    } catch (const toml::parse_error& error) {
      Error why = manifest_error(manifest_, std::string(error.description()));
      why.where.line = static_cast<int>(error.source().begin.line);
      why.where.column = static_cast<int>(error.source().begin.column);
      return fail(std::move(why));
    }
    PTXBENCH_TRY_STATUS(only_keys(table, {"target", "level"}));
    TargetPack pack;
    pack.target = table["target"].value_or(std::string());
    if (pack.target != folder_.filename())
      return fail(manifest_error(manifest_, fmt::format("target = \"{}\" in folder '{}': the two must agree",
                                                        pack.target, folder_.filename().string())));
    const toml::array* levels = table["level"].as_array();
    if (levels == nullptr || levels->empty()) return fail(manifest_error(manifest_, "no [[level]]"));
    for (const toml::node& node : *levels) {
      const std::string expected = fmt::format("L{}", pack.levels.size());
      if (!node.is_table()) return fail(manifest_error(manifest_, "'level' must be a list of tables"));
      PTXBENCH_TRY(PackLevel level, read_level(*node.as_table(), expected));
      pack.levels.push_back(std::move(level));
    }
    return pack;
  }

 private:
  Status only_keys(const toml::table& table, std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : table)
      if (std::find(known.begin(), known.end(), key.str()) == known.end())
        return fail(manifest_error(manifest_, fmt::format("unknown key '{}'", key.str())));
    return {};
  }

  Result<PackLevel> read_level(const toml::table& table, const std::string& expected) {
    PTXBENCH_TRY_STATUS(only_keys(table, {"name", "title", "documents", "include", "headers", "support"}));
    PackLevel level;
    level.name = table["name"].value_or(std::string());
    level.title = table["title"].value_or(std::string());
    if (level.name != expected)
      return fail(manifest_error(manifest_, fmt::format("level '{}' where '{}' comes next", level.name, expected)));
    if (level.title.empty()) return fail(manifest_error(manifest_, fmt::format("{} has no title", level.name)));
    if (const std::string include = table["include"].value_or(std::string()); !include.empty())
      level.include_folder = folder_ / include;
    PTXBENCH_TRY_STATUS(add_files(table, "documents", PackFile::Kind::kDocument, level));
    PTXBENCH_TRY_STATUS(add_files(table, "headers", PackFile::Kind::kHeader, level));
    PTXBENCH_TRY_STATUS(add_files(table, "support", PackFile::Kind::kSupport, level));
    PTXBENCH_TRY_STATUS(all_headers_listed(level));
    return level;
  }

  Status add_files(const toml::table& table, const char* key, PackFile::Kind kind, PackLevel& level) {
    if (!table.contains(key)) return {};
    const bool header = kind != PackFile::Kind::kDocument;
    if (header && level.include_folder.empty())
      return fail(manifest_error(manifest_, fmt::format("{} has '{}' and no 'include' folder", level.name, key)));
    const toml::array* names = table[key].as_array();
    if (names == nullptr) return fail(manifest_error(manifest_, fmt::format("'{}' must be a list of files", key)));
    for (const toml::node& node : *names) {
      const auto name = node.value<std::string>();
      if (!name) return fail(manifest_error(manifest_, fmt::format("'{}' must be a list of files", key)));
      PackFile file;
      file.kind = kind;
      if (header) file.include_name = *name;
      const fs::path path = ((header ? level.include_folder : folder_) / *name).lexically_normal();
      file.path = path.lexically_relative(root_.lexically_normal()).generic_string();
      PTXBENCH_TRY(const std::string text, read_file(path, kMaxFileBytes));
      file.sha256 = sha256_hex(text);
      file.section = section_of(kind, file.include_name, text);
      const auto counted = counts_.files.find(file.path);
      if (kind == PackFile::Kind::kSupport)
        file.tokens = 0;
      else if (counted != counts_.files.end() && counted->second.sha256 == file.sha256)
        file.tokens = counted->second.tokens;
      level.files.push_back(std::move(file));
    }
    return {};
  }

  // A header that the compiler finds and the manifest does not know would be an addition that no record shows.
  Status all_headers_listed(const PackLevel& level) const {
    if (level.include_folder.empty()) return {};
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(level.include_folder, error)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().lexically_relative(level.include_folder).generic_string();
      const bool listed = std::any_of(level.files.begin(), level.files.end(),
                                      [&](const PackFile& file) { return file.include_name == name; });
      if (!listed)
        return fail(manifest_error(
            manifest_, fmt::format("'{}' lies in the include folder of {} and is not listed", name, level.name),
            "name it under 'headers' (shown) or 'support' (not shown)"));
    }
    if (error)
      return fail(ErrorKind::kNotFound,
                  fmt::format("cannot list '{}': {}", level.include_folder.string(), error.message()));
    return {};
  }

  fs::path root_, manifest_, folder_;
  const Counts& counts_;
};

template <class Range, class Name>
std::string names_of(const Range& range, Name name) {
  std::vector<std::string> names;
  for (const auto& item : range) names.push_back(name(item));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::optional<int> PackLevel::tokens() const {
  int sum = 0;
  for (const PackFile& file : files) {
    if (!file.tokens) return std::nullopt;
    sum += *file.tokens;
  }
  return sum;
}

Result<PackPrompt> TargetPack::prompt(std::string_view level) const {
  const auto last = std::find_if(levels.begin(), levels.end(), [&](const PackLevel& one) { return one.name == level; });
  if (last == levels.end())
    return fail(ErrorKind::kNotFound, fmt::format("the pack of {} has no level '{}'", target, level),
                "it has " + names_of(levels, [](const PackLevel& one) { return one.name; }));
  PackPrompt prompt;
  prompt.target = target;
  prompt.level = std::string(level);
  prompt.tokens = 0;
  for (auto one = levels.begin(); one <= last; ++one) {
    if (!one->include_folder.empty()) prompt.include_folders.push_back(fs::absolute(one->include_folder));
    for (const PackFile& file : one->files) {
      if (file.kind == PackFile::Kind::kSupport) continue;
      if (file.kind == PackFile::Kind::kHeader) prompt.include_names.push_back(file.include_name);
      prompt.text += (prompt.text.empty() ? "" : "\n\n") + file.section;
      prompt.tokens = prompt.tokens && file.tokens ? std::optional(*prompt.tokens + *file.tokens) : std::nullopt;
    }
  }
  if (!prompt.text.empty()) prompt.text += "\n";
  prompt.sha256 = sha256_hex(prompt.text);
  return prompt;
}

Result<const TargetPack*> PackSet::find(std::string_view target) const {
  for (const TargetPack& pack : targets)
    if (pack.target == target) return &pack;
  return fail(ErrorKind::kNotFound, fmt::format("no knowledge pack for target '{}'", target),
              "there are " + names_of(targets, [](const TargetPack& one) { return one.target; }));
}

Result<PackPrompt> PackSet::prompt(std::string_view target, std::string_view level) const {
  PTXBENCH_TRY(const TargetPack* pack, find(target));
  return pack->prompt(level);
}

Result<PackSet> load_packs(const fs::path& root) {
  PackSet set;
  set.root = root;
  std::error_code error;
  std::vector<fs::path> manifests;
  for (const auto& entry : fs::directory_iterator(root, error))
    if (fs::is_regular_file(entry.path() / "pack.toml")) manifests.push_back(entry.path() / "pack.toml");
  if (error || manifests.empty())
    return fail(ErrorKind::kNotFound, fmt::format("no knowledge packs in '{}'", root.string()),
                "a pack is a folder with a pack.toml; PTXBENCH_KNOWLEDGE names the folder of all packs");
  std::sort(manifests.begin(), manifests.end());
  PTXBENCH_TRY(const Counts counts, read_counts(root));
  set.tokenizer = counts.tokenizer;
  for (const fs::path& manifest : manifests) {
    PTXBENCH_TRY(TargetPack pack, Reader(root, manifest, counts).read());
    set.targets.push_back(std::move(pack));
  }
  return set;
}

Result<fs::path> default_pack_folder() {
  if (const char* named = std::getenv("PTXBENCH_KNOWLEDGE"); named != nullptr && *named != '\0') return fs::path(named);
  std::error_code error;
  std::vector<fs::path> candidates;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) candidates.push_back(program.parent_path().parent_path() / "share/ptxbench/knowledge");
  candidates.emplace_back(PTXBENCH_KNOWLEDGE_FOLDER);
  for (const fs::path& candidate : candidates)
    if (fs::is_regular_file(candidate / "tokens.json", error)) return candidate;
  return fail(
      ErrorKind::kNotFound,
      fmt::format("no knowledge packs: looked in {} and {}", candidates.front().string(), candidates.back().string()),
      "set PTXBENCH_KNOWLEDGE to the folder knowledge/ of the source tree");
}

}  // namespace ptxbench::agent
