// Real builds with the installed nvcc.
#include "ptxbench/toolchain/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "ptxbench/base/fatbin.h"
#include "ptxbench/base/subprocess.h"
#include "ptxbench/toolchain/elf.h"
#include "tests/toolchain/test_support.h"

namespace ptxbench::toolchain {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TEST_F(BuildTest, MakesASealedArtifact) {
  const Built result = built(candidate("asm volatile(\"wgmma.fence.sync.aligned;\"); c[i] = a[i] + b[i];"));
  const schema::Artifact& artifact = result.artifact;
  EXPECT_FALSE(result.cached);
  EXPECT_EQ(artifact.source_name, "gemm.cu");
  ASSERT_EQ(artifact.kernels.size(), 1u);
  EXPECT_THAT(artifact.kernels[0].name, HasSubstr("add"));
  EXPECT_GT(artifact.kernels[0].registers, 0u);

  const auto ptx = read_file(artifact.ptx());
  ASSERT_TRUE(ptx);
  EXPECT_THAT(*ptx, HasSubstr(".target sm_90a"));
  EXPECT_THAT(*ptx, HasSubstr("wgmma.fence.sync.aligned"));
  EXPECT_THAT(*ptx, HasSubstr("\"/candidate/gemm.cu\""));  // no path of this machine

  // The library's section holds this compilation's PTX and cubin, as our reader sees them.
  const auto library = read_file(artifact.library());
  ASSERT_TRUE(library);
  const auto elf = read_elf(*library);
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->machine, 62);
  EXPECT_THAT(elf->needed, testing::Contains(HasSubstr("libcudart.so")));
  const ElfSection* section = elf->section(".nv_fatbin");
  ASSERT_NE(section, nullptr);
  std::vector<FatbinEntry> entries;
  std::string_view rest = section->data;
  while (!rest.empty()) {
    if (rest[0] == '\0') {
      rest.remove_prefix(1);
      continue;
    }
    const auto bytes = std::as_bytes(std::span(rest));
    const auto size = fatbin_container_size(bytes);
    ASSERT_TRUE(size) << size.error().format();
    const auto some = read_fatbin(bytes);
    ASSERT_TRUE(some) << some.error().format();
    entries.insert(entries.end(), some->begin(), some->end());
    rest.remove_prefix(*size);
  }
  int ptx_entries = 0, cubin_entries = 0;
  for (const FatbinEntry& entry : entries) {
    EXPECT_EQ(entry.sm, 90u);
    if (entry.kind == FatbinKind::kPtx) {
      ++ptx_entries;
      EXPECT_THAT(entry.bytes, HasSubstr(".target sm_90a"));
      EXPECT_THAT(entry.bytes, HasSubstr("wgmma.fence.sync.aligned"));
    } else if (entry.bytes == *read_file(artifact.cubin())) {
      ++cubin_entries;
    }
  }
  EXPECT_EQ(ptx_entries, 1);
  EXPECT_EQ(cubin_entries, 1);
}

TEST_F(BuildTest, SecondBuildComesFromTheCache) {
  const Built first = built(candidate());
  const Built second = built(candidate());
  EXPECT_FALSE(first.cached);
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(first.artifact.hash, second.artifact.hash);
  EXPECT_EQ(second.artifact.kernels.size(), 1u);
  const Built other = built(candidate("c[i] = a[i] - b[i];"));
  EXPECT_FALSE(other.cached);
  EXPECT_NE(other.artifact.hash, first.artifact.hash);
}

TEST_F(BuildTest, DamagedCacheEntryIsBuiltAgain) {
  const Built first = built(candidate());
  std::string bytes = read_file(first.artifact.library()).value();
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(write_file_atomic(first.artifact.library(), bytes));
  const Built second = built(candidate());
  EXPECT_FALSE(second.cached);
  EXPECT_TRUE(built(candidate()).cached);
}

TEST_F(BuildTest, BlackwellTarget) {
  request_.target = schema::GpuTarget::kBlackwell;
  const Built result = built(candidate());
  EXPECT_THAT(read_file(result.artifact.ptx()).value(), HasSubstr(".target sm_100a"));
}

TEST_F(BuildTest, NamespacesAreUsedWhereTheyAreAllowed) {
  Command trial;
  trial.argv = {"/bin/true"};
  trial.sandbox.emplace();
  trial.sandbox->read_only = system_library_paths();
  const auto tried = run(trial);
  ASSERT_TRUE(tried) << tried.error().format();
  EXPECT_EQ(built(candidate()).artifact.build_sandbox, to_string(tried->exit.sandbox));
}

TEST_F(BuildTest, LandlockBuildsTheSame) {
  request_.sandbox = SandboxMode::kLandlock;
  const Built result = built(candidate());
  EXPECT_EQ(result.artifact.build_sandbox, "landlock");
}

TEST_F(BuildTest, TwoBuildsOfOneFileAtOnceDoTheWorkOnce) {
  ASSERT_TRUE(write_file_atomic(request_.source, candidate()));
  int built_anew = 0, good = 0;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      const auto outcome = build(request_);
      const std::lock_guard lock(mutex);
      if (!outcome || !std::holds_alternative<Built>(*outcome)) return;
      ++good;
      built_anew += !std::get<Built>(*outcome).cached;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 2);
  EXPECT_EQ(built_anew, 1);
}

// ---- compile failures ----

TEST_F(BuildTest, CompileErrorNamesTheAuthorsFileAndLine) {
  const CompileFailure failed = failure(candidate("c[i] = nonsense;"));
  ASSERT_FALSE(failed.diagnostics.empty());
  EXPECT_EQ(failed.diagnostics[0].file, "gemm.cu");
  EXPECT_EQ(failed.diagnostics[0].line, 4);
  EXPECT_THAT(failed.diagnostics[0].message, HasSubstr("nonsense"));
  EXPECT_THAT(failed.summary, HasSubstr("gemm.cu:4"));
  EXPECT_THAT(failed.log, Not(HasSubstr(folder_->path().string())));
}

TEST_F(BuildTest, AssemblerErrorNamesTheSourceLine) {
  const CompileFailure failed = failure(candidate("c[i] = a[i]; asm volatile(\"wgmma.nonsense.sync;\");"));
  ASSERT_FALSE(failed.diagnostics.empty());
  EXPECT_EQ(failed.diagnostics[0].file, "gemm.cu");
  EXPECT_EQ(failed.diagnostics[0].line, 4);
}

TEST_F(BuildTest, MissingHeaderIsNamed) {
  const CompileFailure failed = failure(candidate("", "", "#include <no_such_header.h>\n"));
  EXPECT_THAT(failed.summary, HasSubstr("no_such_header.h"));
  EXPECT_THAT(failed.summary, HasSubstr("gemm.cu:2"));
}

TEST_F(BuildTest, LogIsCapped) {
  request_.limits.log_bytes = 2000;
  std::string errors;
  for (int i = 0; i < 200; ++i) errors += "undeclared_" + std::to_string(i) + " = 1;\n";
  EXPECT_LT(failure(candidate(errors)).log.size(), 2100u);
}

TEST_F(BuildTest, EndlessCompilationIsStopped) {
  request_.limits.wall = 2500ms;
  // Template recursion that doubles.
  const CompileFailure failed = failure(candidate("", "slow<40>();",
                                                  "template <int N, int M = 0> struct S { static constexpr long v = "
                                                  "S<N - 1, 2 * M>::v + S<N - 1, 2 * M + 1>::v; };\n"
                                                  "template <int M> struct S<0, M> { static constexpr long v = M; };\n"
                                                  "template <int N> long slow() { return S<N>::v; }\n"));
  EXPECT_THAT(failed.summary, HasSubstr("out of time"));
}

// Nothing but toolkit, system and ABI headers can be read: not the repository, not home, not the account data.
TEST_F(BuildTest, SourceCannotReadTheMachinesFiles) {
  const fs::path secret = folder_->path() / "secret.h";
  ASSERT_TRUE(write_file_atomic(secret, "int secret;\n"));
  for (const std::string& path : {secret.string(), std::string(PTXBENCH_SOURCE_DIR "/CMakeLists.txt"),
                                  std::string("/etc/passwd"), std::string("/proc/self/environ")}) {
    const CompileFailure failed = failure(candidate("", "", "#include \"" + path + "\"\n"));
    EXPECT_TRUE(failed.summary.find("No such file") != std::string::npos ||
                failed.summary.find("Permission denied") != std::string::npos ||
                failed.summary.find("could not open") != std::string::npos)
        << failed.summary;
  }
  const CompileFailure failed = failure(candidate("", "", "asm(\".incbin \\\"/etc/passwd\\\"\");\n"));
  EXPECT_THAT(failed.log, HasSubstr("/etc/passwd"));
}

// ---- policy ----

TEST_F(BuildTest, VendorLibraryIncludeIsAViolation) {
  const PolicyFinding found = violation(candidate("", "", "#include <cublas_v2.h>\n"));
  EXPECT_EQ(found.rule, PolicyRule::kVendorLibrary);
  EXPECT_EQ(found.where, "gemm.cu:2");
}

TEST_F(BuildTest, VendorLibraryCallWithoutItsHeader) {
  const PolicyFinding found =
      violation(candidate("", "cublasCreate_v2(nullptr);", "extern \"C\" int cublasCreate_v2(void*);\n"));
  EXPECT_EQ(found.rule, PolicyRule::kVendorLibrary);
}

TEST_F(BuildTest, ForbiddenCallsAreNamedWithTheirLine) {
  struct Case {
    const char* header;
    const char* call;
    PolicyRule rule;
    const char* name;
  };
  for (const Case& one :
       {Case{"#include <dlfcn.h>\n", "dlopen(\"libcublas.so.13\", RTLD_NOW);", PolicyRule::kDynamicLoading, "dlopen"},
        Case{"#include <unistd.h>\n", "if (fork() == 0) _exit(0);", PolicyRule::kProcess, "fork"},
        Case{"#include <cstdlib>\n", "if (std::system(\"true\")) return;", PolicyRule::kProcess, "system"},
        Case{"#include <thread>\n", "std::thread([] {}).detach();", PolicyRule::kThread, "std::thread"}}) {
    const PolicyFinding found = violation(candidate("", one.call, one.header));
    EXPECT_EQ(found.rule, one.rule) << one.name;
    EXPECT_THAT(found.what, HasSubstr(one.name));
    EXPECT_EQ(found.where, "gemm.cu:8") << one.name;
  }
}

TEST_F(BuildTest, CallsHiddenByMacrosAreFoundInTheLibrary) {
  const PolicyFinding found =
      violation(candidate("", "PASTE(dl, open)(nullptr, 1);", "#include <dlfcn.h>\n#define PASTE(a, b) a##b\n"));
  EXPECT_EQ(found.rule, PolicyRule::kDynamicLoading);
  EXPECT_THAT(found.where, HasSubstr("import"));
}

TEST_F(BuildTest, NamesInCommentsAndUnusedTextAreFine) {
  built(candidate("", "const char* s = \"dlopen(fork())\"; (void)s;", "// #include <cublas_v2.h>, dlopen(), fork()\n"));
}

TEST_F(BuildTest, SystemCallInstructionIsFound) {
  const PolicyFinding found =
      violation(candidate("", "asm volatile(\"syscall\" : : \"a\"(39) : \"rcx\", \"r11\", \"memory\");"));
  EXPECT_EQ(found.rule, PolicyRule::kDirectSystemCall);
}

TEST_F(BuildTest, SystemCallBytesInAConstantAreFine) {
  built(candidate("", "volatile unsigned x = 0x11050f22; (void)x;"));
}

TEST_F(BuildTest, DeviceCodeFromElsewhereIsFound) {
  const PolicyFinding in_section =
      violation(candidate("", "", "asm(\".section .nv_fatbin,\\\"a\\\"\\n.quad 0x00100001BA55ED50, 0\\n.text\");\n"));
  EXPECT_EQ(in_section.rule, PolicyRule::kForeignDeviceCode);
  const PolicyFinding elsewhere =
      violation(candidate("", "", "asm(\".section .rodata\\n.quad 0x00100001BA55ED50, 0\\n.text\");\n"));
  EXPECT_EQ(elsewhere.rule, PolicyRule::kForeignDeviceCode);
}

TEST_F(BuildTest, MissingEntryPointIsACompileError) {
  const CompileFailure found = failure("__global__ void k() {}\nvoid run() { k<<<1, 1>>>(); }\n");
  EXPECT_THAT(found.summary, HasSubstr("gemm.cu"));
  EXPECT_THAT(found.summary, HasSubstr("PTXBENCH_EXPORT(run)"));
}

TEST_F(BuildTest, WhatIsForbiddenComesBeforeAMissingEntryPoint) {
  EXPECT_EQ(violation("#include <unistd.h>\nvoid run() { fork(); }\n").rule, PolicyRule::kProcess);
}

// ---- bad input and bad machines ----

TEST_F(BuildTest, BadInputIsRefusedByName) {
  EXPECT_EQ(build(request_).error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(build_text("").error().message, HasSubstr("empty"));
  EXPECT_THAT(build_text(std::string("a\0b", 3)).error().message, HasSubstr("binary"));
  EXPECT_THAT(build_text("\xff\xfe").error().message, HasSubstr("UTF-8"));
  EXPECT_EQ(build_text(std::string((1 << 20) + 1, ' ')).error().kind, ErrorKind::kTooLarge);
  request_.source = folder_->path();
  EXPECT_THAT(build(request_).error().message, HasSubstr("folder"));
}

TEST_F(BuildTest, OddFileNamesWork) {
  request_.source = folder_->path() / "-x my \"kernel\".cu";
  EXPECT_EQ(built(candidate()).artifact.source_name, "kernel.cu");
}

// Runs build() in a child process with one more environment variable; true if check says so.
template <class Check>
bool in_child(const std::string& name, const std::string& value, Check check) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(name.c_str(), value.c_str(), 1);
    ::_exit(check() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A toolkit whose nvcc is this shell script and whose other parts are the installed ones.
void fake_toolkit(const fs::path& folder, const std::string& script) {
  const auto real = locate_toolkit();
  ASSERT_TRUE(real);
  fs::create_directories(folder / "cuda/bin");
  for (const char* part : {"include", "lib64", "nvvm"}) fs::create_symlink(real->root / part, folder / "cuda" / part);
  fs::create_symlink(real->ptxas, folder / "cuda/bin/ptxas");
  ASSERT_TRUE(write_file_atomic(
      folder / "cuda/bin/nvcc",
      "#!/bin/sh\ncase \"$*\" in *--version*) echo 'release 13.0, V13.0.88'; exit 0;; esac\n" + script));
  ::chmod((folder / "cuda/bin/nvcc").c_str(), 0755);
}

TEST_F(BuildTest, CrashingCompilerIsReported) {
  fake_toolkit(folder_->path() / "fake", "kill -SEGV $$\n");
  EXPECT_TRUE(in_child("PTXBENCH_TOOLCHAIN", (folder_->path() / "fake").string(),
                       [&] { return failure(candidate()).summary.find("signal 11") != std::string::npos; }));
}

TEST_F(BuildTest, HangingCompilerIsStopped) {
  fake_toolkit(folder_->path() / "fake", "sleep 600\n");
  request_.limits.wall = 500ms;
  EXPECT_TRUE(in_child("PTXBENCH_TOOLCHAIN", (folder_->path() / "fake").string(),
                       [&] { return failure(candidate()).summary.find("out of time") != std::string::npos; }));
}

TEST_F(BuildTest, OldCompilerIsNotTaken) {
  ASSERT_TRUE(fs::create_directories(folder_->path() / "fake/cuda/bin"));
  const fs::path nvcc = folder_->path() / "fake/cuda/bin/nvcc";
  ASSERT_TRUE(write_file_atomic(nvcc, "#!/bin/sh\necho 'release 12.4, V12.4.131'\n"));
  ::chmod(nvcc.c_str(), 0755);
  EXPECT_TRUE(in_child("PTXBENCH_TOOLCHAIN", (folder_->path() / "fake").string(), [&] {
    const auto toolkit = locate_toolkit();  // another one, or an error that names this one
    return toolkit ? toolkit->version != "12.4.131" : toolkit.error().message.find("12.4.131") != std::string::npos;
  }));
}

TEST_F(BuildTest, FullDiskIsReportedAsTheMachinesFault) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small disk needs root";
  const fs::path small = folder_->path() / "small";
  ASSERT_TRUE(fs::create_directory(small));
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=3m") != 0) GTEST_SKIP() << "this system allows no mounts";
  ASSERT_TRUE(write_file_atomic(request_.source, candidate()));
  const auto full = [&] {
    const auto outcome = build(request_);
    return !outcome && outcome.error().kind == ErrorKind::kUnavailable &&
           outcome.error().message.find("space") != std::string::npos;
  };
  EXPECT_TRUE(in_child("TMPDIR", small.string(), full));
  // The same with a full cache.
  request_.cache_folder = small / "cache";
  ASSERT_TRUE(write_file_atomic(small / "filler", std::string((3 << 20) - 16384, 'x')));
  EXPECT_TRUE(in_child("UNUSED", "", full));
  ::umount(small.c_str());
}

TEST_F(BuildTest, LeavesNoTemporaryFolders) {
  const fs::path temporary = folder_->path() / "tmp";
  ASSERT_TRUE(fs::create_directory(temporary));
  EXPECT_TRUE(in_child("TMPDIR", temporary.string(), [&] {
    built(candidate());
    failure(candidate("nonsense;"));
    return fs::is_empty(temporary);
  }));
}

}  // namespace
}  // namespace ptxbench::toolchain
