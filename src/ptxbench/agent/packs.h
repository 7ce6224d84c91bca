// Knowledge packs: what a prompt tells a model about a GPU generation, in levels that add up, and which PTX wrapper
// headers its compiler then finds. The files lie under knowledge/ (docs/packs.md): <target>/pack.toml names those of each
// level, tokens.json has their counted tokens.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"

namespace ptxbench::agent {

struct PackFile {
  enum class Kind {
    kDocument,  // Markdown, printed as it is
    kHeader,    // a header for candidates: printed in a fence behind its #include line
    kSupport,   // a header that shown headers include: found by the compiler, not printed
  };
  Kind kind = Kind::kDocument;
  std::string path;           // below the root: "hopper/contracts/mbarrier.md"
  std::string include_name;   // headers: as a candidate writes it, "ptxbench/ptx/hopper/mbarrier.cuh"
  std::string section;        // what it adds to a prompt; empty for kSupport
  std::string sha256;         // of the file's bytes
  std::optional<int> tokens;  // of `section`; none: the file changed since scripts/count_tokens ran
};

struct PackLevel {
  std::string name;                      // "L0" ... "L4"
  std::string title;                     // "PTX wrapper headers"
  std::vector<PackFile> files;           // what this level adds, in prompt order
  std::filesystem::path include_folder;  // what it adds to the compiler's search path; empty: nothing
  std::optional<int> tokens() const;     // of what it adds; none if a file's count is missing
};

// What a level gives to a prompt and a compiler: its own files and those of all levels below.
struct PackPrompt {
  std::string target, level;
  std::string text;                        // sections, a blank line between two; "" where a level has no files
  std::string sha256;                      // of text
  std::optional<int> tokens;               // the sum of the files' counts
  std::vector<std::string> include_names;  // shown headers
  std::vector<std::filesystem::path> include_folders;  // absolute; for toolchain::BuildRequest::include_folders
};

struct TargetPack {
  std::string target;             // "hopper", "blackwell"
  std::vector<PackLevel> levels;  // from L0 up, without gaps; a target may end below L4

  // kNotFound for a level that the target does not have; the hint lists those it has.
  Result<PackPrompt> prompt(std::string_view level) const;
};

struct PackSet {
  std::filesystem::path root;
  std::vector<TargetPack> targets;  // by name
  std::string tokenizer;            // "tekken 240911 of mistral-common 1.13.1"

  Result<const TargetPack*> find(std::string_view target) const;
  // find() and prompt() in one.
  Result<PackPrompt> prompt(std::string_view target, std::string_view level) const;
};

// Reads every <root>/*/pack.toml with its files. Errors name the file and the key: a missing file, an unknown key, a level
// out of order, a header that lies in an include folder and that the manifest does not list.
Result<PackSet> load_packs(const std::filesystem::path& root);

// The list of levels and files with their counts as a record ptxbench.packs.v1; without the texts.
std::string to_json(const PackSet& set);

// Where knowledge/ is: $PTXBENCH_KNOWLEDGE, then the install tree (../share/ptxbench/knowledge beside the program), then
// the source tree that this program was built from.
Result<std::filesystem::path> default_pack_folder();

}  // namespace ptxbench::agent
