#include "ptxbench/base/file_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "ptxbench/base/file.h"

namespace ptxbench {
namespace {

class FileLock : public testing::Test {
 protected:
  TempDir folder_ = *TempDir::create();
  const std::filesystem::path file_ = folder_.path() / "lock";
};

TEST_F(FileLock, ExcludesUntilItCloses) {
  auto mine = try_lock_file(file_, LockKind::kExclusive);
  ASSERT_TRUE(mine && *mine);
  for (const LockKind kind : {LockKind::kShared, LockKind::kExclusive}) {
    const auto other = try_lock_file(file_, kind);
    ASSERT_TRUE(other);
    EXPECT_FALSE(*other);
  }
  mine->reset();
  EXPECT_TRUE(lock_file(file_, LockKind::kExclusive));
}

TEST_F(FileLock, Shares) {
  const auto first = try_lock_file(file_, LockKind::kShared), second = try_lock_file(file_, LockKind::kShared);
  EXPECT_TRUE(*first && *second);
  EXPECT_FALSE(*try_lock_file(file_, LockKind::kExclusive));
}

TEST_F(FileLock, AKilledProcessHoldsNothing) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = lock_file(file_, LockKind::kExclusive);
    static_cast<void>(!::write(ready[1], held ? "y" : "n", 1));
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_FALSE(*try_lock_file(file_, LockKind::kExclusive));
  ::kill(child, SIGKILL);
  EXPECT_TRUE(lock_file(file_, LockKind::kExclusive));  // waits for the end of the child
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FileLock, AFileThatCannotBeIsAnError) {
  const auto lock = lock_file(folder_.path() / "none" / "lock", LockKind::kExclusive);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(lock.error().message.find("none/lock"), std::string::npos);
}

}  // namespace
}  // namespace ptxbench
