#include "ptxbench/gpu/vendor_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>

namespace ptxbench::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnFolders = "PTXBENCH_NVIDIA_LIBRARIES";

std::vector<fs::path> split_folders(const char* variable) {
  std::vector<fs::path> folders;
  const char* value = std::getenv(variable);
  const std::string text = value != nullptr ? value : "";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    if (end > at && text[at] == '/') folders.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

void add_toolkit(const fs::path& root, std::vector<fs::path>& folders) {
  for (const char* part : {"lib64", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"}) folders.push_back(root / part);
}

// The folders lib/ of NVIDIA's pip packages under a Python's prefix: lib/python3.*/site-packages/nvidia/*/lib.
void add_pip_packages(const fs::path& prefix, std::vector<fs::path>& folders) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& python : fs::directory_iterator(prefix / "lib", error)) {
    if (!python.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"})
      for (const auto& package : fs::directory_iterator(python.path() / packages / "nvidia", error))
        if (fs::is_directory(package.path() / "lib", error)) found.push_back(package.path() / "lib");
  }
  std::sort(found.begin(), found.end());
  folders.insert(folders.end(), found.begin(), found.end());
}

fs::path file_of(void* handle) {
  link_map* map = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

}  // namespace

std::vector<fs::path> vendor_library_folders() {
  std::vector<fs::path> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    for (const fs::path& root : split_folders(name)) add_toolkit(root, folders);
  add_toolkit("/usr/local/cuda", folders);
  std::vector<fs::path> prefixes = split_folders("VIRTUAL_ENV");
  std::error_code error;
  for (const fs::path& folder : split_folders("PATH"))
    if (fs::exists(folder / "python3", error)) prefixes.push_back(folder.parent_path());
  for (const fs::path& prefix : prefixes) add_pip_packages(prefix, folders);
  std::vector<fs::path> once;
  for (const fs::path& folder : folders)
    if (std::ranges::find(once, folder) == once.end()) once.push_back(folder);
  return once;
}

VendorLibrary::VendorLibrary(void* handle, std::string soname)
    : handle_(handle), soname_(std::move(soname)), path_(file_of(handle)) {}

Result<VendorLibrary> VendorLibrary::open(const std::string& soname) {
  std::vector<fs::path> folders = split_folders(kOwnFolders);
  folders.emplace_back();  // the loader's own path
  std::string places;
  for (const fs::path& folder : vendor_library_folders()) {
    folders.push_back(folder);
    places += ", " + folder.string();
  }
  std::string problem;
  for (const fs::path& folder : folders) {
    const std::string name = (folder / soname).string();
    std::error_code error;
    if (!folder.empty() && !fs::exists(name, error)) continue;
    if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return VendorLibrary(handle, soname);
    if (const char* text = ::dlerror(); text != nullptr && !folder.empty()) problem = fmt::format(": {}", text);
  }
  return fail(ErrorKind::kUnavailable, fmt::format("{} cannot be opened{}", soname, problem),
              fmt::format("looked in the loader's path{}; name its folder in {}", places, kOwnFolders));
}

void* VendorLibrary::symbol(const char* name) const { return ::dlsym(handle_, name); }

Result<void*> VendorLibrary::require(const char* name) const {
  if (void* address = symbol(name)) return address;
  return fail(ErrorKind::kUnavailable, fmt::format("'{}' has no function {}", path_.string(), name),
              "another version of this library is needed");
}

}  // namespace ptxbench::gpu
