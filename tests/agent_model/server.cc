#include "server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

namespace ptxbench::agent::testing {

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connect_to(int port, int flags) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  const sockaddr_in address = loopback(port);
  // A refused or pending connection shows in what follows.
  (void)::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return fd;
}

int bound_socket(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    std::abort();
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

nlohmann::ordered_json MisbehavingServer::requests(const std::string& name) const {
  const int fd = connect_to(port_, 0);
  std::string answer;
  const std::string ask = "GET /requests/" + name + " HTTP/1.1\r\n\r\n";
  if (::send(fd, ask.data(), ask.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(ask.size())) {
    char buffer[4096];
    for (ssize_t got; (got = ::recv(fd, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return nlohmann::ordered_json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
}

int closed_port() {
  int port = 0;
  ::close(bound_socket(port));
  return port;
}

FullListener::FullListener() {
  sockets_.push_back(bound_socket(port_));
  ::listen(sockets_[0], 0);
  for (int i = 0; i < 4; ++i) sockets_.push_back(connect_to(port_, SOCK_NONBLOCK));
}

FullListener::~FullListener() {
  for (const int fd : sockets_) ::close(fd);
}

SelfSigned::SelfSigned() : folder_(TempDir::create("ptxbench-tls").value()) {
  const std::string command =
      "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost "
      "-addext subjectAltName=DNS:localhost -keyout " +
      key() + " -out " + certificate() + " 2>/dev/null";
  ok_ = std::system(command.c_str()) == 0;
}

}  // namespace ptxbench::agent::testing
