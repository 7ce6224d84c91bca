#include "ptxbench/ptx/parse.h"

#include <fmt/format.h>

#include "ptxbench/ptx/parser.h"

namespace ptxbench::ptx {

ParseOutcome parse_all(std::string_view text, std::string file_name, std::size_t max_errors) {
  ParseOutcome outcome;
  if (text.size() > kMaxTextBytes) {
    outcome.errors.push_back({ErrorKind::kTooLarge,
                              fmt::format("the PTX text has {} bytes; the limit is {}", text.size(), kMaxTextBytes),
                              {},
                              {file_name, 0, 0},
                              {}});
    return outcome;
  }
  Diagnostics diagnostics(text, file_name, max_errors);
  Parser parser(text, std::move(file_name), diagnostics);
  outcome.module = parser.run();
  outcome.errors = diagnostics.take();
  return outcome;
}

Error combine(std::vector<Error> errors) {
  Error first = std::move(errors.front());
  for (std::size_t i = 1; i < errors.size(); ++i) first.notes.push_back(errors[i].format());
  return first;
}

Result<Module> parse(std::string_view text, std::string file_name) {
  ParseOutcome outcome = parse_all(text, std::move(file_name));
  if (!outcome.errors.empty()) return fail(combine(std::move(outcome.errors)));
  return std::move(outcome.module);
}

}  // namespace ptxbench::ptx
