// ffi_caller LIBRARY ARGUMENT...: calls the library's __tvm_ffi_run and prints what came of it. Arguments: tensor:TYPE:SIZE
// (f32, bf16; as DLTensor*), object:TYPE:SIZE (as a TVM tensor object), int:N, float:X, none.
// It knows nothing of ptxbench's own header: the structures are written down from tvm/ffi/c_api.h and dlpack.h, and the
// CUDA runtime is a stand-in that prints the kernel's arguments, so that both headers are held to the same contract.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Tensor {
  void* data;
  std::int32_t device_type, device_id, ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct TensorObject {
  std::uint64_t references = (std::uint64_t{1} << 32) | 1;
  std::int32_t type_index = 70;
  std::uint32_t padding = 0;
  void* deleter = nullptr;
  Tensor tensor;
};
struct Any {
  std::int32_t type_index;
  std::uint32_t padding;
  union {
    std::int64_t integer;
    double real;
    void* pointer;
  };
};

std::string raised = "(no message)";
std::uintptr_t next_address = 0x1000;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) c == ':' ? void(parts.emplace_back()) : void(parts.back() += c);
  return parts;
}

Tensor make_tensor(const std::string& type, std::int64_t size) {
  auto* shape = new std::int64_t[1]{size};
  auto* strides = new std::int64_t[1]{1};
  const bool bf16 = type == "bf16";
  next_address += 0x1000;
  return {reinterpret_cast<void*>(next_address),     2, 0,     1,       static_cast<std::uint8_t>(bf16 ? 4 : 2),
          static_cast<std::uint8_t>(bf16 ? 16 : 32), 1, shape, strides, 0};
}

Any parse(const std::string& text) {
  const auto parts = split(text);
  Any any{};
  if (parts[0] == "int") any = {1, 0, {std::atoll(parts[1].c_str())}};
  if (parts[0] == "float") {
    any.type_index = 3;
    any.real = std::atof(parts[1].c_str());
  }
  if (parts[0] == "tensor") {
    any.type_index = 7;
    any.pointer = new Tensor(make_tensor(parts[1], std::atoll(parts[2].c_str())));
  }
  if (parts[0] == "object") {
    auto* object = new TensorObject;
    object->tensor = make_tensor(parts[1], std::atoll(parts[2].c_str()));
    any.type_index = 70;
    any.pointer = object;
  }
  return any;
}

}  // namespace

// ---- stand-ins ----

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  raised = std::string(kind) + ": " + message;
}
EXPORT void TVMFFIErrorSetRaised(void* error) {  // header of 24 bytes, then kind and message as {data, size}
  const auto* cell = reinterpret_cast<const std::uintptr_t*>(static_cast<char*>(error) + 24);
  raised = std::string(reinterpret_cast<const char*>(cell[0]), cell[1]) + ": " +
           std::string(reinterpret_cast<const char*>(cell[2]), cell[3]);
}
struct ByteArray {
  const char* data;
  std::size_t size;
};
EXPORT const ByteArray* TVMFFIBacktrace(const char*, int, const char*, int) {
  static const ByteArray none{"", 0};
  return &none;
}
struct TypeInfo {
  std::int32_t type_index, type_depth;
  ByteArray type_key;
  const TypeInfo** ancestors;
};
EXPORT const TypeInfo* TVMFFIGetTypeInfo(std::int32_t index) {
  static TypeInfo info{0, 0, {"ffi.Something", 13}, nullptr};
  static const TypeInfo* ancestors[4] = {&info, &info, &info, &info};
  info.type_index = index;
  info.ancestors = ancestors;
  return &info;
}
EXPORT std::int32_t TVMFFITypeGetOrAllocIndex(const ByteArray*, std::int32_t fixed, std::int32_t, std::int32_t,
                                              std::int32_t, std::int32_t) {
  static std::int32_t next = 128;
  return fixed >= 0 ? fixed : next++;
}
EXPORT void* TVMFFIEnvGetStream(std::int32_t, std::int32_t) { return nullptr; }

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::printf("%s\n", ::dlerror());
    return 3;
  }
  using Run = int (*)(void*, const Any*, std::int32_t, Any*);
  const auto run = reinterpret_cast<Run>(::dlsym(library, "__tvm_ffi_run"));
  if (!run) return 4;
  std::vector<Any> arguments;
  for (int i = 2; i < argc; ++i) arguments.push_back(parse(argv[i]));
  Any result{};
  const int code = run(nullptr, arguments.data(), static_cast<std::int32_t>(arguments.size()), &result);
  std::printf("code %d\n%s\n", code, code == 0 ? "" : raised.c_str());
  return 0;
}
