// libFuzzer: what a host connection may send. The device process must neither crash nor read beyond its buffers.
// The input is a list of frames: message type, payload length, bulk length (a byte each), payload. They get well-formed
// headers, since random bytes hardly ever pass the first check, and stand behind messages that make valid handles.
// Type 255 sends the rest of the input as it is.
#include <sys/socket.h>

#include <thread>

#include "fake_device.h"
#include "ptxbench/wire/server.h"

namespace {

using namespace ptxbench::wire;

class Stream {
 public:
  template <class Request>
  void add(const Request& request, std::string_view bulk = {}) {
    frame(static_cast<std::uint16_t>(Request::kType), encode(request), bulk);
  }
  void frame(std::uint16_t type, std::string_view payload, std::string_view bulk) {
    Header header;
    header.type = type;
    header.sequence = ++sequence_;
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.bulk_bytes = bulk.size();
    bytes_.append(reinterpret_cast<const char*>(&header), sizeof header);
    bytes_.append(payload).append(bulk);
  }
  void raw(std::string_view bytes) { bytes_.append(bytes); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::uint64_t sequence_ = 0;
};

std::string stream_of(std::string_view input) {
  const std::string_view image =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry echo(.param .u64 a) { ret; }\n.visible .entry add(.param .u64 a) { ret; }\n";
  Stream stream;
  stream.add(Hello{"fuzz"});
  stream.add(Alloc{256});
  stream.add(StreamCreate{});
  stream.add(EventCreate{});
  stream.add(LoadModule{image.size()}, image);
  const std::string zeros(255, '\0');
  while (input.size() >= 3) {
    const auto type = static_cast<std::uint8_t>(input[0]);
    const auto payload = static_cast<std::uint8_t>(input[1]), bulk = static_cast<std::uint8_t>(input[2]);
    input.remove_prefix(3);
    if (type == 255) break;
    stream.frame(type, input.substr(0, payload), std::string_view(zeros).substr(0, bulk));
    input.remove_prefix(std::min<std::size_t>(payload, input.size()));
  }
  stream.raw(input);
  return stream.bytes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Connection ours, theirs;
  if (!make_pair(ours, theirs)) return 0;
  FakeDevice device;
  DeviceServer server(device);
  const std::string bytes = stream_of({reinterpret_cast<const char*>(data), size});
  std::thread writer([&] {
    static_cast<void>(ours.write_all(std::as_bytes(std::span(bytes))));
    ::shutdown(ours.fd(), SHUT_WR);
    std::byte sink[4096];
    while (::recv(ours.fd(), sink, sizeof sink, 0) > 0) {
    }
  });
  static_cast<void>(server.serve_host(std::move(theirs)));
  writer.join();
  return 0;
}
