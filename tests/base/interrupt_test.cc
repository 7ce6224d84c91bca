#include "ptxbench/base/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "ptxbench/base/file.h"

namespace {
using namespace ptxbench;

// The exit code is the shell's convention for death by a signal.
TEST(Interrupt, RemovesTemporaryFoldersAndExits) {
  for (int signal : {SIGINT, SIGTERM}) {
    int pipe_fds[2];
    ASSERT_EQ(pipe(pipe_fds), 0);
    const pid_t child = fork();
    if (child == 0) {
      exit_cleanly_on_signals();
      auto dir = TempDir::create();
      const std::string path = dir->path().string();
      if (write(pipe_fds[1], path.data(), path.size()) < 0) _exit(1);
      close(pipe_fds[1]);
      while (true) pause();
    }
    close(pipe_fds[1]);
    char path[4096] = {};
    ASSERT_GT(read(pipe_fds[0], path, sizeof path - 1), 0);
    close(pipe_fds[0]);
    EXPECT_TRUE(std::filesystem::exists(path));
    kill(child, signal);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}
}  // namespace
