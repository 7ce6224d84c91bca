// libFuzzer target: no bytes may crash the parser, and what parses must print to text that parses to the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ptxbench/ptx/parse.h"
#include "ptxbench/ptx/print.h"
#include "ptxbench/ptx/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptxbench::ptx;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ParseOutcome outcome = parse_all(text, "fuzz.ptx");
  if (!outcome.errors.empty()) return 0;
  validate_all(outcome.module, text);
  const std::string printed = print(outcome.module);
  const ParseOutcome again = parse_all(printed, "printed.ptx");
  if (!again.errors.empty() || print(again.module) != printed) std::abort();
  return 0;
}
