#include "ptxbench/wire/connection.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cerrno>

#include <algorithm>
#include <cstring>

namespace ptxbench::wire {

Connection& Connection::operator=(Connection&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int Connection::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void Connection::close() {
  if (fd_ >= 0) ::close(release());
}

void Connection::set_timeout(int milliseconds) {
  const timeval time{milliseconds / 1000, (milliseconds % 1000) * 1000};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

bool Connection::send(Header header, const std::string& payload, std::span<const std::byte> bulk, int pass_fd) {
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  iovec parts[3] = {{&header, sizeof header},
                    {const_cast<char*>(payload.data()), payload.size()},
                    {const_cast<std::byte*>(bulk.data()), bulk.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 3;
  if (pass_fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &pass_fd, sizeof(int));
  }
  std::size_t left = sizeof header + payload.size() + bulk.size();
  while (left > 0) {
    const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    left -= static_cast<std::size_t>(sent);
    message.msg_control = nullptr;  // the descriptor went with the first bytes
    message.msg_controllen = 0;
    std::size_t done = static_cast<std::size_t>(sent);
    while (done > 0) {
      iovec& part = *message.msg_iov;
      const std::size_t step = std::min(done, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + step;
      part.iov_len -= step;
      done -= step;
      if (part.iov_len == 0 && message.msg_iovlen > 1) {
        ++message.msg_iov;
        --message.msg_iovlen;
      }
    }
  }
  return true;
}

namespace {

// Keeps the first descriptor that came with a message, closes any other.
void take_descriptors(msghdr& message, int& kept) {
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr; item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof fd);
      if (kept < 0) {
        kept = fd;
      } else {
        ::close(fd);
      }
    }
  }
}

}  // namespace

Connection::Receive Connection::receive(Header& header, std::string& payload, std::uint32_t max_payload,
                                        int* passed_fd) {
  int passed = -1;
  std::size_t have = 0;
  while (have < sizeof header) {
    iovec part{reinterpret_cast<char*>(&header) + have, sizeof header - have};
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) take_descriptors(message, passed);
    if (got <= 0) {
      if (passed >= 0) ::close(passed);
      return Receive::kClosed;
    }
    have += static_cast<std::size_t>(got);
  }
  if (passed_fd != nullptr) {
    *passed_fd = passed;
  } else if (passed >= 0) {
    ::close(passed);
  }
  if (header.magic != kMagic || header.version != kVersion || header.payload_bytes > max_payload) {
    return Receive::kMalformed;
  }
  payload.resize(header.payload_bytes);
  if (!read_all(std::as_writable_bytes(std::span(payload)))) return Receive::kClosed;
  return Receive::kMessage;
}

bool Connection::read_all(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool Connection::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Connection::discard(std::uint64_t bytes) {
  std::byte sink[16384];
  while (bytes > 0) {
    const std::size_t step = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, sizeof sink));
    if (!read_all(std::span(sink, step))) return false;
    bytes -= step;
  }
  return true;
}

bool make_pair(Connection& first, Connection& second) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return false;
  first = Connection(fds[0]);
  second = Connection(fds[1]);
  return true;
}

}  // namespace ptxbench::wire
