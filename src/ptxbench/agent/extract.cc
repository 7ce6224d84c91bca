#include "ptxbench/agent/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace ptxbench::agent {
namespace {

struct Block {
  int first_line = 0;    // of the fence in the answer, from 1
  std::string language;  // lower case; "" when the fence names none
  std::string text;
  bool closed = false;
};

struct Answer {
  std::vector<std::string_view> lines;
  std::vector<Block> blocks;
};

constexpr std::array<std::string_view, 9> kKernelLanguages = {"cpp", "cuda", "c++", "cu", "c", "cc", "cxx", "cuh", ""};

bool may_hold_kernel(const Block& block) {
  return std::find(kKernelLanguages.begin(), kKernelLanguages.end(), block.language) != kKernelLanguages.end();
}

// Without <think>...</think>, and without what follows a <think> that never ends. Lines keep their numbers.
std::string without_thoughts(std::string_view answer, bool& unfinished) {
  std::string text(answer);
  for (std::size_t begin = 0; (begin = text.find("<think>", begin)) != std::string::npos;) {
    const std::size_t close = text.find("</think>", begin);
    unfinished = close == std::string::npos;
    const std::size_t end = unfinished ? text.size() : close + 8;
    for (std::size_t i = begin; i < end; ++i)
      if (text[i] != '\n') text[i] = ' ';
    begin = end;
  }
  return text;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct Fence {
  std::size_t indent = 0;
  char mark = '`';
  std::size_t length = 0;
  std::string_view info;  // what follows the marks, trimmed
};

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<Fence> fence_in(std::string_view line) {
  Fence fence;
  fence.indent = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(fence.indent);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return std::nullopt;
  fence.mark = line[0];
  fence.length = std::min(line.find_first_not_of(fence.mark), line.size());
  if (fence.length < 3) return std::nullopt;
  fence.info = trim(line.substr(fence.length));
  if (fence.info.find('`') != std::string_view::npos) return std::nullopt;  // inline code such as ```x```
  return fence;
}

// "```cuda title=x", "``` {.cpp}" -> "cuda", "cpp"
std::string language_of(std::string_view info) {
  info.remove_prefix(std::min(info.find_first_not_of("{. "), info.size()));
  std::string language(info.substr(0, info.find_first_of(" \t{}:,;")));
  std::transform(language.begin(), language.end(), language.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return language;
}

std::string_view without_indent(std::string_view line, std::size_t indent) {
  const std::size_t own = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(std::min(own, indent));
}

Answer read(std::string_view text) {
  Answer answer;
  answer.lines = split_lines(text);
  std::optional<Fence> open;
  for (std::size_t i = 0; i < answer.lines.size(); ++i) {
    const std::optional<Fence> fence = fence_in(answer.lines[i]);
    const bool closes =
        open && fence && fence->mark == open->mark && fence->length >= open->length && fence->info.empty();
    if (closes) {
      answer.blocks.back().closed = true;
      open.reset();
    } else if (fence && (!open || (!fence->info.empty() && fence->length >= open->length))) {
      // A fence that names a language is never code: the block before it was not closed.
      open = fence;
      answer.blocks.push_back({static_cast<int>(i) + 1, language_of(fence->info), "", false});
    } else if (open) {
      answer.blocks.back().text.append(without_indent(answer.lines[i], open->indent)).push_back('\n');
    }
  }
  return answer;
}

// C++ without comments; string and character literals stay, so that "//" inside them is no comment.
std::string without_comments(std::string_view code) {
  std::string out;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code.substr(i, 2) == "//") {
      i = std::min(code.find('\n', i), code.size());
      out += '\n';
    } else if (code.substr(i, 2) == "/*") {
      const std::size_t end = code.find("*/", i + 2);
      i = end == std::string_view::npos ? code.size() : end + 1;
      out += ' ';
    } else if (code[i] == '"' || code[i] == '\'') {
      const std::size_t begin = i;
      for (++i; i < code.size() && code[i] != code[begin] && code[i] != '\n'; ++i)
        if (code[i] == '\\') ++i;
      out += code.substr(begin, i - begin + 1);
    } else {
      out += code[i];
    }
  }
  return out;
}

// Empty for a complete kernel.
std::string missing_in(std::string_view code) {
  const std::string text = without_comments(code);
  const bool kernel = text.find("__global__") != std::string::npos;
  const bool exported = text.find("PTXBENCH_EXPORT") != std::string::npos ||
                        text.find("TVM_FFI_DLL_EXPORT_TYPED_FUNC") != std::string::npos;
  if (!kernel && !exported) return "no __global__ function and no PTXBENCH_EXPORT(run)";
  if (!kernel) return "no __global__ function";
  return exported ? "" : "no PTXBENCH_EXPORT(run)";
}

int lines_of(std::string_view text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

std::string describe(const Block& block) {
  const int lines = lines_of(block.text);
  return fmt::format("the block at line {} (```{}, {} line{})", block.first_line, block.language, lines,
                     lines == 1 ? "" : "s");
}

Extraction refuse(std::string report) { return {std::nullopt, std::move(report), false}; }

Extraction take(std::string source, std::string report, bool as_asked) {
  if (source.size() > kLargestKernel)
    return refuse(fmt::format("{} It has {} bytes; a kernel may have {}.", report, source.size(), kLargestKernel));
  if (source.find('\0') != std::string::npos) return refuse(report + " It holds NUL bytes and is no text.");
  return {std::move(source), std::move(report), as_asked};
}

// Without fences: from the first line that opens a source file, if a complete kernel follows.
Extraction take_bare(const Answer& answer) {
  for (std::size_t i = 0; i < answer.lines.size(); ++i) {
    const std::string_view line = trim(answer.lines[i]);
    if (!line.starts_with("#include") && !line.starts_with("#pragma") && !line.starts_with("#define")) continue;
    std::string source;
    for (std::size_t k = i; k < answer.lines.size(); ++k) source.append(answer.lines[k]).push_back('\n');
    if (!missing_in(source).empty()) break;
    return take(
        std::move(source),
        fmt::format("Your answer has no code fence; everything from line {} on was taken as the kernel.", i + 1),
        false);
  }
  return refuse(
      "Your answer has no code block. Put the complete source file into one block that starts with ```cuda and ends "
      "with ```.");
}

Extraction refuse_blocks(const Answer& answer) {
  std::string report =
      fmt::format("None of the {} code block{} in your answer is a complete kernel:", answer.blocks.size(),
                  answer.blocks.size() == 1 ? "" : "s");
  constexpr std::size_t kShown = 6;
  for (std::size_t i = 0; i < std::min(kShown, answer.blocks.size()); ++i) {
    const Block& block = answer.blocks[i];
    report += fmt::format("\n- {}: {}", describe(block),
                          !may_hold_kernel(block) ? "not a language of CUDA sources"
                          : block.closed          ? missing_in(block.text)
                                                  : missing_in(block.text) + "; it is not closed");
  }
  if (answer.blocks.size() > kShown) report += fmt::format("\n- and {} more", answer.blocks.size() - kShown);
  return refuse(report +
                "\nA complete kernel has its __global__ function, run() and PTXBENCH_EXPORT(run) in the same block: "
                "nothing is put together from several blocks or from earlier answers.");
}

}  // namespace

Extraction extract_kernel(std::string_view text) {
  bool unfinished_thought = false;
  const std::string visible = without_thoughts(text, unfinished_thought);
  const Answer answer = read(visible);
  const Block* chosen = nullptr;
  int complete = 0;
  for (const Block& block : answer.blocks) {
    if (!may_hold_kernel(block) || !missing_in(block.text).empty()) continue;
    chosen = &block;
    ++complete;
  }
  if (chosen == nullptr) {
    if (unfinished_thought && answer.blocks.empty())
      return refuse("Your answer ended inside <think>: it holds no kernel. Leave room for the code.");
    return answer.blocks.empty() ? take_bare(answer) : refuse_blocks(answer);
  }
  std::string report = fmt::format("The kernel was taken from {}.", describe(*chosen));
  if (complete > 1) report += fmt::format(" Of {} complete kernels in your answer the last one counts.", complete);
  if (!chosen->closed) report += " The block has no closing fence: everything up to the end of it was taken.";
  return take(chosen->text, std::move(report), complete == 1 && chosen->closed);
}

}  // namespace ptxbench::agent
