// Everything of the tool chain that reads a candidate's bytes: text, compiler output, fat binaries, ELF files.
#include <span>
#include <string_view>

#include "ptxbench/base/check.h"
#include "ptxbench/base/fatbin.h"
#include "ptxbench/toolchain/compiler_log.h"
#include "ptxbench/toolchain/elf.h"
#include "ptxbench/toolchain/policy.h"
#include "ptxbench/toolchain/sass.h"
#include "ptxbench/toolchain/source_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptxbench;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)read_fatbin(std::as_bytes(std::span(text)), 1 << 20);
  (void)toolchain::read_elf(text);
  (void)toolchain::count_disassembly(text);
  (void)toolchain::check_text(text, "x.cu");
  (void)toolchain::check_source(text, "x.cu");
  (void)toolchain::parse_diagnostics(text, text);
  (void)toolchain::parse_kernel_resources(text);
  PTXBENCH_CHECK(toolchain::strip_comments_and_strings(text).size() == size, "stripping moved the text");
  return 0;
}
