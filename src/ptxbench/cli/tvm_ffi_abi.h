// The C ABI of TVM FFI 0.1.x as far as a runner without libtvm_ffi needs it (apache-tvm-ffi, tvm/ffi/c_api.h and
// dlpack.h): the argument cell, the tensor, and the type records that its headers look up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptxbench::tvm {

enum TypeIndex : std::int32_t {
  kNone = 0,
  kInt = 1,
  kBool = 2,
  kFloat = 3,
  kDLTensorPtr = 7,
  kObject = 64,
  kError = 67
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
static_assert(sizeof(Any) == 16);

struct DLTensor {
  void* data;
  std::int32_t device_type;  // 2: CUDA
  std::int32_t device_id;
  std::int32_t ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
static_assert(sizeof(DLTensor) == 48);

struct ByteArray {
  const char* data;
  std::size_t size;
};

struct ObjectHeader {
  std::uint64_t reference_counts;
  std::int32_t type_index;
  std::uint32_t padding;
  void (*deleter)(void*, int);
};
static_assert(sizeof(ObjectHeader) == 24);

struct ErrorObject {
  ObjectHeader header;
  ByteArray kind, message, backtrace;
};

struct TypeInfo {
  std::int32_t type_index;
  std::int32_t depth;
  ByteArray key;
  const TypeInfo** ancestors;  // [0, depth)
  std::uint64_t key_hash;
  std::int32_t field_count, method_count;
  const void* fields;
  const void* methods;
  const void* metadata;
};

using SafeCall = int (*)(void* self, const Any* args, std::int32_t count, Any* result);

// The error that the library raised last on this thread, as "kind: message"; empty if there is none.
const char* raised_error();

}  // namespace ptxbench::tvm
