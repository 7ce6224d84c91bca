#include "ptxbench/base/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "ptxbench/base/file.h"
#include "ptxbench/base/unique_fd.h"

namespace ptxbench {
namespace {

using namespace std::chrono_literals;

Command probe(std::vector<std::string> arguments) {
  Command command;
  command.argv = {find_companion("sandbox_probe").value().string()};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.stdout_to = OutputTo::capture();
  command.stderr_to = OutputTo::capture();
  return command;
}

bool alive(pid_t process) { return ::kill(process, 0) == 0; }

// A process that was just killed stays visible until it is reaped.
bool gone_soon(pid_t process) {
  for (int i = 0; i < 500 && alive(process); ++i) std::this_thread::sleep_for(10ms);
  return !alive(process);
}

TEST(Subprocess, ReportsExitCodeAndUsage) {
  const auto finished = run(probe({"exit3"}));
  ASSERT_TRUE(finished) << finished.error().format();
  EXPECT_EQ(finished->exit.how, Ending::kExited);
  EXPECT_EQ(finished->exit.code, 3);
  EXPECT_GT(finished->exit.peak_rss_bytes, 100'000u);
  EXPECT_GT(finished->exit.wall_seconds, 0);
  EXPECT_EQ(finished->exit.sandbox, SandboxKind::kNone);
}

TEST(Subprocess, ReportsSignals) {
  const auto finished = run(probe({"segv"}));
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit.how, Ending::kSignaled);
  EXPECT_EQ(finished->exit.signal, SIGSEGV);
  EXPECT_THAT(finished->exit.describe(), testing::HasSubstr("signal 11"));
}

TEST(Subprocess, PassesInputAndCapturesOutput) {
  Command command = probe({"echo"});
  command.stdin_bytes = "twelve bytes";
  const auto finished = run(command);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->out.bytes, "twelve bytes");
  EXPECT_FALSE(finished->out.truncated);
}

TEST(Subprocess, CapsCapturedOutputWithoutBlockingTheChild) {
  Command command = probe({"flood"});  // 16 MiB
  command.stdout_to = OutputTo::capture(1000);
  const auto finished = run(command, 20s);
  ASSERT_TRUE(finished);
  EXPECT_TRUE(finished->exit.ok()) << finished->exit.describe();
  EXPECT_EQ(finished->out.bytes.size(), 1000u);
  EXPECT_TRUE(finished->out.truncated);
}

TEST(Subprocess, PassesOnlyTheNamedEnvironment) {
  ::setenv("PTXBENCH_SECRET_TEST", "1", 1);
  Command command = probe({"environment"});
  command.environment = {"GREETING=hello"};
  const auto finished = run(command);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->out.bytes, "GREETING=hello\n");
}

TEST(Subprocess, PassesOnlyTheNamedDescriptors) {
  int leaked = ::dup(2);  // without close-on-exec, as careless libraries do
  int pair[2];
  ASSERT_EQ(::pipe(pair), 0);
  Command command = probe({"descriptors"});
  command.inherited = {{pair[1], 7}, {pair[0], 3}};
  const auto finished = run(command);
  ::close(leaked);
  ::close(pair[0]);
  ::close(pair[1]);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->out.bytes, "0 1 2 3 7 ");
}

TEST(Subprocess, InheritedDescriptorsWorkAlsoWhenTheirNumbersAreSwapped) {
  int first[2], second[2];
  ASSERT_EQ(::pipe(first), 0);
  ASSERT_EQ(::pipe(second), 0);
  Command command = probe({"say", std::to_string(first[1])});
  command.inherited = {{first[1], second[1]}, {second[1], first[1]}};  // each under the other's number
  ASSERT_TRUE(run(command)->exit.ok());
  char text[5];
  EXPECT_EQ(::read(second[0], text, 5), 5);
  for (int fd : {first[0], first[1], second[0], second[1]}) ::close(fd);
}

TEST(Subprocess, DeadlineEndsTheChild) {
  const auto finished = run(probe({"sleep"}), 100ms);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit.how, Ending::kTimeout);
}

TEST(Subprocess, NothingOfTheTreeOutlivesTheChild) {
  const auto finished = run(probe({"orphan"}));
  ASSERT_TRUE(finished);
  ASSERT_TRUE(finished->exit.ok());
  const pid_t orphan = std::stoi(finished->out.bytes);
  ASSERT_GT(orphan, 1);
  EXPECT_FALSE(alive(orphan));  // already gone when run() returns
}

TEST(Subprocess, DestroyingTheHandleEndsTheChild) {
  pid_t supervisor_group = 0;
  {
    auto child = Child::start(probe({"sleep"}));
    ASSERT_TRUE(child);
    EXPECT_TRUE(child->running());
    supervisor_group = ::getpid();
  }
  // Had it lived on, it would be our child still.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_GT(supervisor_group, 0);
}

TEST(Subprocess, KillingUsLeavesNothing) {
  UniqueFd reader, writer;
  int pair[2];
  ASSERT_EQ(::pipe(pair), 0);
  const pid_t user = ::fork();
  if (user == 0) {
    Command command = probe({"orphan"});
    command.stdout_to = OutputTo::to_fd(pair[1]);
    auto orphan = Child::start(command);
    Command sleeper = probe({"sleep"});
    auto child = Child::start(sleeper);
    if (child) child->wait();
    ::_exit(1);
  }
  ::close(pair[1]);
  char text[32] = {};
  ASSERT_GT(::read(pair[0], text, sizeof(text) - 1), 0);
  ::kill(user, SIGKILL);
  ::waitpid(user, nullptr, 0);
  EXPECT_TRUE(gone_soon(std::atoi(text)));
  ::close(pair[0]);
}

TEST(Subprocess, MissingProgramIsNamed) {
  Command command;
  command.argv = {"/no/such/program"};
  const auto finished = run(command);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(finished.error().message, testing::HasSubstr("/no/such/program"));
}

TEST(Subprocess, RelativeProgramIsRefused) {
  Command command;
  command.argv = {"true"};
  ASSERT_FALSE(run(command));
}

TEST(Subprocess, WorksFromManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      Command command = probe({"echo"});
      command.stdin_bytes = std::to_string(i);
      const auto finished = run(command, 20s);
      if (finished && finished->exit.ok() && finished->out.bytes == std::to_string(i)) ++good;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
}

TEST(Subprocess, CancelEndsWaitsNowAndLater) {
  const pid_t user = ::fork();  // cancel_all() is for the life of a process
  if (user == 0) {
    auto child = Child::start(probe({"sleep"}));
    if (!child) ::_exit(10);
    std::thread canceller([] {
      std::this_thread::sleep_for(50ms);
      cancel_all();
    });
    const bool first = child->wait().how == Ending::kKilled;
    canceller.join();
    const auto second = run(probe({"sleep"}));
    ::_exit(first && second && second->exit.how == Ending::kKilled && cancelled() ? 0 : 11);
  }
  int status = 0;
  ::waitpid(user, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace ptxbench
