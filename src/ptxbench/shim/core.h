// The state and the operations that the two shim libraries share: the connection to the device process and the objects
// behind the API's handles. One Core per process, in libcuda.so.1; libcudart.so.13 links against that library and has
// its own copy of the code.
//
// Handles given to the program (kernels, modules, streams, events) are addresses of objects here; every one that comes
// back is looked up before use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptxbench/shim/abi.h"
#include "ptxbench/wire/client.h"

namespace ptxbench::shim {

using wire::Answer;
using wire::Code;

// A module image in this program's memory, sent to the device when it is first used.
struct Module {
  const void* image = nullptr;
  std::uint64_t bytes = 0;
  std::string owned;  // of images read from a file
  std::optional<std::uint32_t> handle;
  std::optional<wire::Failure> failure;
};
struct Kernel {
  Module* module = nullptr;
  std::string name;
  std::optional<wire::KernelReply> reply;
};
struct Variable {
  Module* module = nullptr;
  std::string name;
  std::uint64_t bytes = 0;
};
struct Stream {
  std::uint32_t id = 0;
  unsigned flags = 0;
  int priority = 0;
};
struct Event {
  std::uint32_t id = 0;
  bool timing = true;
};

class Core {
 public:
  Core();

  // Sends one request. Fails with kInitializationError when this process has no device connection.
  template <class Request>
  Answer<typename Request::Reply> call(const Request& request, std::span<const std::byte> out = {},
                                       std::span<std::byte> in = {}) {
    if (Answer<void> ok = connect(); !ok) return tl::unexpected(ok.error());
    return client_->call(request, out, in);
  }
  Answer<const wire::DeviceInfo*> device();

  // Tells the judge that `api` is not supported and answers kNotSupported. A repeated refusal is sent once.
  wire::Failure refuse(const std::string& api, const std::string& why);

  // Modules, kernels, variables.
  Module* add_module(const void* image, std::uint64_t bytes);
  Answer<Module*> load_image(const void* image);  // driver API: fat binary, wrapper, ELF or PTX text; loaded at once
  Answer<Module*> load_file(const char* path);
  Answer<void> unload(void* module);
  Answer<Module*> module_of(const void* handle);
  void add_kernel(const void* stub, Module* module, const char* name);
  void add_variable(const void* host_address, Module* module, const char* name, std::uint64_t bytes);
  Answer<Kernel*> kernel_named(Module* module, const std::string& name);  // loaded
  Answer<Kernel*> kernel_of(const void* stub_or_handle);                  // not yet loaded
  Answer<const wire::KernelReply*> load(Kernel* kernel);
  Answer<wire::GlobalInfo> global_named(Module* module, const std::string& name);
  Answer<wire::GlobalInfo> symbol(const void* host_address);
  Answer<void> set_attribute(Kernel* kernel, int attribute, int value);

  // args[i] points at the i-th argument; or, if packed is not null, the parameter buffer itself.
  Answer<void> launch(Kernel* kernel, const wire::LaunchGeometry& geometry, void* const* args, const void* packed,
                      std::size_t packed_bytes, void* stream);
  // Reads attributes of a launch into `geometry`; unknown ones are refused by name.
  Answer<void> apply(const ApiLaunchAttribute* attributes, unsigned count, wire::LaunchGeometry& geometry);

  // Memory.
  Answer<void> copy(void* destination, const void* source, std::size_t bytes, CopyKind kind, void* stream);
  Answer<void> fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::size_t count, void* stream);
  Answer<void*> host_alloc(std::size_t bytes);
  Answer<void> host_free(void* address);
  Answer<void> host_register(void* address, std::size_t bytes);
  Answer<void> host_unregister(void* address);
  // Pinned or registered host memory that holds `address`.
  bool is_pinned(const void* address);
  Answer<wire::PointerInfoReply> pointer(const void* address);

  // Streams and events. Null and the handles 1 and 2 are the default streams.
  Answer<std::uint32_t> stream_id(const void* stream);
  Answer<Stream*> stream_of(const void* stream);  // not for default streams
  Answer<void*> create_stream(unsigned flags, int priority);
  Answer<void> destroy_stream(void* stream);
  Answer<void*> create_event(bool timing);
  Answer<Event*> event_of(const void* event);
  Answer<void> destroy_event(void* event);
  Answer<float> elapsed(const void* start, const void* end);

  // Waits for the device (which is idle already, see DeviceHandler::launch) and prints what kernels printed.
  Answer<void> synchronize();

 private:
  Answer<void> connect();
  Answer<std::uint32_t> load(Module* module);

  std::recursive_mutex mutex_;
  std::unique_ptr<wire::Client> client_;
  int owner_process_ = 0;
  std::optional<wire::DeviceInfo> device_;
  std::set<std::string> refused_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::map<const void*, std::unique_ptr<Kernel>> kernels_;  // by handle
  std::unordered_map<const void*, Kernel*> stubs_;          // by host function
  std::map<std::pair<Module*, std::string>, Kernel*> kernels_by_name_;
  std::unordered_map<const void*, Variable> variables_;  // by host variable
  std::map<const void*, std::unique_ptr<Stream>> streams_;
  std::map<const void*, std::unique_ptr<Event>> events_;
  struct Pinned {
    std::size_t bytes = 0;
    bool ours = false;  // from host_alloc
  };
  std::map<std::uintptr_t, Pinned> pinned_;
  bool launched_ = false;  // since the last synchronize()
};

// The process's Core.
Core& core();

}  // namespace ptxbench::shim
