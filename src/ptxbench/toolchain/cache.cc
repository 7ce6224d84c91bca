#include "ptxbench/toolchain/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ptxbench/base/file.h"
#include "ptxbench/base/file_lock.h"
#include "ptxbench/base/hash.h"

namespace ptxbench::toolchain {
namespace fs = std::filesystem;

namespace {

constexpr const char* kFiles[] = {"kernel.cu", "kernel.so", "kernel.ptx", "kernel.cubin"};
constexpr std::string_view kPassing = ".new.";
constexpr const char* kOtherFolder = "name a writable folder in PTXBENCH_CACHE";

tl::unexpected<Error> fail_errno(std::string doing) {
  const int code = errno;
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {}: {}", doing, std::strerror(code)),
              code == ENOSPC ? "free some disk space, or name another folder in PTXBENCH_CACHE" : kOtherFolder);
}

Result<UniqueFd> lock(const fs::path& path, LockKind kind) {
  auto fd = lock_file(path, kind);
  if (!fd) fd.error().hint = kOtherFolder;
  return fd;
}

bool intact(const schema::Artifact& artifact) {
  const auto matches = [](const fs::path& path, const std::string& sha256) {
    const auto bytes = read_file(path);
    return bytes && sha256_hex(*bytes) == sha256;
  };
  return matches(artifact.library(), artifact.library_sha256) && matches(artifact.cubin(), artifact.cubin_sha256) &&
         matches(artifact.ptx(), artifact.ptx_sha256) && fs::exists(artifact.source());
}

// The process in ".new.PID.XXXXXX"; 0 if the name is another.
pid_t owner_of(const std::string& name) {
  pid_t owner = 0;
  if (name.rfind(kPassing, 0) == 0) std::from_chars(name.data() + kPassing.size(), name.data() + name.size(), owner);
  return owner;
}

Result<fs::path> passing_folder(const fs::path& artifacts) {
  std::string pattern = (artifacts / fmt::format("{}{}.XXXXXX", kPassing, ::getpid())).string();
  if (!::mkdtemp(pattern.data())) return fail_errno(fmt::format("create a folder in '{}'", artifacts.string()));
  ::chmod(pattern.c_str(), 0755);
  return fs::path(pattern);
}

std::uint64_t folder_bytes(const fs::path& folder) {
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) total += entry.file_size(ignored);
  return total;
}

}  // namespace

Result<ArtifactCache> ArtifactCache::open(const fs::path& folder) {
  ArtifactCache cache(fs::absolute(folder));
  for (const fs::path& part : {cache.artifacts(), cache.folder_ / "locks"}) {
    std::error_code error;
    fs::create_directories(part, error);
    if (error)
      return fail(ErrorKind::kUnavailable,
                  fmt::format("cannot create the cache folder '{}': {}", part.string(), error.message()),
                  "name a writable folder in PTXBENCH_CACHE");
  }
  return cache;
}

std::optional<CachedArtifact> ArtifactCache::find(const std::string& hash) const {
  auto use = lock(lock_path(hash, ".use"), LockKind::kShared);
  if (!use) return std::nullopt;
  const fs::path folder = artifacts() / hash;
  const auto text = read_file(folder / "artifact.json", 1 << 20);
  if (!text) return std::nullopt;
  auto record = schema::artifact_from_json(*text, folder);
  if (!record || record->hash != hash || !intact(*record)) {
    (void)remove(folder);
    return std::nullopt;
  }
  ::utimensat(AT_FDCWD, (folder / "artifact.json").c_str(), nullptr, 0);  // used now
  return CachedArtifact{std::move(*record), std::make_shared<UniqueFd>(std::move(*use))};
}

Result<UniqueFd> ArtifactCache::lock_for_build(const std::string& hash) const {
  return lock(lock_path(hash, ".build"), LockKind::kExclusive);
}

Result<CachedArtifact> ArtifactCache::publish(const schema::Artifact& record, const fs::path& from) const {
  PTXBENCH_TRY(const fs::path fresh, passing_folder(artifacts()));
  const auto fill = [&]() -> Status {
    for (const char* name : kFiles) {
      PTXBENCH_TRY(const std::string bytes, read_file(from / name));
      PTXBENCH_TRY_STATUS(write_file_atomic(fresh / name, bytes));
    }
    return write_file_atomic(fresh / "artifact.json", schema::to_json(record));
  };
  std::error_code ignored;
  if (auto filled = fill(); !filled) {
    fs::remove_all(fresh, ignored);
    return fail(std::move(filled).error());
  }
  const fs::path target = artifacts() / record.hash;
  auto use = lock(lock_path(record.hash, ".use"), LockKind::kShared);
  Status moved = use ? Status() : Status(fail(use.error()));
  // An older artifact of this hash (a rebuild was asked for) gives way.
  if (moved && fs::exists(target, ignored)) moved = remove(target);
  if (moved && ::rename(fresh.c_str(), target.c_str()) != 0)
    moved = fail_errno(fmt::format("publish '{}'", target.string()));
  if (!moved) {
    fs::remove_all(fresh, ignored);
    return fail(std::move(moved).error());
  }
  CachedArtifact result{record, std::make_shared<UniqueFd>(std::move(*use))};
  result.artifact.folder = target;
  return result;
}

Status ArtifactCache::remove(const fs::path& artifact) const {
  // Away in one step first: nobody then sees half of it.
  PTXBENCH_TRY(const fs::path trash, passing_folder(artifacts()));
  std::error_code ignored;
  if (::rename(artifact.c_str(), (trash / "artifact").c_str()) != 0 && errno != ENOENT) {
    auto error = fail_errno(fmt::format("remove '{}'", artifact.string()));
    fs::remove_all(trash, ignored);
    return error;
  }
  fs::remove_all(trash, ignored);
  return {};
}

void ArtifactCache::evict(std::uint64_t max_bytes, const std::string& keep) const {
  struct Entry {
    fs::path path;
    std::uint64_t bytes;
    timespec used;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator(artifacts(), ignored)) {
    const std::string name = item.path().filename().string();
    if (const pid_t owner = owner_of(name)) {
      if (::kill(owner, 0) != 0 && errno == ESRCH) fs::remove_all(item.path(), ignored);
      continue;
    }
    struct stat info {};
    if (::stat((item.path() / "artifact.json").c_str(), &info) != 0) ::stat(item.path().c_str(), &info);
    entries.push_back({item.path(), folder_bytes(item.path()), info.st_mtim});
    total += entries.back().bytes;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Entry& entry : entries) {
    if (total <= max_bytes) return;
    const std::string hash = entry.path.filename().string();
    if (hash == keep) continue;
    const auto alone = try_lock_file(lock_path(hash, ".use"), LockKind::kExclusive);
    if (!alone || !*alone) continue;
    if (remove(entry.path)) total -= entry.bytes;
  }
}

}  // namespace ptxbench::toolchain
