// The misbehaving server as a test holds it: a process that ends with the test, however that ends.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ptxbench/base/file.h"

namespace ptxbench::agent::testing {

class MisbehavingServer {
 public:
  // With a certificate and its key (files) it speaks TLS.
  explicit MisbehavingServer(std::string certificate = {}, std::string key = {}) {
    int to_child[2], from_child[2];
    if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(to_child[0], 0);
      ::dup2(from_child[1], 1);
      const std::string script = PTXBENCH_SOURCE_DIR "/tests/agent_model/misbehaving_server.py";
      std::vector<const char*> argv{"python3", "-I", "-S", script.c_str()};
      if (!certificate.empty()) argv.insert(argv.end(), {certificate.c_str(), key.c_str()});
      argv.push_back(nullptr);
      ::execvp("python3", const_cast<char**>(argv.data()));
      ::_exit(127);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    alive_ = to_child[1];  // the server ends when this closes
    std::FILE* output = ::fdopen(from_child[0], "r");
    if (std::fscanf(output, "%d", &port_) != 1) port_ = 0;
    std::fclose(output);
  }
  MisbehavingServer(const MisbehavingServer&) = delete;
  ~MisbehavingServer() {
    ::close(alive_);
    ::waitpid(pid_, nullptr, 0);
  }

  int port() const { return port_; }  // 0: it did not start
  std::string url(const std::string& scenario, const std::string& name = "t") const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + scenario + "/" + name;
  }
  // What was asked under this name.
  nlohmann::ordered_json requests(const std::string& name = "t") const;

 private:
  pid_t pid_ = -1;
  int alive_ = -1, port_ = 0;
};

// A loopback port that nobody listens on.
int closed_port();

// A listener whose queue is full, so that connecting to it hangs.
class FullListener {
 public:
  FullListener();
  FullListener(const FullListener&) = delete;
  ~FullListener();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  std::vector<int> sockets_;
  int port_ = 0;
};

// A self-signed certificate for localhost, made by openssl in a folder that goes with it.
class SelfSigned {
 public:
  SelfSigned();
  bool ok() const { return ok_; }
  std::string certificate() const { return folder_.path() / "certificate.pem"; }
  std::string key() const { return folder_.path() / "key.pem"; }

 private:
  TempDir folder_;
  bool ok_ = false;
};

}  // namespace ptxbench::agent::testing
