#include "ptxbench/wire/client.h"

namespace ptxbench::wire {

tl::unexpected<Failure> Client::give_up(const std::string& why) {
  broken_ = true;
  return refuse(Code::kUnknown, "the connection to the device process broke: " + why);
}

Answer<void> Client::exchange(MessageType type, const std::string& request, std::span<const std::byte> bulk_out,
                              std::span<std::byte> bulk_in, int pass_fd, std::string& payload) {
  if (broken_ || !connection_.open()) return give_up("it is closed");
  if (request.size() > kMaxRequestPayload) {
    return refuse(Code::kInvalidValue, "the request is larger than a message may be");
  }
  Header header;
  header.type = static_cast<std::uint16_t>(type);
  header.sequence = ++sequence_;
  header.bulk_bytes = bulk_out.size();
  if (!connection_.send(header, request, bulk_out, pass_fd))
    return give_up("the device process does not take requests");

  Header reply;
  switch (connection_.receive(reply, payload, kMaxReplyPayload)) {
    case Connection::Receive::kClosed: return give_up("the device process ended or gave no answer in time");
    case Connection::Receive::kMalformed:
      return give_up("the answer is no message of protocol version " + std::to_string(kVersion));
    case Connection::Receive::kMessage: break;
  }
  if (reply.type != (header.type | kReplyBit) || reply.sequence != header.sequence) {
    return give_up("the answer belongs to another request");
  }
  if (reply.code != 0) {
    FailureReply failure;
    if (reply.bulk_bytes != 0 || !decode(payload, failure)) return give_up("the failure report does not decode");
    return refuse(static_cast<Code>(reply.code), std::move(failure.message), std::move(failure.call));
  }
  if (reply.bulk_bytes != bulk_in.size()) return give_up("the answer has another amount of data than was asked for");
  if (!connection_.read_all(bulk_in)) return give_up("the device process ended while it sent data");
  return {};
}

}  // namespace ptxbench::wire
