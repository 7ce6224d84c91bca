// A candidate as FlashInfer Trace stores it: sources with an entry point.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/schema/definition.h"

namespace ptxbench::schema {

enum class Language { kPython, kTriton, kCpp, kCuda, kTileLang };
std::string_view to_string(Language language);  // "python", "triton", "cpp", "cuda", "tilelang"

struct SourceFile {
  std::string path;  // relative, without "..", unique in the solution
  std::string content;
};

struct Solution {
  std::string name;
  std::string definition;  // the definition's name
  std::string author;
  std::string description;
  Language language = Language::kCuda;
  std::vector<std::string> target_hardware;  // at least one
  std::string entry_point;                   // "file::symbol"; the file is one of the sources
  std::vector<std::string> dependencies;
  bool destination_passing_style = true;
  std::string binding;  // "tvm-ffi", "torch", or empty
  std::vector<SourceFile> sources;
  std::vector<UnknownField> unknown;

  // SHA-256 over everything that decides what runs: definition, language, entry point, binding, destination passing,
  // target hardware, dependencies, and path and content of each source, each with its length in front, so that no two
  // different solutions give the same bytes.
  std::string content_hash() const;
};

Result<Solution> solution_from_json(std::string_view text, std::string file_name);
std::string to_json(const Solution& solution, int indent = 2);

}  // namespace ptxbench::schema
