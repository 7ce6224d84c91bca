// Every forbidden thing is tried for real: in both kinds of sandbox and, when the tests run as root, also as an
// unprivileged user (the test forks, changes its user and goes on there).
#include "ptxbench/base/sandbox.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ptxbench/base/file.h"
#include "ptxbench/base/subprocess.h"

namespace ptxbench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

struct Setting {
  SandboxMode mode;
  bool unprivileged;
};

std::string setting_name(const testing::TestParamInfo<Setting>& info) {
  return std::string(info.param.mode == SandboxMode::kNamespaces ? "Namespaces" : "Landlock") +
         (info.param.unprivileged ? "Unprivileged" : "AsIs");
}

class Sandbox : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (GetParam().unprivileged && ::geteuid() != 0) GTEST_SKIP() << "not root: the AsIs variant is this test";
    if (GetParam().unprivileged && !nobody_reaches(find_companion("ptxbench-supervisor").value()))
      GTEST_SKIP()
          << "the user nobody cannot reach the build folder (a checkout under /root?), so nothing is started as "
             "nobody here";
    Command trial;
    trial.argv = {"/bin/true"};
    trial.sandbox.emplace();
    trial.sandbox->mode = GetParam().mode;
    trial.sandbox->read_only = system_library_paths();
    // In a chroot or a container the system may forbid one of the two; a program then runs in the other.
    if (const auto tried = run(trial); !tried) GTEST_SKIP() << tried.error().format();
    auto made = TempDir::create("ptxbench");
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
    ::chmod(folder_->path().c_str(), 0777);
    ASSERT_TRUE(write_file_atomic(folder_->path() / "secret", "secret"));
    ASSERT_TRUE(std::filesystem::create_directory(folder_->path() / "shown"));
    ASSERT_TRUE(write_file_atomic(folder_->path() / "shown/file", "shown"));
    ASSERT_TRUE(std::filesystem::create_directory(folder_->path() / "out"));
    ::chmod((folder_->path() / "out").c_str(), 0777);
    ::chmod((folder_->path() / "secret").c_str(), 0666);
  }

  static bool become_nobody() {
    return ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
  }
  static bool nobody_reaches(const std::filesystem::path& program) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(become_nobody() && ::access(program.c_str(), X_OK) == 0 ? 0 : 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    return status == 0;
  }

  std::string secret() const { return (folder_->path() / "secret").string(); }
  std::string shown() const { return (folder_->path() / "shown/file").string(); }
  std::string out(const char* name) const { return (folder_->path() / "out" / name).string(); }

  Command probe(SandboxProfile profile, std::vector<std::string> arguments) const {
    Command command;
    command.argv = {find_companion("sandbox_probe").value().string()};
    if (profile == SandboxProfile::kCandidate) command.argv.push_back("--lock");
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.stdout_to = OutputTo::capture();
    command.stderr_to = OutputTo::capture();
    SandboxPolicy policy;
    policy.profile = profile;
    policy.mode = GetParam().mode;
    policy.read_only = system_library_paths();
    for (const char* path : {"/bin", "/usr/bin"}) policy.read_only.emplace_back(path);
    policy.read_only.push_back(folder_->path() / "shown");
    if (profile == SandboxProfile::kCompiler) policy.writable.push_back(folder_->path() / "out");
    command.sandbox = policy;
    return command;
  }

  // run(), as nobody if the setting says so. The result comes back through a pipe.
  Finished run_here(const Command& command, std::chrono::milliseconds limit = 30s) const {
    if (!GetParam().unprivileged) {
      auto finished = run(command, limit);
      EXPECT_TRUE(finished) << finished.error().format();
      return finished ? *finished : Finished{};
    }
    int pair[2];
    EXPECT_EQ(::pipe(pair), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (!become_nobody()) ::_exit(90);
      auto finished = run(command, limit);
      if (!finished) {
        std::fprintf(stderr, "%s\n", finished.error().format().c_str());
        ::_exit(91);
      }
      const Exit& exit = finished->exit;
      const std::string text = std::to_string(static_cast<int>(exit.how)) + " " + std::to_string(exit.code) + " " +
                               std::to_string(exit.signal) + " " + std::to_string(static_cast<int>(exit.sandbox)) +
                               "\n" + exit.violation_call + "\n" + exit.detail + "\n" + finished->out.bytes;
      (void)!::write(pair[1], text.data(), text.size());
      ::_exit(0);
    }
    ::close(pair[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = ::read(pair[0], buffer, sizeof(buffer))) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
    ::close(pair[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return parse(text);
  }

  static Finished parse(const std::string& text) {
    Finished finished;
    int how = 0, sandbox = 0;
    EXPECT_EQ(std::sscanf(text.c_str(), "%d %d %d %d", &how, &finished.exit.code, &finished.exit.signal, &sandbox), 4);
    finished.exit.how = static_cast<Ending>(how);
    finished.exit.sandbox = static_cast<SandboxKind>(sandbox);
    std::size_t at = text.find('\n') + 1;
    finished.exit.violation_call = text.substr(at, text.find('\n', at) - at);
    at = text.find('\n', at) + 1;
    finished.exit.detail = text.substr(at, text.find('\n', at) - at);
    finished.out.bytes = text.substr(text.find('\n', at) + 1);
    return finished;
  }

  void expect_allowed(SandboxProfile profile, std::vector<std::string> arguments) const {
    const Finished finished = run_here(probe(profile, arguments));
    EXPECT_TRUE(finished.exit.ok()) << arguments[0] << ": " << finished.exit.describe() << " " << finished.out.bytes
                                    << finished.err.bytes;
    EXPECT_EQ(finished.exit.sandbox,
              GetParam().mode == SandboxMode::kNamespaces ? SandboxKind::kNamespaces : SandboxKind::kLandlock);
  }
  void expect_refused(SandboxProfile profile, std::vector<std::string> arguments) const {
    const Finished finished = run_here(probe(profile, arguments));
    EXPECT_EQ(finished.exit.how, Ending::kExited) << arguments[0] << ": " << finished.exit.describe();
    EXPECT_EQ(finished.exit.code, 1) << arguments[0];
  }
  void expect_violation(std::vector<std::string> arguments, const std::string& call, const std::string& meaning) const {
    const Finished finished = run_here(probe(SandboxProfile::kCandidate, arguments));
    EXPECT_EQ(finished.exit.how, Ending::kViolation)
        << arguments[0] << ": " << finished.exit.describe() << finished.out.bytes;
    EXPECT_EQ(finished.exit.violation_call, call) << arguments[0];
    EXPECT_THAT(finished.exit.detail, HasSubstr(meaning)) << arguments[0];
  }

  std::optional<TempDir> folder_;
};

TEST_P(Sandbox, ShowsNamedPathsOnly) {
  for (SandboxProfile profile : {SandboxProfile::kCompiler, SandboxProfile::kCandidate}) {
    expect_allowed(profile, {"read", shown()});
    expect_refused(profile, {"read", secret()});
    expect_refused(profile, {"read", "/etc/passwd"});
    expect_refused(profile, {"read", "/proc/self/environ"});
    expect_refused(profile, {"read", "/proc/1/cmdline"});
    expect_refused(profile, {"read", "/dev/kmsg"});
    expect_allowed(profile, {"read", "/dev/urandom"});
  }
  if (GetParam().mode == SandboxMode::kNamespaces) expect_refused(SandboxProfile::kCompiler, {"exists", secret()});
}

// A program below a visible folder, a path named twice: still the kind that was asked for.
TEST_P(Sandbox, PathsMayOverlap) {
  Command command = probe(SandboxProfile::kCompiler, {"read", shown()});
  const std::filesystem::path program = command.argv[0];
  command.sandbox->read_only.push_back(program.parent_path());
  command.sandbox->read_only.push_back(program);
  command.sandbox->read_only.emplace_back(shown());
  const Finished finished = run_here(command);
  EXPECT_TRUE(finished.exit.ok()) << finished.exit.describe() << finished.err.bytes;
}

TEST_P(Sandbox, CompilerWritesOnlyWhereItMay) {
  expect_allowed(SandboxProfile::kCompiler, {"create", out("file")});
  expect_refused(SandboxProfile::kCompiler, {"create", (folder_->path() / "shown/new").string()});
  expect_refused(SandboxProfile::kCompiler, {"write", shown()});
  expect_refused(SandboxProfile::kCompiler, {"write", secret()});
  expect_refused(SandboxProfile::kCompiler, {"unlink", shown()});
  expect_refused(SandboxProfile::kCompiler, {"create", "/usr/lib/ptxbench-sandbox-test"});
  expect_refused(SandboxProfile::kCompiler, {"write", "/proc/sys/kernel/core_pattern"});
  if (GetParam().mode == SandboxMode::kNamespaces) {
    expect_allowed(SandboxProfile::kCompiler, {"create", "/tmp/file"});
    EXPECT_FALSE(std::filesystem::exists("/tmp/file"));
  }
}

TEST_P(Sandbox, CompilerMayForkAndUseThreadsButNotReachOut) {
  for (const char* action : {"fork", "thread", "vfork-exec", "exec", "nothing"})
    expect_allowed(SandboxProfile::kCompiler, {action});
  for (const char* action : {"socket", "unix-socket", "ptrace", "peek", "mount", "unshare", "clone-namespace", "perf",
                             "bpf", "userfaultfd", "io_uring", "keyctl", "chroot"})
    expect_refused(SandboxProfile::kCompiler, {action});
  expect_refused(SandboxProfile::kCompiler, {"mknod", out("device")});
}

TEST_P(Sandbox, LockedCandidateIsStoppedAtForbiddenCallsByName) {
  expect_violation({"fork"}, "clone", "a new process");
  expect_violation({"thread"}, "clone", "a new thread");
  expect_violation({"vfork-exec"}, "clone", "a new process");
  expect_violation({"system"}, "clone", "a new process");
  expect_violation({"exec"}, "execve", "running a program");
  expect_violation({"socket"}, "socket", "socket");
  expect_violation({"unix-socket"}, "socket", "socket");
  expect_violation({"ptrace"}, "ptrace", "reading another process");
  expect_violation({"peek"}, "process_vm_readv", "reading another process");
  expect_violation({"kill-parent"}, "kill", "a signal");
  expect_violation({"write", shown()}, "openat", "opening a file for writing");
  expect_violation({"create", out("x")}, "openat", "opening a file for writing");
  expect_violation({"unlink", shown()}, "unlink", "changing files");
  for (const char* call : {"mount", "unshare", "bpf", "userfaultfd", "keyctl", "chroot"})
    expect_violation({call}, call, "not allowed");
  expect_violation({"perf"}, "perf_event_open", "not allowed");
  expect_violation({"io_uring"}, "io_uring_setup", "not allowed");
  expect_violation({"memfd"}, "memfd_create", "not allowed");
  expect_violation({"chmod", shown()}, "chmod", "not allowed");
  expect_violation({"block-sigsys-fork"}, "clone", "a new process");
}

TEST_P(Sandbox, LockedCandidateCannotUseAnotherCallTable) {
  const Finished finished = run_here(probe(SandboxProfile::kCandidate, {"int80"}));
  EXPECT_TRUE(finished.exit.how == Ending::kViolation || finished.exit.signal == SIGSEGV) << finished.exit.describe();
}

TEST_P(Sandbox, LockedCandidateEndsAsItLikes) {
  expect_allowed(SandboxProfile::kCandidate, {"nothing"});
  EXPECT_EQ(run_here(probe(SandboxProfile::kCandidate, {"exit3"})).exit.code, 3);
  EXPECT_EQ(run_here(probe(SandboxProfile::kCandidate, {"abort"})).exit.signal, SIGABRT);
  EXPECT_EQ(run_here(probe(SandboxProfile::kCandidate, {"segv"})).exit.signal, SIGSEGV);
}

TEST_P(Sandbox, LimitsHold) {
  Command command = probe(SandboxProfile::kCompiler, {"spin"});
  command.sandbox->limits.cpu_seconds = 1;
  EXPECT_THAT(run_here(command).exit.detail, HasSubstr("CPU time"));

  command = probe(SandboxProfile::kCompiler, {"fill", out("large")});
  command.sandbox->limits.file_bytes = 8 << 20;
  EXPECT_THAT(run_here(command).exit.detail, HasSubstr("file size"));

  command = probe(SandboxProfile::kCompiler, {"allocate"});
  command.sandbox->limits.memory_bytes = 256 << 20;
  const Finished memory = run_here(command);
  EXPECT_FALSE(memory.exit.ok()) << memory.exit.describe();

  command = probe(SandboxProfile::kCompiler, {"many-processes"});
  command.sandbox->limits.processes = 20;
  EXPECT_THAT(run_here(command).exit.detail, HasSubstr("processes (20)"));

  command = probe(SandboxProfile::kCandidate, {"open-many"});
  EXPECT_EQ(run_here(command).exit.code, 1);

  if (GetParam().mode == SandboxMode::kNamespaces) {
    command = probe(SandboxProfile::kCompiler, {"fill", "/tmp/large"});
    command.sandbox->limits.tmp_bytes = 8 << 20;
    EXPECT_THAT(run_here(command).out.bytes, HasSubstr("No space left"));
  }
}

TEST_P(Sandbox, DeadlineEndsTheWholeTree) {
  const Finished finished = run_here(probe(SandboxProfile::kCompiler, {"many-processes"}), 300ms);
  EXPECT_TRUE(finished.exit.how == Ending::kTimeout || finished.exit.how == Ending::kLimit) << finished.exit.describe();
}

INSTANTIATE_TEST_SUITE_P(BothKinds, Sandbox,
                         testing::Values(Setting{SandboxMode::kNamespaces, false},
                                         Setting{SandboxMode::kNamespaces, true},
                                         Setting{SandboxMode::kLandlock, false}, Setting{SandboxMode::kLandlock, true}),
                         setting_name);

TEST(SandboxPolicyTest, OneOfTheTwoKindsIsAlwaysThere) {
  Command command;
  command.argv = {"/bin/true"};
  command.sandbox.emplace();
  command.sandbox->read_only = system_library_paths();
  const auto finished = run(command);
  ASSERT_TRUE(finished) << finished.error().format();
  EXPECT_TRUE(finished->exit.ok()) << finished->exit.describe();
  EXPECT_NE(finished->exit.sandbox, SandboxKind::kNone);
}

TEST(SandboxPolicyTest, MissingPathIsAnError) {
  Command command;
  command.argv = {find_companion("sandbox_probe").value().string(), "nothing"};
  command.sandbox.emplace();
  command.sandbox->read_only = {"/no/such/folder"};
  const auto finished = run(command);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(finished.error().message, HasSubstr("/no/such/folder"));
}

TEST(SandboxPolicyTest, LockNeedsTheCandidateProfile) {
  const auto status = apply_candidate_seccomp();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace ptxbench
