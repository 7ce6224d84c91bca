#include "ptxbench/shim/core.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ptxbench::shim {
namespace {

tl::unexpected<wire::Failure> fail(Code code, std::string message) { return wire::refuse(code, std::move(message)); }

// The connection's descriptor, from PTXBENCH_DEVICE_FD; -1 if there is none.
int inherited_descriptor() {
  const char* text = std::getenv("PTXBENCH_DEVICE_FD");
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long fd = std::strtol(text, &end, 10);
  struct stat info;
  if (*end != '\0' || fd < 3 || fd > INT_MAX || ::fstat(static_cast<int>(fd), &info) != 0) return -1;
  return S_ISSOCK(info.st_mode) ? static_cast<int>(fd) : -1;
}

}  // namespace

Core::Core() = default;

Answer<void> Core::connect() {
  std::lock_guard lock(mutex_);
  if (client_ != nullptr) {
    if (owner_process_ == ::getpid()) return {};
    return fail(Code::kInitializationError, "the CUDA connection does not survive fork()");
  }
  const int fd = inherited_descriptor();
  if (fd < 0) {
    return fail(
        Code::kInitializationError,
        "no device process: run this program with 'ptxbench emulate -- PROGRAM' (PTXBENCH_DEVICE_FD is not set)");
  }
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  owner_process_ = ::getpid();
  client_ = std::make_unique<wire::Client>(wire::Connection(fd));
  Answer<wire::HelloReply> hello = client_->call(wire::Hello{"shim"});
  if (!hello) return tl::unexpected(hello.error());
  device_ = std::move(hello->info);
  return {};
}

Answer<const wire::DeviceInfo*> Core::device() {
  if (Answer<void> ok = connect(); !ok) return tl::unexpected(ok.error());
  if (!device_) return fail(Code::kInitializationError, "the device process gave no answer");
  return &*device_;
}

wire::Failure Core::refuse(const std::string& api, const std::string& why) {
  std::lock_guard lock(mutex_);
  if (refused_.insert(api + why).second) static_cast<void>(call(wire::Refuse{{api, why}}));
  return {Code::kNotSupported, api + ": " + why, api};
}

Answer<wire::PointerInfoReply> Core::pointer(const void* address) {
  return call(wire::PointerInfo{reinterpret_cast<std::uint64_t>(address)});
}

Answer<void> Core::copy(void* destination, const void* source, std::size_t bytes, CopyKind kind, void* stream) {
  if (kind < CopyKind::kHostToHost || kind > CopyKind::kDefault) {
    return fail(Code::kInvalidMemcpyDirection, "no such direction of a copy");
  }
  Answer<std::uint32_t> id = stream_id(stream);
  if (!id) return tl::unexpected(id.error());
  if (bytes == 0) return {};
  if (kind == CopyKind::kDefault) {
    Answer<wire::PointerInfoReply> to = pointer(destination), from = pointer(source);
    if (!to) return tl::unexpected(to.error());
    if (!from) return tl::unexpected(from.error());
    kind = to->device ? (from->device ? CopyKind::kDeviceToDevice : CopyKind::kHostToDevice)
                      : (from->device ? CopyKind::kDeviceToHost : CopyKind::kHostToHost);
  }
  const auto to = reinterpret_cast<std::uint64_t>(destination), from = reinterpret_cast<std::uint64_t>(source);
  switch (kind) {
    case CopyKind::kHostToHost: std::memmove(destination, source, bytes); return {};
    case CopyKind::kHostToDevice: {
      auto done = call(wire::WriteMemory{to, bytes, *id}, {static_cast<const std::byte*>(source), bytes});
      if (!done) return tl::unexpected(done.error());
      return {};
    }
    case CopyKind::kDeviceToHost: {
      auto done = call(wire::ReadMemory{from, bytes, *id}, {}, {static_cast<std::byte*>(destination), bytes});
      if (!done) return tl::unexpected(done.error());
      return {};
    }
    default: {
      auto done = call(wire::CopyMemory{to, from, bytes, *id});
      if (!done) return tl::unexpected(done.error());
      return {};
    }
  }
}

Answer<void> Core::fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::size_t count, void* stream) {
  Answer<std::uint32_t> id = stream_id(stream);
  if (!id) return tl::unexpected(id.error());
  if (count == 0) return {};
  auto done = call(wire::FillMemory{address, count, pattern, width, *id});
  if (!done) return tl::unexpected(done.error());
  return {};
}

Answer<void*> Core::host_alloc(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  if (::posix_memalign(&memory, 4096, bytes) != 0) return fail(Code::kMemoryAllocation, "no host memory");
  std::lock_guard lock(mutex_);
  pinned_[reinterpret_cast<std::uintptr_t>(memory)] = {bytes, true};
  return memory;
}

Answer<void> Core::host_free(void* address) {
  if (address == nullptr) return {};
  std::lock_guard lock(mutex_);
  const auto found = pinned_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == pinned_.end() || !found->second.ours)
    return fail(Code::kInvalidValue, "not pinned memory of this program");
  pinned_.erase(found);
  std::free(address);
  return {};
}

Answer<void> Core::host_register(void* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return fail(Code::kInvalidValue, "no memory to register");
  std::lock_guard lock(mutex_);
  pinned_[reinterpret_cast<std::uintptr_t>(address)] = {bytes, false};
  return {};
}

Answer<void> Core::host_unregister(void* address) {
  std::lock_guard lock(mutex_);
  const auto found = pinned_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == pinned_.end() || found->second.ours) return fail(Code::kInvalidValue, "memory that was not registered");
  pinned_.erase(found);
  return {};
}

bool Core::is_pinned(const void* address) {
  std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto next = pinned_.upper_bound(at);
  if (next == pinned_.begin()) return false;
  --next;
  return at - next->first < next->second.bytes;
}

Answer<std::uint32_t> Core::stream_id(const void* stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) return 0;
  Answer<Stream*> known = stream_of(stream);
  if (!known) return tl::unexpected(known.error());
  return (*known)->id;
}

Answer<Stream*> Core::stream_of(const void* stream) {
  std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return fail(Code::kInvalidResourceHandle, "not a stream of this program");
  return found->second.get();
}

Answer<void*> Core::create_stream(unsigned flags, int priority) {
  if (flags > 1) return fail(Code::kInvalidValue, "unknown stream flags");
  Answer<wire::HandleReply> made = call(wire::StreamCreate{});
  if (!made) return tl::unexpected(made.error());
  std::lock_guard lock(mutex_);
  auto stream = std::make_unique<Stream>(Stream{made->handle, flags, priority});
  void* handle = stream.get();
  streams_[handle] = std::move(stream);
  return handle;
}

Answer<void> Core::destroy_stream(void* stream) {
  Answer<Stream*> known = stream_of(stream);
  if (!known) return tl::unexpected(known.error());
  auto done = call(wire::StreamDestroy{(*known)->id});
  std::lock_guard lock(mutex_);
  streams_.erase(stream);
  if (!done) return tl::unexpected(done.error());
  return {};
}

Answer<void*> Core::create_event(bool timing) {
  Answer<wire::HandleReply> made = call(wire::EventCreate{});
  if (!made) return tl::unexpected(made.error());
  std::lock_guard lock(mutex_);
  auto event = std::make_unique<Event>(Event{made->handle, timing});
  void* handle = event.get();
  events_[handle] = std::move(event);
  return handle;
}

Answer<Event*> Core::event_of(const void* event) {
  std::lock_guard lock(mutex_);
  const auto found = events_.find(event);
  if (found == events_.end()) return fail(Code::kInvalidResourceHandle, "not an event of this program");
  return found->second.get();
}

Answer<void> Core::destroy_event(void* event) {
  Answer<Event*> known = event_of(event);
  if (!known) return tl::unexpected(known.error());
  auto done = call(wire::EventDestroy{(*known)->id});
  std::lock_guard lock(mutex_);
  events_.erase(event);
  if (!done) return tl::unexpected(done.error());
  return {};
}

Answer<float> Core::elapsed(const void* start, const void* end) {
  Answer<Event*> from = event_of(start), to = event_of(end);
  if (!from) return tl::unexpected(from.error());
  if (!to) return tl::unexpected(to.error());
  if (!(*from)->timing || !(*to)->timing) {
    return fail(Code::kInvalidResourceHandle, "an event that was created without timing");
  }
  auto time = call(wire::EventElapsed{(*from)->id, (*to)->id});
  if (!time) return tl::unexpected(time.error());
  return time->milliseconds;
}

Answer<void> Core::synchronize() {
  auto done = call(wire::Synchronize{});
  if (!done) return tl::unexpected(done.error());
  if (!done->printf_output.empty()) {
    std::fwrite(done->printf_output.data(), 1, done->printf_output.size(), stdout);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace ptxbench::shim
