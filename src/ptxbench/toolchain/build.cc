#include "ptxbench/toolchain/build.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>

#include "ptxbench/base/file.h"
#include "ptxbench/base/hash.h"
#include "ptxbench/toolchain/cache.h"
#include "ptxbench/toolchain/compile.h"
#include "ptxbench/toolchain/compiler_log.h"
#include "ptxbench/toolchain/elf.h"
#include "ptxbench/toolchain/ptx_counts.h"
#include "ptxbench/toolchain/sass.h"
#include "ptxbench/toolchain/source_text.h"

namespace ptxbench::toolchain {
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kEntrySymbol = "__tvm_ffi_run";  // TVM FFI's name of an exported function "run"

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The author's file name as it goes into messages, debug information and __FILE__: a plain name, or "kernel.cu".
std::string plain_name(const fs::path& source) {
  const std::string name = source.filename().string();
  const bool plain = !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' || c == '+';
  });
  return plain ? name : "kernel.cu";
}

Result<std::string> read_source(const fs::path& path, std::uint64_t max_bytes) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return fail(ErrorKind::kInvalidInput, fmt::format("'{}' is a folder", path.string()), "name one .cu file");
  auto text = read_file(path, max_bytes);
  if (!text) {
    Error why = text.error();
    if (why.kind == ErrorKind::kTooLarge) why.hint = "a candidate is one CUDA source file of at most 1 MiB";
    return fail(std::move(why));
  }
  if (auto status = check_text(*text, path.string()); !status) return fail(std::move(status).error());
  return text;
}

// What a file's content contributes to the cache's key. The toolkit itself is known by version, place, size and date.
std::string identity_of(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return path.string() + " missing\n";
  return fmt::format("{} {} {}.{}\n", path.string(), info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::string contents_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored))
    if (entry.is_regular_file(ignored)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string key;
  for (const fs::path& file : files) {
    const auto bytes = read_file(file);
    key += fs::relative(file, folder, ignored).string() + " " + (bytes ? sha256_hex(*bytes) : "unreadable") + "\n";
  }
  return key;
}

// A folder that is missing would only show as headers that are not found.
Status check_folders(const std::vector<fs::path>& folders) {
  std::error_code error;
  for (const fs::path& folder : folders)
    if (!fs::is_directory(folder, error))
      return fail(ErrorKind::kNotFound, fmt::format("the include folder '{}' does not exist", folder.string()));
  return {};
}

// Counting starts a disassembler, so it runs beside the policy check.
void add_static_counts(schema::Artifact& record, const Result<StaticCounts>& sass, const Result<StaticCounts>& ptx) {
  if (sass)
    record.static_sass.assign(sass->families.begin(), sass->families.end());
  else
    record.static_sass_note = sass.error().message;
  if (ptx)
    record.static_ptx.assign(ptx->families.begin(), ptx->families.end());
  else
    record.static_ptx_note = ptx.error().format();
}

std::string cache_key(const std::string& source, const std::string& name, const BuildRequest& request,
                      const Toolkit& toolkit) {
  std::string key = "ptxbench artifact 1\n" + name + "\n" + sha256_hex(source) + "\n";
  for (const std::string& option : compiler_options(request.target)) key += option + "\n";
  key += toolkit.version + "\n";
  for (const char* part : {"bin/nvcc", "bin/cudafe++", "bin/ptxas", "bin/fatbinary", "nvvm/bin/cicc",
                           "include/cuda_runtime.h", "include/cuda.h"})
    key += identity_of(toolkit.root / part);
  key += identity_of(toolkit.host_compiler);
  key += identity_of(locate_nvdisasm().value_or("no nvdisasm"));  // the record holds counts
  key += contents_of(toolkit.ptxbench_include);
  if (!toolkit.tvm_ffi_include.empty()) key += contents_of(toolkit.tvm_ffi_include);
  if (!request.include_folders.empty()) key += "headers " + headers_sha256(request.include_folders) + "\n";
  return sha256_hex(key);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text = "nvcc";
  for (const std::string& word : words) text += " " + word;
  return text;
}

CompileFailure describe_failure(const Compiled& compiled, const BuildLimits& limits) {
  CompileFailure failure;
  failure.diagnostics = parse_diagnostics(compiled.log, compiled.ptx);
  failure.log = tidy_log(compiled.log, limits.log_bytes);
  failure.seconds = compiled.seconds;
  failure.summary = compiled.failure;
  for (const Diagnostic& one : failure.diagnostics)
    if (one.is_error && failure.summary.empty())
      failure.summary = one.file.empty() ? one.message : fmt::format("{}:{}: {}", one.file, one.line, one.message);
  if (failure.summary.empty()) failure.summary = "the compiler failed; its log has the reason";
  return failure;
}

// What compiles and cannot be called is not yet a candidate: for its author the same as an undefined symbol.
std::optional<CompileFailure> missing_entry_point(const std::string& library, const std::string& name, double seconds) {
  const auto elf = read_elf(library);
  if (!elf || std::find(elf->exported.begin(), elf->exported.end(), kEntrySymbol) != elf->exported.end())
    return std::nullopt;
  CompileFailure failure;
  failure.summary = fmt::format(
      "{}: exports no host function run (no symbol {}); write PTXBENCH_EXPORT(run) of "
      "<ptxbench/ffi.h>, or TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run), behind it",
      name, kEntrySymbol);
  failure.diagnostics.push_back({name, 0, 0, true, failure.summary});
  failure.seconds = seconds;
  return failure;
}

schema::Artifact make_record(const std::string& hash, const std::string& source, const std::string& name,
                             const BuildRequest& request, const Toolkit& toolkit, const Compiled& compiled,
                             const std::string& library) {
  schema::Artifact record;
  record.hash = hash;
  record.source_name = name;
  record.source_sha256 = sha256_hex(source);
  record.library_sha256 = sha256_hex(library);
  record.cubin_sha256 = sha256_hex(compiled.cubin);
  record.ptx_sha256 = sha256_hex(compiled.ptx);
  for (const std::string& fatbin : compiled.fatbins) record.device_code_sha256.push_back(sha256_hex(fatbin));
  record.target = request.target;
  record.nvcc_version = toolkit.version;
  record.command = joined(compiler_options(request.target)) + " " +
                   (request.include_folders.empty()
                        ? ""
                        : fmt::format("-I<pack headers {:.12}> ", headers_sha256(request.include_folders))) +
                   name;
  record.kernels = parse_kernel_resources(compiled.log);
  record.build_seconds = compiled.seconds;
  record.build_sandbox = to_string(compiled.sandbox);
  for (const Diagnostic& one : parse_diagnostics(compiled.log, compiled.ptx))
    if (!one.is_error && record.warnings.size() < 20)
      record.warnings.push_back(one.file.empty() ? one.message
                                                 : fmt::format("{}:{}: {}", one.file, one.line, one.message));
  return record;
}

Result<BuildOutcome> build_anew(const std::string& hash, const std::string& source, const std::string& name,
                                const BuildRequest& request, const Toolkit& toolkit, const ArtifactCache& cache,
                                Clock::time_point start) {
  PTXBENCH_TRY(const TempDir work, TempDir::create());
  PTXBENCH_TRY(const Compiled compiled, compile(source, name, request, toolkit, work.path()));
  if (!compiled.ok) return BuildOutcome(describe_failure(compiled, request.limits));
  const fs::path library = work.path() / "kernel.so";
  PTXBENCH_TRY_STATUS(write_file_atomic(work.path() / "kernel.ptx", compiled.ptx));
  PTXBENCH_TRY_STATUS(write_file_atomic(work.path() / "kernel.cubin", compiled.cubin));
  PTXBENCH_TRY_STATUS(write_file_atomic(work.path() / "kernel.cu", source));
  auto sass = std::async(std::launch::async, [&] { return count_sass(work.path() / "kernel.cubin", request.sandbox); });
  const auto ptx = count_ptx(compiled.ptx, "kernel.ptx");
  PTXBENCH_TRY(auto findings, check_library(library, compiled.fatbins, source, name, request.sandbox));
  if (!findings.empty()) return BuildOutcome(PolicyViolation{std::move(findings)});
  PTXBENCH_TRY(const std::string library_bytes, read_file(library));
  if (auto failure = missing_entry_point(library_bytes, name, compiled.seconds))
    return BuildOutcome(std::move(*failure));
  schema::Artifact record = make_record(hash, source, name, request, toolkit, compiled, library_bytes);
  add_static_counts(record, sass.get(), ptx);
  PTXBENCH_TRY(CachedArtifact published, cache.publish(record, work.path()));
  cache.evict(request.cache_bytes, hash);
  return BuildOutcome(Built{std::move(published.artifact), false, since(start), std::move(published.lease)});
}

}  // namespace

Result<BuildOutcome> build(const BuildRequest& request) {
  const auto start = Clock::now();
  PTXBENCH_TRY(const std::string source, read_source(request.source, request.limits.source_bytes));
  const std::string name = plain_name(request.source);
  if (auto findings = check_source(source, name); !findings.empty())
    return BuildOutcome(PolicyViolation{std::move(findings)});
  PTXBENCH_TRY_STATUS(check_folders(request.include_folders));
  PTXBENCH_TRY(const Toolkit toolkit, locate_toolkit());
  PTXBENCH_TRY(const ArtifactCache cache,
               ArtifactCache::open(request.cache_folder.empty() ? default_cache_folder() : request.cache_folder));
  const std::string hash = cache_key(source, name, request, toolkit);
  const auto cached = [&]() -> std::optional<BuildOutcome> {
    if (!request.use_cache) return std::nullopt;
    auto found = cache.find(hash);
    if (!found) return std::nullopt;
    return BuildOutcome(Built{std::move(found->artifact), true, since(start), std::move(found->lease)});
  };
  if (auto found = cached()) return std::move(*found);
  PTXBENCH_TRY(const UniqueFd building, cache.lock_for_build(hash));
  if (auto found = cached()) return std::move(*found);  // somebody else built it while we waited
  remove_stale_temp_dirs();
  return build_anew(hash, source, name, request, toolkit, cache, start);
}

std::string headers_sha256(const std::vector<fs::path>& include_folders) {
  if (include_folders.empty()) return "";
  std::string key;
  for (const fs::path& folder : include_folders) key += contents_of(folder) + "\n";
  return sha256_hex(key);
}

std::string author_text(std::string text) {
  for (std::size_t at = text.find(kMarkerFolder); at != std::string::npos; at = text.find(kMarkerFolder, at))
    text.erase(at, kMarkerFolder.size());
  return text;
}

fs::path default_cache_folder() {
  const auto environment = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (const std::string own = environment("PTXBENCH_CACHE"); !own.empty()) return own;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) return fs::path(xdg) / "ptxbench";
  if (const std::string home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache/ptxbench";
  return fmt::format("/tmp/ptxbench-cache-{}", ::geteuid());
}

}  // namespace ptxbench::toolchain
