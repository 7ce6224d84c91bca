// Libraries built with our light header and with TVM's own are called by one and the same program (ffi_caller), with a
// CUDA runtime that is a stand-in written here: it prints what the kernel would have been given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxbench/base/subprocess.h"
#include "tests/toolchain/test_support.h"

namespace ptxbench::toolchain {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kKernel =
    "__global__ void add(const float* a, float scale, float* c, long long n) {\n"
    "  if (threadIdx.x < n) c[threadIdx.x] = a[threadIdx.x] * scale;\n"
    "}\n";

const std::string kLight = std::string("#include <ptxbench/ffi.h>\n") + kKernel +
                           "void run(ptxbench::Tensor<float> a, float scale, ptxbench::Tensor<float> c) {\n"
                           "  add<<<1, 32>>>(a.data(), scale, c.data(), a.size(0));\n"
                           "}\n"
                           "PTXBENCH_EXPORT(run)\n";

const std::string kFull =
    std::string("#include <tvm/ffi/container/tensor.h>\n#include <tvm/ffi/function.h>\n") + kKernel +
    "void run(tvm::ffi::TensorView a, float scale, tvm::ffi::TensorView c) {\n"
    "  add<<<1, 32>>>(static_cast<float*>(a.data_ptr()), scale, static_cast<float*>(c.data_ptr()), a.size(0));\n"
    "}\n"
    "TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run)\n";

// Prints the four arguments of `add` at each launch.
constexpr const char* kRuntime = R"(
#include <stdio.h>
typedef struct { unsigned x, y, z; } Dim3;
void** __cudaRegisterFatBinary(void* binary) { return (void**)binary; }
void __cudaRegisterFatBinaryEnd(void** handle) { (void)handle; }
void __cudaUnregisterFatBinary(void** handle) { (void)handle; }
void __cudaRegisterFunction(void** handle, const void* stub, char* name, const char* device, int n, void* a, void* b, void* c, void* d, int* e) {
  (void)handle; (void)stub; (void)name; (void)device; (void)n; (void)a; (void)b; (void)c; (void)d; (void)e;
}
unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, unsigned long shared, void* stream) { (void)grid; (void)block; (void)shared; (void)stream; return 0; }
int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, unsigned long* shared, void* stream) {
  Dim3 one = {1, 1, 1}, warp = {32, 1, 1}; *grid = one; *block = warp; *shared = 0; *(void**)stream = 0; return 0;
}
static void print(void** args) {
  printf("launch a=%p scale=%g c=%p n=%lld\n", *(void**)args[0], *(float*)args[1], *(void**)args[2], *(long long*)args[3]);
}
int __cudaGetKernel(void** kernel, const void* stub) { *kernel = (void*)stub; return 0; }
int __cudaLaunchKernel(void* kernel, Dim3 grid, Dim3 block, void** args, unsigned long shared, void* stream) {
  (void)kernel; (void)grid; (void)block; (void)shared; (void)stream; print(args); return 0;
}
int cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void** args, unsigned long shared, void* stream) {
  (void)kernel; (void)grid; (void)block; (void)shared; (void)stream; print(args); return 0;
}
)";

class FfiTest : public BuildTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    BuildTest::SetUp();
    if (GetParam() && locate_toolkit()->tvm_ffi_include.empty())
      GTEST_SKIP() << "TVM FFI's headers are not installed (scripts/setup)";
    request_.cache_folder = PTXBENCH_BINARY_DIR "/test-cache";  // the same two libraries for all tests
    result_ = built(GetParam() ? kFull : kLight);
    make_runtime();
  }

  void make_runtime() {
    const auto version = result_.artifact.nvcc_version.substr(0, 2);
    const std::string soname = "libcudart.so." + version;
    const auto path = folder_->path();
    ASSERT_TRUE(write_file_atomic(path / "runtime.c", kRuntime));
    ASSERT_TRUE(write_file_atomic(path / "runtime.map", soname + " { global: *; };\n"));
    Command compiler;
    compiler.argv = {"/usr/bin/gcc",
                     "-shared",
                     "-fPIC",
                     "-O1",
                     "-w",
                     "runtime.c",
                     "-Wl,-soname," + soname,
                     "-Wl,--version-script,runtime.map",
                     "-o",
                     soname};
    compiler.environment = {"PATH=/usr/bin:/bin"};
    compiler.working_folder = path;
    compiler.stderr_to = OutputTo::capture();
    const auto finished = ptxbench::run(compiler, 60s);
    ASSERT_TRUE(finished && finished->exit.ok()) << finished->err.bytes;
  }

  std::string call(std::vector<std::string> arguments) {
    Command command;
    command.argv = {find_companion("ffi_caller").value().string(), result_.artifact.library().string()};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = {"LD_LIBRARY_PATH=" + folder_->path().string()};
    command.stdout_to = OutputTo::capture();
    const auto finished = ptxbench::run(command, 30s);
    if (!finished || !finished->exit.ok())
      return "the caller failed: " +
             (finished ? finished->exit.describe() + finished->out.bytes : finished.error().format());
    return finished->out.bytes;
  }

  Built result_;
};

TEST_P(FfiTest, PassesTensorsAndNumbers) {
  EXPECT_EQ(call({"tensor:f32:20", "float:0.5", "tensor:f32:20"}),
            "launch a=0x2000 scale=0.5 c=0x3000 n=20\ncode 0\n\n");
}

TEST_P(FfiTest, TakesTensorObjectsAndIntegersForNumbers) {
  EXPECT_EQ(call({"object:f32:20", "int:3", "tensor:f32:20"}), "launch a=0x2000 scale=3 c=0x3000 n=20\ncode 0\n\n");
}

TEST_P(FfiTest, WrongNumberOfArgumentsIsAnErrorWithText) {
  const std::string answer = call({"tensor:f32:20", "float:1"});
  EXPECT_THAT(answer, HasSubstr("code -1"));
  EXPECT_THAT(answer, HasSubstr("TypeError"));
  EXPECT_THAT(answer, HasSubstr("2"));
  EXPECT_THAT(answer, Not(HasSubstr("launch")));
}

TEST_P(FfiTest, WrongKindOfArgumentIsAnErrorWithText) {
  const std::string answer = call({"tensor:f32:20", "tensor:f32:1", "tensor:f32:20"});
  EXPECT_THAT(answer, HasSubstr("code -1"));
  EXPECT_THAT(answer, HasSubstr("TypeError"));
  EXPECT_THAT(answer, Not(HasSubstr("launch")));
}

TEST_P(FfiTest, LightHeaderChecksElementTypes) {
  if (GetParam()) GTEST_SKIP() << "TensorView has no element type";
  const std::string answer = call({"tensor:bf16:20", "float:1", "tensor:f32:20"});
  EXPECT_THAT(answer, HasSubstr("code -1"));
  EXPECT_THAT(answer, HasSubstr("argument 0: expected a tensor of float32, got bfloat16"));
}

INSTANTIATE_TEST_SUITE_P(Headers, FfiTest, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Tvm" : "Light"); });

}  // namespace
}  // namespace ptxbench::toolchain
