#include "ptxbench/wire/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace ptxbench::wire {
namespace {

constexpr int kHostStallMs = 30'000;  // a host that stops in the middle of a message holds up the device for so long
constexpr std::size_t kChunk = 256 << 10;

// Where bulk data rest between the stream and the device's memory.
class Chunks {
 public:
  Chunks(DeviceHandler& handler, std::uint64_t total) {
    if (total > kChunk) buffer_ = handler.staging();
    if (!buffer_.empty()) return;
    own_.resize(std::min<std::uint64_t>(total, kChunk));
    buffer_ = own_;
  }
  std::span<std::byte> next(std::uint64_t left) const {
    return buffer_.first(std::min<std::uint64_t>(buffer_.size(), left));
  }

 private:
  std::vector<std::byte> own_;
  std::span<std::byte> buffer_;
};

bool control_only(MessageType type) { return type >= MessageType::kAddClient; }

}  // namespace

bool DeviceServer::violation(Peer& peer, std::string why) {
  peer.fault = std::move(why);
  return false;
}

template <class Reply>
bool DeviceServer::reply(Peer& peer, const Header& request, const Answer<Reply>& result) {
  Header header;
  header.type = request.type | kReplyBit;
  header.sequence = request.sequence;
  std::string payload;
  if (result) {
    payload = encode(*result);
  } else {
    header.code = static_cast<std::int32_t>(result.error().code);
    if (header.code == 0) header.code = static_cast<std::int32_t>(Code::kUnknown);
    payload = encode(FailureReply{result.error().message, result.error().call});
    if (state_.recorder.records(peer.session->id())) {
      if (!result.error().call.empty()) {
        state_.recorder.add_refusal({result.error().call, result.error().message});
      } else if (result.error().code != state_.sticky) {
        state_.recorder.add_failure({header.code, result.error().message});
      }
    }
  }
  return peer.connection.send(header, payload);
}

template <class Request>
bool DeviceServer::answer(Peer& peer, const Header& header, const std::string& payload) {
  Request request;
  if (header.bulk_bytes != 0 || !decode(payload, request)) {
    return violation(peer, fmt::format("a message of type {} that does not decode", header.type));
  }
  if constexpr (!std::is_same_v<Request, Hello> && !std::is_same_v<Request, GetDeviceInfo> &&
                !std::is_same_v<Request, Refuse> && !std::is_same_v<Request, PointerInfo>) {
    if (Answer<void> usable = peer.session->usable(); !usable) {
      return reply<typename Request::Reply>(peer, header, tl::unexpected(usable.error()));
    }
  }
  return reply<typename Request::Reply>(peer, header, peer.session->on(request));
}

bool DeviceServer::write_memory(Peer& peer, const Header& header, const std::string& payload) {
  WriteMemory request;
  if (!decode(payload, request) || header.bulk_bytes != request.bytes) {
    return violation(peer, "a memory write whose data does not have the announced size");
  }
  Answer<void> ok = peer.session->usable();
  if (ok) ok = peer.session->before_write(request);
  if (!ok) {
    if (!peer.connection.discard(request.bytes)) return false;
    return reply<Empty>(peer, header, tl::unexpected(ok.error()));
  }
  std::span<std::byte> target = state_.handler.host_view(request.address, request.bytes);
  if (!target.empty()) {
    if (!peer.connection.read_all(target)) return false;
    peer.session->after_write(request, target);
    return reply<Empty>(peer, header, Empty{});
  }
  Chunks chunks(state_.handler, request.bytes);
  std::span<std::byte> chunk;
  for (std::uint64_t done = 0; done < request.bytes; done += chunk.size()) {
    chunk = chunks.next(request.bytes - done);
    if (!peer.connection.read_all(chunk)) return false;
    if (ok) ok = state_.handler.write(request.address + done, chunk);
    if (ok) {
      WriteMemory part = request;
      part.address += done;
      part.bytes = chunk.size();
      peer.session->after_write(part, chunk);
    }
  }
  if (!ok) return reply<Empty>(peer, header, tl::unexpected(ok.error()));
  return reply<Empty>(peer, header, Empty{});
}

bool DeviceServer::read_memory(Peer& peer, const Header& header, const std::string& payload) {
  ReadMemory request;
  if (header.bulk_bytes != 0 || !decode(payload, request)) {
    return violation(peer, "a memory read that does not decode");
  }
  Answer<void> ok = peer.session->usable();
  if (ok) ok = peer.session->before_read(request);
  if (!ok) return reply<Empty>(peer, header, tl::unexpected(ok.error()));

  Header answer;
  answer.type = header.type | kReplyBit;
  answer.sequence = header.sequence;
  answer.bulk_bytes = request.bytes;
  const std::span<std::byte> source = state_.handler.host_view(request.address, request.bytes);
  if (!source.empty() || request.bytes == 0) {
    peer.session->after_read(request);
    return peer.connection.send(answer, encode(Empty{}), source);
  }
  Chunks chunks(state_.handler, request.bytes);
  std::span<std::byte> chunk;
  for (std::uint64_t done = 0; done < request.bytes; done += chunk.size()) {
    chunk = chunks.next(request.bytes - done);
    ok = state_.handler.read(request.address + done, chunk);
    if (!ok && done == 0) return reply<Empty>(peer, header, tl::unexpected(ok.error()));
    if (!ok) return violation(peer, "the device memory went away during a read");
    if (done == 0 ? !peer.connection.send(answer, encode(Empty{}), chunk) : !peer.connection.write_all(chunk)) {
      return false;
    }
  }
  peer.session->after_read(request);
  return true;
}

bool DeviceServer::load_module(Peer& peer, const Header& header, const std::string& payload) {
  LoadModule request;
  if (!decode(payload, request) || header.bulk_bytes != request.bytes) {
    return violation(peer, "a module whose image does not have the announced size");
  }
  Answer<void> ok = peer.session->usable();
  if (ok && request.bytes > kMaxImage) {
    ok = refuse(Code::kInvalidKernelImage, fmt::format("a module of {} bytes; at most {}", request.bytes, kMaxImage));
  }
  if (!ok) {
    if (!peer.connection.discard(request.bytes)) return false;
    return reply<HandleReply>(peer, header, tl::unexpected(ok.error()));
  }
  std::vector<std::byte> image;
  // Grown as the bytes arrive: an announced size alone costs no memory.
  for (std::uint64_t done = 0; done < request.bytes; done = image.size()) {
    image.resize(std::min<std::uint64_t>(request.bytes, done + kChunk));
    if (!peer.connection.read_all(std::span(image).subspan(done))) return false;
  }
  return reply<HandleReply>(peer, header, peer.session->load(image));
}

bool DeviceServer::dispatch(Peer& peer, const Header& header, const std::string& payload, int passed_fd) {
  const MessageType type = static_cast<MessageType>(header.type);
  if (control_only(type)) {
    if (peer.session->control()) return dispatch_control(peer, header, payload, passed_fd);
    return violation(peer, fmt::format("message type {} belongs to the judge", header.type));
  }
  switch (type) {
    case MessageType::kHello: return answer<Hello>(peer, header, payload);
    case MessageType::kAlloc: return answer<Alloc>(peer, header, payload);
    case MessageType::kFree: return answer<Free>(peer, header, payload);
    case MessageType::kWriteMemory: return write_memory(peer, header, payload);
    case MessageType::kReadMemory: return read_memory(peer, header, payload);
    case MessageType::kCopyMemory: return answer<CopyMemory>(peer, header, payload);
    case MessageType::kFillMemory: return answer<FillMemory>(peer, header, payload);
    case MessageType::kPointerInfo: return answer<PointerInfo>(peer, header, payload);
    case MessageType::kMemoryInfo: return answer<MemoryInfo>(peer, header, payload);
    case MessageType::kLoadModule: return load_module(peer, header, payload);
    case MessageType::kUnloadModule: return answer<UnloadModule>(peer, header, payload);
    case MessageType::kGetKernel: return answer<GetKernel>(peer, header, payload);
    case MessageType::kGetGlobal: return answer<GetGlobal>(peer, header, payload);
    case MessageType::kSetKernelAttribute: return answer<SetKernelAttribute>(peer, header, payload);
    case MessageType::kLaunch: return answer<Launch>(peer, header, payload);
    case MessageType::kOccupancy: return answer<Occupancy>(peer, header, payload);
    case MessageType::kStreamCreate: return answer<StreamCreate>(peer, header, payload);
    case MessageType::kStreamDestroy: return answer<StreamDestroy>(peer, header, payload);
    case MessageType::kEventCreate: return answer<EventCreate>(peer, header, payload);
    case MessageType::kEventDestroy: return answer<EventDestroy>(peer, header, payload);
    case MessageType::kEventRecord: return answer<EventRecord>(peer, header, payload);
    case MessageType::kEventElapsed: return answer<EventElapsed>(peer, header, payload);
    case MessageType::kSynchronize: return answer<Synchronize>(peer, header, payload);
    case MessageType::kEncodeTiled: return answer<EncodeTiled>(peer, header, payload);
    case MessageType::kGetDeviceInfo: return answer<GetDeviceInfo>(peer, header, payload);
    case MessageType::kRefuse: return answer<Refuse>(peer, header, payload);
    default: return violation(peer, fmt::format("message type {} is unknown", header.type));
  }
}

Answer<HandleReply> DeviceServer::add_client(const AddClient& request, int passed_fd) {
  if (passed_fd < 0) return refuse(Code::kInvalidValue, "AddClient came without a descriptor");
  auto peer = std::make_unique<Peer>();
  peer->connection = Connection(passed_fd);
  peer->connection.set_timeout(kHostStallMs);
  peer->session = std::make_unique<Session>(state_, next_client_, false);
  peer->session->grant(request);
  hosts_.push_back(std::move(peer));
  return HandleReply{next_client_++};
}

Answer<RunReply> DeviceServer::replay(Session& judge, const Replay& request) {
  if (auto done = judge.on(Batch{request.before}); !done) return tl::unexpected(std::move(done).error());
  Answer<RunReply> report = state_.replay(request);
  if (!report || report->sticky_code != 0) return report;
  if (auto done = judge.on(Batch{request.after}); !done) return tl::unexpected(std::move(done).error());
  return report;
}

RunReply DeviceServer::run_report() const {
  RunReply report = state_.recorder.report();
  report.client_fault = run_fault_;
  for (const auto& host : hosts_) report.client_alive |= host->session->id() == run_client_;
  for (const auto* peers : {&hosts_, &ended_}) {
    for (const auto& peer : *peers) {
      if (peer->session->id() == run_client_) report.client_connected = peer->session->greeted();
    }
  }
  return report;
}

bool DeviceServer::dispatch_control(Peer& peer, const Header& header, const std::string& payload, int passed_fd) {
  const auto bad = [&] {
    return violation(peer, fmt::format("a message of type {} that does not decode", header.type));
  };
  switch (static_cast<MessageType>(header.type)) {
    case MessageType::kAddClient: {
      AddClient request;
      if (!decode(payload, request)) {
        if (passed_fd >= 0) ::close(passed_fd);
        return bad();
      }
      return reply(peer, header, add_client(request, passed_fd));
    }
    case MessageType::kDropClient: {
      DropClient request;
      if (!decode(payload, request)) return bad();
      const auto is_it = [&](const auto& host) { return host->session->id() == request.client; };
      std::erase_if(hosts_, is_it);
      std::erase_if(ended_, is_it);
      return reply<Empty>(peer, header, Empty{});
    }
    case MessageType::kBeginRun: {
      BeginRun request;
      if (!decode(payload, request)) return bad();
      run_client_ = request.client;
      run_fault_.clear();
      state_.recorder.start(request.client);
      state_.limits = {request.schedule, request.work_limit, std::chrono::milliseconds{request.deadline_ms}, {}};
      return reply<Empty>(peer, header, Empty{});
    }
    case MessageType::kEndRun: return reply<RunReply>(peer, header, run_report());
    case MessageType::kReplay: {
      Replay request;
      if (!decode(payload, request)) return bad();
      return reply(peer, header, replay(*peer.session, request));
    }
    case MessageType::kAllocShared: return answer<AllocShared>(peer, header, payload);
    case MessageType::kOpenShared: return answer<OpenShared>(peer, header, payload);
    case MessageType::kCloseShared: return answer<CloseShared>(peer, header, payload);
    case MessageType::kPrepareBaseline: return answer<PrepareBaseline>(peer, header, payload);
    case MessageType::kRunBaseline: return answer<RunBaseline>(peer, header, payload);
    case MessageType::kBatch: return answer<Batch>(peer, header, payload);
    case MessageType::kGetTelemetry: return answer<GetTelemetry>(peer, header, payload);
    case MessageType::kShutdown: shutdown_ = true; return reply<Empty>(peer, header, Empty{});
    default: return violation(peer, fmt::format("message type {} is unknown", header.type));
  }
}

bool DeviceServer::step(Peer& peer) {
  Header header;
  std::string payload;
  int passed_fd = -1;
  switch (
      peer.connection.receive(header, payload, kMaxRequestPayload, peer.session->control() ? &passed_fd : nullptr)) {
    case Connection::Receive::kClosed: return false;
    case Connection::Receive::kMalformed:
      return violation(peer, fmt::format("bytes that are no message of protocol version {}", kVersion));
    case Connection::Receive::kMessage: break;
  }
  // The descriptor becomes AddClient's; with any other message it is of no use.
  if (passed_fd >= 0 && header.type != static_cast<std::uint16_t>(MessageType::kAddClient)) {
    ::close(passed_fd);
    passed_fd = -1;
  }
  try {
    return dispatch(peer, header, payload, passed_fd);
  } catch (const std::exception& error) {  // our own fault or no memory: this connection pays, the device goes on
    return violation(peer, fmt::format("internal error of the device process: {}", error.what()));
  }
}

Status DeviceServer::serve(Connection control) {
  Peer judge;
  judge.connection = std::move(control);
  judge.session = std::make_unique<Session>(state_, 1, true);
  while (!shutdown_) {
    std::vector<pollfd> waiting{{judge.connection.fd(), POLLIN, 0}};
    for (const auto& host : hosts_) waiting.push_back({host->connection.fd(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return fail(ErrorKind::kUnavailable, "the device process cannot poll its connections");
    }
    if (waiting[0].revents != 0) {  // it may change the list of hosts, so look again afterwards
      if (!step(judge)) break;
      continue;
    }
    for (std::size_t i = hosts_.size(); i-- > 0;) {
      if (waiting[i + 1].revents == 0 || step(*hosts_[i])) continue;
      if (hosts_[i]->session->id() == run_client_) run_fault_ = hosts_[i]->fault;
      // What the client owned stays until DropClient: the judge may want to replay its run.
      hosts_[i]->connection.close();
      ended_.push_back(std::move(hosts_[i]));
      hosts_.erase(hosts_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  hosts_.clear();
  ended_.clear();
  if (!judge.fault.empty()) return fail(ErrorKind::kProtocol, "control connection: " + judge.fault);
  return {};
}

std::string DeviceServer::serve_host(Connection host) {
  Peer peer;
  peer.connection = std::move(host);
  peer.session = std::make_unique<Session>(state_, next_client_++, false);
  while (step(peer)) {
  }
  return peer.fault;
}

}  // namespace ptxbench::wire
