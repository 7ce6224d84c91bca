// A client of the device protocol: one call per request, answered in order. Used by the judge's control connection and,
// compiled into the shim, by candidates. One call at a time; concurrent callers wait for each other.
#pragma once

#include <mutex>
#include <span>
#include <string>

#include "ptxbench/wire/answer.h"
#include "ptxbench/wire/connection.h"

namespace ptxbench::wire {

class Client {
 public:
  explicit Client(Connection connection) : connection_(std::move(connection)) {}

  // bulk_out goes after the request; bulk_in must have exactly the size of the reply's bulk. pass_fd travels with the
  // request and stays the caller's. A broken connection answers every call with Code::kUnknown; see broken().
  template <class Request>
  Answer<typename Request::Reply> call(const Request& request, std::span<const std::byte> bulk_out = {},
                                       std::span<std::byte> bulk_in = {}, int pass_fd = -1) {
    std::lock_guard lock(mutex_);
    std::string payload;
    if (Answer<void> sent = exchange(Request::kType, encode(request), bulk_out, bulk_in, pass_fd, payload); !sent) {
      return tl::unexpected<Failure>(std::move(sent).error());
    }
    typename Request::Reply reply;
    if (!decode(payload, reply)) return give_up("the reply does not decode");
    return reply;
  }

  bool broken() const { return broken_; }
  Connection& connection() { return connection_; }

 private:
  Answer<void> exchange(MessageType type, const std::string& request, std::span<const std::byte> bulk_out,
                        std::span<std::byte> bulk_in, int pass_fd, std::string& payload);
  tl::unexpected<Failure> give_up(const std::string& why);

  std::mutex mutex_;
  Connection connection_;
  std::uint64_t sequence_ = 0;
  bool broken_ = false;
};

}  // namespace ptxbench::wire
