#include "ptxbench/gpu/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>

namespace ptxbench::gpu {
namespace {

namespace fs = std::filesystem;

void add_folder(std::vector<fs::path>& folders, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (!error && fs::is_directory(real) && std::ranges::find(folders, real) == folders.end()) folders.push_back(real);
}

// The entries of `parent` whose names start with `prefix`, newest version last in name order, so reversed here.
std::vector<fs::path> children(const fs::path& parent, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  std::ranges::sort(found, std::greater{});
  return found;
}

std::vector<fs::path> toolkits() {
  std::vector<fs::path> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') roots.emplace_back(value);
  }
  roots.emplace_back("/usr/local/cuda");
  for (const fs::path& root : children("/usr/local", "cuda-")) roots.push_back(root);
  return roots;
}

// site-packages and dist-packages of every python3 on PATH.
std::vector<fs::path> python_packages() {
  std::vector<fs::path> found;
  const char* path = std::getenv("PATH");
  std::string_view left = path == nullptr ? "" : path;
  while (!left.empty()) {
    const std::size_t colon = std::min(left.find(':'), left.size());
    const fs::path folder(left.substr(0, colon));
    left.remove_prefix(std::min(colon + 1, left.size()));
    std::error_code error;
    if (folder.empty() || !fs::exists(folder / "python3", error)) continue;
    for (const fs::path& lib : children(folder.parent_path() / "lib", "python3")) {
      found.push_back(lib / "site-packages");
      found.push_back(lib / "dist-packages");
    }
  }
  return found;
}

}  // namespace

std::vector<fs::path> nvidia_library_folders(std::string_view wheel) {
  std::vector<fs::path> folders;
  for (const fs::path& root : toolkits()) {
    for (const char* sub : {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib", "lib"}) {
      add_folder(folders, root / sub);
    }
  }
  if (wheel.empty()) return folders;
  for (const fs::path& packages : python_packages()) {
    add_folder(folders, packages / "nvidia" / wheel / "lib");
    add_folder(folders, packages / "nvidia/cu13/lib");
  }
  return folders;
}

Result<Library> Library::open(const std::vector<std::string>& names, std::string_view wheel,
                              std::string_view how_to_get) {
  std::vector<std::string> problems;
  const auto attempt = [&](const std::string& file) {
    void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) problems.emplace_back(::dlerror());
    return handle;
  };
  for (const std::string& name : names) {
    if (void* handle = attempt(name)) return Library(handle, name);
  }
  for (const fs::path& folder : nvidia_library_folders(wheel)) {
    for (const std::string& name : names) {
      std::error_code error;
      if (!fs::exists(folder / name, error)) continue;
      if (void* handle = attempt((folder / name).string())) return Library(handle, name);
    }
  }
  Error error{ErrorKind::kNotFound, fmt::format("cannot open {}", names.front()), std::string(how_to_get), {}, {}};
  error.notes = std::move(problems);
  return fail(std::move(error));
}

void* Library::symbol(const char* name) const { return ::dlsym(handle_, name); }

fs::path Library::path() const {
  const link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return name_;
  return map->l_name;
}

}  // namespace ptxbench::gpu
