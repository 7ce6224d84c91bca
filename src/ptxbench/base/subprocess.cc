#include "ptxbench/base/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "ptxbench/base/check.h"
#include "ptxbench/base/supervisor_spec.h"
#include "ptxbench/base/unique_fd.h"

namespace ptxbench {

using Clock = std::chrono::steady_clock;

namespace {

std::atomic<bool> cancel_flag{false};
const int cancel_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

tl::unexpected<Error> fail_errno(std::string_view doing) {
  return fail(ErrorKind::kUnavailable, fmt::format("cannot {}: {}", doing, std::strerror(errno)));
}

// The child's descriptors are first moved above everything that has a fixed number in it, so that putting one in
// place never overwrites another.
constexpr int kFirstSpare = 300;

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  Status give(int fd, int as) {
    UniqueFd spare(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstSpare));
    if (!spare) return fail_errno(fmt::format("duplicate descriptor {}", fd));
    ::posix_spawn_file_actions_adddup2(&actions_, spare.get(), as);
    spares_.push_back(std::move(spare));
    return {};
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }
  void release() { spares_.clear(); }  // our copies would keep a pipe or socket open

 private:
  posix_spawn_file_actions_t actions_;
  std::vector<UniqueFd> spares_;
};

Result<UniqueFd> memory_file(std::string_view bytes) {
  UniqueFd fd(::memfd_create("ptxbench", MFD_CLOEXEC));
  if (!fd) return fail_errno("create a memory file");
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (put <= 0) return fail_errno("fill a memory file");
    done += static_cast<std::size_t>(put);
  }
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return fail_errno("rewind a memory file");
  return fd;
}

Result<pid_t> spawn(const std::filesystem::path& program, const SpawnActions& actions) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // A session of its own: Ctrl-C in our terminal reaches us, and we end the children.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::string name = program.string();
  char* argv[] = {name.data(), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = -1;
  const int code = ::posix_spawn(&pid, name.c_str(), actions.get(), &attributes, argv, environment);
  ::posix_spawnattr_destroy(&attributes);
  if (code != 0) return fail(ErrorKind::kUnavailable, fmt::format("cannot start '{}': {}", name, std::strerror(code)));
  return pid;
}

// Reads a child's stdout and stderr until both end, keeping what the caller wants.
void pump(UniqueFd out, UniqueFd err, std::uint64_t out_cap, std::uint64_t err_cap, Captured& out_text,
          Captured& err_text) {
  pollfd fds[2] = {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
  Captured* texts[2] = {&out_text, &err_text};
  const std::uint64_t caps[2] = {out_cap, err_cap};
  std::string buffer(65536, '\0');
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    if (::poll(fds, 2, -1) < 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      const ssize_t got = ::read(fds[i].fd, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        fds[i].fd = -1;
        continue;
      }
      const std::uint64_t room = caps[i] - texts[i]->bytes.size();
      texts[i]->bytes.append(buffer.data(), std::min<std::uint64_t>(room, static_cast<std::uint64_t>(got)));
      if (static_cast<std::uint64_t>(got) > room) texts[i]->truncated = true;
    }
  }
}

Status check_command(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty() || command.argv[0][0] != '/')
    return fail(ErrorKind::kInvalidInput, "a child's program must be an absolute path");
  for (const auto* list : {&command.argv, &command.environment})
    for (const std::string& text : *list)
      if (text.find('\0') != std::string::npos)
        return fail(ErrorKind::kInvalidInput, "a child's argument or environment entry contains a NUL byte");
  for (const InheritedFd& entry : command.inherited)
    PTXBENCH_CHECK(entry.as >= 3 && entry.as < kSandboxControlFd, "descriptor {} for a child is not in 3..99",
                   entry.as);
  return {};
}

// Our ends of what a child was given.
struct Streams {
  UniqueFd channel, their_channel;  // to the supervisor
  UniqueFd out, err;                // captured output
};

// Puts one output in place for the child; the reading end if it is captured.
Result<UniqueFd> give_output(const OutputTo& output, int number, SpawnActions& actions) {
  UniqueFd reader, writer;
  int fd = output.kind == OutputTo::Kind::kInherit ? number : output.fd;
  if (output.kind == OutputTo::Kind::kCapture) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("create a pipe");
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    fd = writer.get();
  } else if (output.kind == OutputTo::Kind::kNull) {
    writer.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!writer) return fail_errno("open /dev/null");
    fd = writer.get();
  }
  PTXBENCH_TRY_STATUS(actions.give(fd, number));
  return reader;
}

Result<Streams> give_descriptors(const Command& command, SpawnActions& actions) {
  supervisor::Spec spec{command.argv, command.environment, command.working_folder.string(), {}, command.sandbox};
  for (const InheritedFd& entry : command.inherited) {
    PTXBENCH_TRY_STATUS(actions.give(entry.fd, entry.as));
    spec.inherited.push_back(entry.as);
  }
  PTXBENCH_TRY(const UniqueFd spec_file, memory_file(supervisor::encode(spec)));
  PTXBENCH_TRY_STATUS(actions.give(spec_file.get(), supervisor::kSpecFd));
  PTXBENCH_TRY(const UniqueFd input, memory_file(command.stdin_bytes));
  PTXBENCH_TRY_STATUS(actions.give(input.get(), 0));
  Streams streams;
  PTXBENCH_TRY(streams.out, give_output(command.stdout_to, 1, actions));
  PTXBENCH_TRY(streams.err, give_output(command.stderr_to, 2, actions));
  int channel[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0) return fail_errno("create a socket pair");
  streams.channel.reset(channel[0]);
  streams.their_channel.reset(channel[1]);
  PTXBENCH_TRY_STATUS(actions.give(streams.their_channel.get(), supervisor::kChannelFd));
  return streams;
}

// One packet; empty when the other side is gone.
std::string receive_packet(int channel) {
  std::string packet(65536, '\0');
  ssize_t got;
  while ((got = ::recv(channel, packet.data(), packet.size(), 0)) < 0 && errno == EINTR) {
  }
  packet.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return packet;
}

std::string signal_name(int signal) {
  const char* text = ::strsignal(signal);
  return fmt::format("signal {} ({})", signal, text ? text : "unknown");
}

}  // namespace

struct Child::State {
  pid_t supervisor = -1;
  UniqueFd channel;
  SandboxKind sandbox = SandboxKind::kNone;
  Clock::time_point started = Clock::now();
  std::thread pump_thread;
  Captured out, err;
  std::optional<Exit> exit;

  ~State() {
    if (!exit) finish(Ending::kKilled);
    if (pump_thread.joinable()) pump_thread.join();
  }

  // Receives the report, if it has not come yet asks for the end first, and waits until the tree is gone.
  void finish(std::optional<Ending> asked) {
    if (asked) ::shutdown(channel.get(), SHUT_WR);
    auto report = supervisor::decode_exit(receive_packet(channel.get()));
    // Only a supervisor that was itself killed sends nothing.
    exit =
        report ? std::move(*report) : Exit{Ending::kSignaled, 0, SIGKILL, "the supervisor was killed", {}, 0, 0, 0, {}};
    char byte;
    while (::recv(channel.get(), &byte, 1, 0) > 0 || errno == EINTR) errno = 0;  // until its last holder is gone
    while (::waitpid(supervisor, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (pump_thread.joinable()) pump_thread.join();
    exit->wall_seconds = std::chrono::duration<double>(Clock::now() - started).count();
    exit->sandbox = sandbox;
    if (asked && exit->how == Ending::kKilled) exit->how = *asked;
  }
};

Child::Child(std::unique_ptr<State> state) : state_(std::move(state)) {}
Child::Child(Child&&) noexcept = default;
Child& Child::operator=(Child&&) noexcept = default;
Child::~Child() = default;

Result<Child> Child::start(const Command& command) {
  PTXBENCH_TRY_STATUS(check_command(command));
  PTXBENCH_TRY(const auto program, find_companion("ptxbench-supervisor"));
  SpawnActions actions;
  PTXBENCH_TRY(Streams streams, give_descriptors(command, actions));
  PTXBENCH_TRY(const pid_t pid, spawn(program, actions));
  actions.release();
  streams.their_channel.reset();

  auto state = std::make_unique<State>();
  state->channel = std::move(streams.channel);
  state->supervisor = pid;
  const std::string packet = receive_packet(state->channel.get());
  auto started = supervisor::decode_started(packet);
  if (!started) {
    state->exit.emplace();  // the supervisor has said why, and ends by itself
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return fail(std::move(started).error());
  }
  state->sandbox = started->sandbox;
  if (streams.out || streams.err) {
    state->pump_thread =
        std::thread([s = state.get(), out = std::move(streams.out), err = std::move(streams.err),
                     out_cap = command.stdout_to.capture_bytes, err_cap = command.stderr_to.capture_bytes]() mutable {
          pump(std::move(out), std::move(err), out_cap, err_cap, s->out, s->err);
        });
  }
  return Child(std::move(state));
}

const Exit& Child::wait(std::optional<std::chrono::milliseconds> limit) {
  if (state_->exit) return *state_->exit;
  const Clock::time_point deadline = limit ? Clock::now() + *limit : Clock::time_point::max();
  for (;;) {
    int timeout = -1;
    if (limit) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      timeout = static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
    }
    pollfd fds[] = {{state_->channel.get(), POLLIN, 0}, {cancel_event, POLLIN, 0}};
    const int ready = ::poll(fds, 2, timeout);
    if (ready < 0 && errno == EINTR) continue;
    if (fds[0].revents)
      state_->finish(std::nullopt);
    else if (fds[1].revents)
      state_->finish(Ending::kKilled);
    else if (ready == 0)
      state_->finish(Ending::kTimeout);
    else
      continue;
    return *state_->exit;
  }
}

bool Child::running() {
  if (state_->exit) return false;
  pollfd fd{state_->channel.get(), POLLIN, 0};
  return ::poll(&fd, 1, 0) == 0;
}

const Exit& Child::kill() {
  if (!state_->exit) state_->finish(Ending::kKilled);
  return *state_->exit;
}

int Child::poll_fd() const { return state_->channel.get(); }
SandboxKind Child::sandbox() const { return state_->sandbox; }

const Captured& Child::captured_stdout() const {
  PTXBENCH_CHECK(state_->exit, "the output of a running child was asked for");
  return state_->out;
}
const Captured& Child::captured_stderr() const {
  PTXBENCH_CHECK(state_->exit, "the output of a running child was asked for");
  return state_->err;
}

Result<Finished> run(const Command& command, std::optional<std::chrono::milliseconds> limit) {
  PTXBENCH_TRY(Child child, Child::start(command));
  Finished finished;
  finished.exit = child.wait(limit);
  finished.out = child.captured_stdout();
  finished.err = child.captured_stderr();
  return finished;
}

void cancel_all() noexcept {
  cancel_flag.store(true);
  const std::uint64_t one = 1;
  (void)!::write(cancel_event, &one, sizeof(one));
}

bool cancelled() noexcept { return cancel_flag.load(); }

std::string Exit::describe() const {
  switch (how) {
    case Ending::kExited: return fmt::format("exited with code {}", code);
    case Ending::kSignaled: return detail.empty() ? "killed by " + signal_name(signal) : detail;
    case Ending::kViolation: return fmt::format("stopped at a forbidden call: {}", detail);
    case Ending::kLimit: return fmt::format("over its limit of {}", detail);
    case Ending::kTimeout: return fmt::format("stopped after {:.1f} s", wall_seconds);
    case Ending::kKilled: return "stopped on request";
  }
  return "unknown";
}

Result<std::filesystem::path> find_companion(std::string_view name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return fail(ErrorKind::kUnavailable, "cannot read /proc/self/exe", "mount /proc");
  const fs::path folder = self.parent_path();
  for (const fs::path& candidate : {folder / name, folder.parent_path() / "libexec/ptxbench" / name})
    if (fs::exists(candidate, error)) return candidate;
  return fail(ErrorKind::kUnavailable, fmt::format("'{}' is not beside '{}'", name, self.string()),
              "build all programs (cmake --build --preset dev), or install the archive as a whole");
}

}  // namespace ptxbench
