#include "ptxbench/base/supervisor_spec.h"

#include <fmt/format.h>

#include <charconv>

namespace ptxbench::supervisor {

namespace {

void put(std::string& out, std::string_view key, std::string_view value) {
  out.append(key).append("=").append(value).push_back('\0');
}
void put(std::string& out, std::string_view key, std::uint64_t value) { put(out, key, fmt::format("{}", value)); }
void put(std::string& out, std::string_view key, double value) { put(out, key, fmt::format("{}", value)); }

template <class T>
bool read_number(std::string_view text, T& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

// Calls visit(key, value) for each record; false if the text is malformed or visit refuses.
template <class Visit>
bool for_each_record(std::string_view bytes, Visit visit) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    if (end == std::string_view::npos) return false;
    const std::string_view record = bytes.substr(0, end);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos || !visit(record.substr(0, equals), record.substr(equals + 1))) return false;
    bytes.remove_prefix(end + 1);
  }
  return true;
}

bool read_limit(std::string_view key, std::string_view value, SandboxLimits& limits) {
  if (key == "cpu") return read_number(value, limits.cpu_seconds);
  if (key == "memory") return read_number(value, limits.memory_bytes);
  if (key == "processes") return read_number(value, limits.processes);
  if (key == "file_size") return read_number(value, limits.file_bytes);
  if (key == "open_files") return read_number(value, limits.open_files);
  if (key == "tmp_size") return read_number(value, limits.tmp_bytes);
  return false;
}

template <class Enum>
bool read_enum(std::string_view value, Enum& result) {
  int number = 0;
  if (!read_number(value, number)) return false;
  result = static_cast<Enum>(number);
  return true;
}

tl::unexpected<Error> malformed() {
  return fail(
      ErrorKind::kProtocol, "the supervisor and this program do not understand each other",
      "install ptxbench and ptxbench-supervisor from the same build; a profiler around ptxbench comes between them "
      "as well: ptxbench eval --audit and --sanitize start such tools where they belong");
}

}  // namespace

std::string encode(const Spec& spec) {
  std::string out;
  for (const std::string& arg : spec.argv) put(out, "arg", arg);
  for (const std::string& entry : spec.environment) put(out, "env", entry);
  put(out, "cwd", spec.working_folder);
  for (int fd : spec.inherited) put(out, "fd", static_cast<std::uint64_t>(fd));
  if (!spec.sandbox) return out;
  put(out, "profile", static_cast<std::uint64_t>(spec.sandbox->profile));
  put(out, "mode", static_cast<std::uint64_t>(spec.sandbox->mode));
  for (const auto& path : spec.sandbox->read_only) put(out, "ro", path.string());
  for (const auto& path : spec.sandbox->writable) put(out, "rw", path.string());
  const SandboxLimits& limits = spec.sandbox->limits;
  put(out, "cpu", limits.cpu_seconds);
  put(out, "memory", limits.memory_bytes);
  put(out, "processes", limits.processes);
  put(out, "file_size", limits.file_bytes);
  put(out, "open_files", limits.open_files);
  put(out, "tmp_size", limits.tmp_bytes);
  return out;
}

Result<Spec> decode(std::string_view bytes) {
  Spec spec;
  const bool good = for_each_record(bytes, [&](std::string_view key, std::string_view value) {
    const auto policy = [&]() -> SandboxPolicy& { return spec.sandbox ? *spec.sandbox : spec.sandbox.emplace(); };
    if (key == "arg") return spec.argv.emplace_back(value), true;
    if (key == "env") return spec.environment.emplace_back(value), true;
    if (key == "cwd") return spec.working_folder = value, true;
    if (key == "fd") return read_number(value, spec.inherited.emplace_back());
    if (key == "ro") return policy().read_only.emplace_back(value), true;
    if (key == "rw") return policy().writable.emplace_back(value), true;
    if (key == "profile") return read_enum(value, policy().profile);
    if (key == "mode") return read_enum(value, policy().mode);
    return read_limit(key, value, policy().limits);
  });
  if (!good || spec.argv.empty()) return malformed();
  return spec;
}

std::string encode_started(const Started& started) {
  std::string out;
  put(out, "started", static_cast<std::uint64_t>(started.sandbox));
  return out;
}

std::string encode_error(const Error& error) {
  std::string out;
  put(out, "error", static_cast<std::uint64_t>(error.kind));
  put(out, "message", error.message);
  put(out, "hint", error.hint);
  return out;
}

std::string encode_exit(const Exit& exit) {
  std::string out;
  put(out, "exit", static_cast<std::uint64_t>(exit.how));
  put(out, "code", static_cast<std::uint64_t>(exit.code));
  put(out, "signal", static_cast<std::uint64_t>(exit.signal));
  put(out, "detail", exit.detail);
  put(out, "call", exit.violation_call);
  put(out, "cpu", exit.cpu_seconds);
  put(out, "rss", exit.peak_rss_bytes);
  return out;
}

Result<Started> decode_started(std::string_view packet) {
  Started started;
  Error error;
  bool failed = false;
  const bool good = for_each_record(packet, [&](std::string_view key, std::string_view value) {
    if (key == "started") return read_enum(value, started.sandbox);
    if (key == "error") return failed = true, read_enum(value, error.kind);
    if (key == "message") return error.message = value, true;
    if (key == "hint") return error.hint = value, true;
    return false;
  });
  if (!good || packet.empty()) return malformed();
  if (failed) return fail(std::move(error));
  return started;
}

Result<Exit> decode_exit(std::string_view packet) {
  Exit exit;
  const bool good = for_each_record(packet, [&](std::string_view key, std::string_view value) {
    if (key == "exit") return read_enum(value, exit.how);
    if (key == "code") return read_number(value, exit.code);
    if (key == "signal") return read_number(value, exit.signal);
    if (key == "detail") return exit.detail = value, true;
    if (key == "call") return exit.violation_call = value, true;
    if (key == "cpu") return read_number(value, exit.cpu_seconds);
    if (key == "rss") return read_number(value, exit.peak_rss_bytes);
    return false;
  });
  if (!good || packet.empty()) return malformed();
  return exit;
}

}  // namespace ptxbench::supervisor
