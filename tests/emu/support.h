// Small PTX kernels through the machine. A Bench holds one machine; run() launches a kernel "k" whose parameters are
// 64-bit values, most of them addresses of buffers.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ptxbench/emu/machine.h"

namespace ptxbench::emu {

// Wraps a body in a module with the kernel k(p0, p1, ...) of 64-bit parameters.
inline std::string module_with(const std::string& body, int params = 2, const std::string& globals = "",
                               const std::string& directives = "") {
  std::string text = ".version 8.6\n.target sm_90a\n.address_size 64\n" + globals + "\n.visible .entry k(";
  for (int i = 0; i < params; ++i) text += std::string(i == 0 ? "" : ", ") + ".param .u64 p" + std::to_string(i);
  return text + ") " + directives + "\n{\n" + body + "\n}\n";
}

class Bench {
 public:
  explicit Bench(unsigned threads = 1) : machine_({Target::kHopper, std::uint64_t{1} << 28, threads}) {}

  template <class T>
  std::uint64_t buffer(const std::vector<T>& values) {
    auto address = machine_.alloc(values.size() * sizeof(T));
    EXPECT_TRUE(address.has_value());
    EXPECT_TRUE(machine_.write(*address, std::as_bytes(std::span(values))).has_value());
    return *address;
  }
  template <class T>
  std::vector<T> read(std::uint64_t address, std::size_t count) {
    std::vector<T> values(count);
    auto done = machine_.read(address, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().format());
    return values;
  }

  LaunchResult run(const std::string& text, const std::vector<std::uint64_t>& params, LaunchConfig config = {}) {
    auto module = machine_.load_module(text);
    if (!module) {
      ADD_FAILURE() << module.error().format() << "\n" << text;
      return {};
    }
    config.module = *module;
    if (config.function.empty()) config.function = "k";
    if (config.work_limit == 0) config.work_limit = 200'000'000;
    LaunchResult result = machine_.launch(config, std::as_bytes(std::span(params)));
    machine_.unload_module(*module);
    return result;
  }
  // The same, and the launch must end without a trap.
  LaunchResult run_clean(const std::string& text, const std::vector<std::uint64_t>& params, LaunchConfig config = {}) {
    LaunchResult result = run(text, params, config);
    EXPECT_FALSE(result.trap.has_value()) << result.trap->format();
    return result;
  }
  Machine& machine() { return machine_; }

 private:
  Machine machine_;
};

inline LaunchConfig threads(std::uint32_t block, std::uint32_t grid = 1) {
  LaunchConfig config;
  config.block.x = block;
  config.grid.x = grid;
  return config;
}

// One lane-wise instruction: `inputs` are 64-bit cells loaded into %a, %b, %c as the given register type; the 32 results of %d.
// `body` computes %d from %a, %b, %c.
inline std::vector<std::uint64_t> compute(const std::string& body, const std::string& d, const std::string& a,
                                          const std::vector<std::array<std::uint64_t, 3>>& rows,
                                          const std::string& c_type = "") {
  Bench bench;
  std::vector<std::uint64_t> in(rows.size() * 3), out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (int k = 0; k < 3; ++k) in[3 * i + std::size_t(k)] = rows[i][std::size_t(k)];
  const std::uint64_t pin = bench.buffer(in), pout = bench.buffer(out);
  const std::string c = c_type.empty() ? a : c_type;
  const std::string text = module_with(".reg .b64 %in, %out, %off, %t;\n.reg .b32 %lane;\n.reg .pred %p, %q;\n.reg ." +
                                       d + " %d;\n.reg ." + a + " %a, %b;\n.reg ." + c +
                                       " %c;\n"
                                       "ld.param.u64 %out, [p0]; ld.param.u64 %in, [p1];\nmov.u32 %lane, "
                                       "%tid.x;\nmul.wide.u32 %off, %lane, 24; add.s64 %in, %in, %off;\n"
                                       "mul.wide.u32 %off, %lane, 8; add.s64 %out, %out, %off;\n"
                                       "ld.global." +
                                       a + " %a, [%in]; ld.global." + a + " %b, [%in+8]; ld.global." + c +
                                       " %c, [%in+16];\nmov.u64 %t, 0; st.global.u64 [%out], %t;\n" + body +
                                       "\nst.global." + d + " [%out], %d;\nret;");
  bench.run_clean(text, {pout, pin}, threads(std::uint32_t(rows.size())));
  return bench.read<std::uint64_t>(pout, rows.size());
}

}  // namespace ptxbench::emu
