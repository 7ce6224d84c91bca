#include "ptxbench/cli/places.h"

#include <fmt/format.h>

#include <cstdlib>

namespace ptxbench::cli {
namespace fs = std::filesystem;

Result<Places> find_places() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return fail(ErrorKind::kUnavailable, "cannot read /proc/self/exe: " + error.message(), "mount /proc");
  const fs::path bin = self.parent_path(), prefix = bin.parent_path();

  Places places;
  places.host_program = bin / "ptxbench-host";
  places.device_emu_program = bin / "ptxbench-device-emu";
  places.shim_folder = prefix / "lib/ptxbench/shim";
  if (const char* given = std::getenv("PTXBENCH_SUITES"); given && *given)
    places.suites = given;
  else if (fs::exists(prefix / "share/ptxbench/suites", error))
    places.suites = prefix / "share/ptxbench/suites";
  else
    places.suites = PTXBENCH_SOURCE_DIR "/suites";

  for (const fs::path& piece : {places.host_program, places.device_emu_program, places.shim_folder / "libcudart.so.13",
                                places.shim_folder / "libcuda.so.1", places.suites}) {
    if (!fs::exists(piece, error))
      return fail(ErrorKind::kUnavailable, fmt::format("'{}' is missing", piece.string()),
                  "build everything (make build), or set PTXBENCH_SUITES if only the suites moved");
  }
  return places;
}

}  // namespace ptxbench::cli
