// The artifact cache: folders named by content hash, safe for many processes at once and for being killed at any moment.
//   artifacts/HASH/     complete artifacts; a folder appears there by one rename
//   artifacts/.new.PID.XXXXXX/  being filled, or on its way out; removed when its process is gone
//   locks/HASH.build    held while building HASH, so that two builds of one file do the work once
//   locks/HASH.use      shared by users of the artifact; eviction needs it alone
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ptxbench/base/result.h"
#include "ptxbench/base/unique_fd.h"
#include "ptxbench/schema/artifact.h"

namespace ptxbench::toolchain {

struct CachedArtifact {
  schema::Artifact artifact;
  std::shared_ptr<void> lease;
};

class ArtifactCache {
 public:
  // Creates the folders. kUnavailable when they cannot be written.
  static Result<ArtifactCache> open(const std::filesystem::path& folder);

  // The artifact, checked against the hashes in its record; a damaged one is removed and counts as missing.
  std::optional<CachedArtifact> find(const std::string& hash) const;

  // Waits for other builders of the same hash; let go of it after publish().
  Result<UniqueFd> lock_for_build(const std::string& hash) const;

  // Copies kernel.{cu,so,ptx,cubin} of `from` and the record into the cache.
  Result<CachedArtifact> publish(const schema::Artifact& record, const std::filesystem::path& from) const;

  // Removes least recently used artifacts until at most max_bytes are left, and what killed processes left behind.
  // `keep` and artifacts in use stay.
  void evict(std::uint64_t max_bytes, const std::string& keep) const;

 private:
  explicit ArtifactCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path artifacts() const { return folder_ / "artifacts"; }
  std::filesystem::path lock_path(const std::string& hash, const char* use) const {
    return folder_ / "locks" / (hash + use);
  }
  Status remove(const std::filesystem::path& artifact) const;

  std::filesystem::path folder_;
};

}  // namespace ptxbench::toolchain
