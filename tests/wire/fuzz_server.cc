// libFuzzer: arbitrary bytes on a host connection. The device process must neither crash nor read beyond its buffers.
#include <sys/socket.h>

#include <thread>

#include "fake_device.h"
#include "ptxbench/wire/server.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptxbench::wire;
  Connection ours, theirs;
  if (!make_pair(ours, theirs)) return 0;
  FakeDevice device;
  DeviceServer server(device);
  std::thread writer([&] {
    static_cast<void>(ours.write_all(std::as_bytes(std::span(data, size))));
    ::shutdown(ours.fd(), SHUT_WR);
    std::byte sink[4096];
    while (::recv(ours.fd(), sink, sizeof sink, 0) > 0) {
    }
  });
  static_cast<void>(server.serve_host(std::move(theirs)));
  writer.join();
  return 0;
}
