// `ptxbench models` as a user runs it: what it prints, its exit codes, and that nothing of it holds the key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ptxbench/base/file.h"
#include "server.h"

namespace ptxbench::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKey = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz";

struct Ended {
  int exit_code;
  std::string output;  // stdout and stderr
};

class Command : public ::testing::Test {
 protected:
  Ended probe(const std::string& scenario) {
    ::setenv("PTXBENCH_TEST_KEY", kKey, 1);
    std::ofstream(file())
        << "[models.m]\napi = \"openai\"\nmodel = \"m\"\nkey_variable = \"PTXBENCH_TEST_KEY\"\nbase_url = \""
        << server_.url(scenario) << "\"\n";
    return run("--probe m");
  }
  Ended run(const std::string& arguments) {
    const std::string log = folder_.path() / "log";
    const int status = std::system(
        (PTXBENCH_BINARY_DIR "/bin/ptxbench models --models " + file() + " " + arguments + " >" + log + " 2>&1")
            .c_str());
    return {WEXITSTATUS(status), read_file(log).value()};
  }
  std::string file() const { return folder_.path() / "models.toml"; }

  TempDir folder_ = TempDir::create("ptxbench-models").value();
  testing::MisbehavingServer server_;
};

TEST_F(Command, AnAnswer) {
  const Ended run = probe("ok");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("m: answer\n"));
  EXPECT_THAT(run.output, HasSubstr("tokens     input 10 (cached 4), output 7 (reasoning 5)\n"));
  EXPECT_THAT(run.output, HasSubstr("cost       unknown\n"));
  EXPECT_THAT(run.output, HasSubstr("Hello, world.\n"));
}

TEST_F(Command, AWrongKeyIsTheUsersAndIsNotShown) {
  const Ended run = probe("401_quotes_the_key");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.output, HasSubstr("m: authentication: HTTP 401: Incorrect API key provided: [key], or"));
  for (std::size_t i = 0; i + 8 <= std::string_view(kKey).size(); ++i)
    EXPECT_THAT(run.output, Not(HasSubstr(std::string(kKey).substr(i, 8))));
}

TEST_F(Command, ABusyServerIsTheMachines) {
  const Ended run = probe("503_always");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.output, HasSubstr("m: server_error: HTTP 503"));
  EXPECT_EQ(server_.requests().size(), 1u);  // a probe asks once
}

TEST_F(Command, TheListSaysWhichKeysAreSet) {
  std::ofstream(file())
      << "[models.a]\napi = \"openai\"\nmodel = \"x\"\nkey_variable = \"PTXBENCH_TEST_KEY\"\nbase_url = \"https://h\"\n"
         "[models.b]\napi = \"openai\"\nmodel = \"x\"\nkey_variable = \"PTXBENCH_NO_KEY\"\nbase_url = \"https://h\"\n";
  ::setenv("PTXBENCH_TEST_KEY", kKey, 1);
  const Ended list = run("");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.output, HasSubstr("($PTXBENCH_TEST_KEY is set)"));
  EXPECT_THAT(list.output, HasSubstr("($PTXBENCH_NO_KEY is not set)"));
  EXPECT_THAT(list.output, Not(HasSubstr(kKey)));
  EXPECT_EQ(run("--probe b").exit_code, 3);
  EXPECT_THAT(run("--probe b").output, HasSubstr("needs a key, and $PTXBENCH_NO_KEY is not set"));
  EXPECT_EQ(run("--probe c").exit_code, 2);
}

}  // namespace
}  // namespace ptxbench::agent
