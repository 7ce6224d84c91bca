// Serves the device protocol: one control connection and any number of restricted host connections, one request at a
// time in the order in which they arrive.
//
// A host connection that sends anything but well-formed messages within its rights, or that stops in the middle of a
// message, is ended; EndRun tells the judge why. It cannot end the device process: every size is bounded, every handle
// is checked, and a failed internal check ends that connection only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ptxbench/base/result.h"
#include "ptxbench/wire/connection.h"
#include "ptxbench/wire/session.h"

namespace ptxbench::wire {

class DeviceServer {
 public:
  explicit DeviceServer(DeviceHandler& handler) : state_(handler) {}

  // Until Shutdown or the end of the control connection. kProtocol if the control connection sent nonsense.
  Status serve(Connection control);

  // One restricted connection without a control connection, until it ends (emulate, fuzzing). Returns why it ended;
  // empty for an orderly end.
  std::string serve_host(Connection host);

 private:
  struct Peer {
    Connection connection;
    std::unique_ptr<Session> session;
    std::string fault;
  };

  // One request. False: the connection is over; peer.fault says why unless it was closed in order.
  bool step(Peer& peer);
  bool dispatch(Peer& peer, const Header& header, const std::string& payload, int passed_fd);
  bool dispatch_control(Peer& peer, const Header& header, const std::string& payload, int passed_fd);
  template <class Request>
  bool answer(Peer& peer, const Header& header, const std::string& payload);
  template <class Reply>
  bool reply(Peer& peer, const Header& header, const Answer<Reply>& result);
  bool write_memory(Peer& peer, const Header& header, const std::string& payload);
  bool read_memory(Peer& peer, const Header& header, const std::string& payload);
  bool load_module(Peer& peer, const Header& header, const std::string& payload);
  bool violation(Peer& peer, std::string why);
  Answer<HandleReply> add_client(const AddClient& request, int passed_fd);
  Answer<RunReply> replay(Session& judge, const Replay& request);
  RunReply run_report() const;

  DeviceState state_;
  std::vector<std::unique_ptr<Peer>> hosts_, ended_;
  std::uint32_t next_client_ = 2;  // 1 is the control connection
  std::uint32_t run_client_ = 0;
  std::string run_fault_;
  bool shutdown_ = false;
};

}  // namespace ptxbench::wire
