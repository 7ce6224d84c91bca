// The writing end of a trajectory's log.
#pragma once

#include <cstdint>
#include <filesystem>

#include "ptxbench/base/result.h"
#include "ptxbench/base/unique_fd.h"
#include "ptxbench/schema/trajectory.h"

namespace ptxbench::agent {

class EventWriter {
 public:
  // Creates the file (and makes its name durable), or opens it and cuts off what follows `whole_bytes`: the line that a
  // dying process did not finish.
  static Result<EventWriter> open(const std::filesystem::path& file, std::uint64_t whole_bytes);

  // One line, on disk when this returns. After a failure (disk full) the file ends where it ended before.
  Status append(const schema::Event& event);

 private:
  EventWriter(std::filesystem::path file, UniqueFd fd, std::uint64_t bytes)
      : file_(std::move(file)), fd_(std::move(fd)), bytes_(bytes) {}

  std::filesystem::path file_;
  UniqueFd fd_;
  std::uint64_t bytes_ = 0;
};

// "2026-12-01T09:30:00.123Z"
std::string utc_now();

}  // namespace ptxbench::agent
