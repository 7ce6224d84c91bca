// One end of a stream socket that carries the device protocol. Owns the descriptor. Never raises SIGPIPE.
// Depends on nothing of ours but the message types: the CUDA shim builds it in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ptxbench/wire/messages.h"

namespace ptxbench::wire {

class Connection {
 public:
  explicit Connection(int fd = -1) : fd_(fd) {}
  Connection(Connection&& other) noexcept : fd_(other.release()) {}
  Connection& operator=(Connection&& other) noexcept;
  ~Connection() { close(); }

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int release();
  void close();
  // How long one send or receive may make no progress; 0: for ever.
  void set_timeout(int milliseconds);

  // Header, payload and bulk in one go; header.payload_bytes is set here, header.bulk_bytes is the caller's (more bulk
  // may follow through write_all). pass_fd: a descriptor to send along, or -1. False: the peer is gone or stuck.
  bool send(Header header, const std::string& payload, std::span<const std::byte> bulk = {}, int pass_fd = -1);

  enum class Receive {
    kMessage,
    kClosed,     // end of stream or a read error before or inside a message
    kMalformed,  // no header of this version, or more payload than max_payload
  };
  // Header and payload; bulk is left on the stream. A descriptor that came along goes to *passed_fd (-1 if none came);
  // without passed_fd it is closed.
  Receive receive(Header& header, std::string& payload, std::uint32_t max_payload, int* passed_fd = nullptr);

  bool read_all(std::span<std::byte> bytes);
  bool write_all(std::span<const std::byte> bytes);
  bool discard(std::uint64_t bytes);

 private:
  int fd_;
};

// A connected pair of stream sockets, both close-on-exec; false if the system has no more descriptors.
bool make_pair(Connection& first, Connection& second);

}  // namespace ptxbench::wire
