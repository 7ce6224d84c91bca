// The candidate's side of the TVM FFI calling convention, without TVM's headers (which cost about 7 s of host compile
// time). The exported symbol and every structure have the same layout, so a library built with this header and one built
// with <tvm/ffi/function.h> and TVM_FFI_DLL_EXPORT_TYPED_FUNC are called in the same way, here and by TVM FFI itself.
//
//   #include <ptxbench/ffi.h>
//   void run(ptxbench::Tensor<__nv_bfloat16> a, ptxbench::Tensor<__nv_bfloat16> b, ptxbench::Tensor<__nv_bfloat16> c) {
//     gemm<<<grid, block>>>(a.data(), b.data(), c.data(), a.size(0));
//   }
//   PTXBENCH_EXPORT(run)
//
// Arguments come in the task's order: inputs, then outputs (already allocated; write into them). A wrong number or type
// of arguments is refused before run() is called, with a message that names it; so is a non-zero return value of run()
// (return cudaError_t if you like).
//
// Layouts: TVMFFIAny 16 bytes, DLTensor 48 bytes, as in tvm/ffi/c_api.h 0.1 and dlpack 1.x.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <type_traits>
#include <utility>

// Provided by the program that loads the library; weak, so that linking needs no library and other loaders may lack them.
extern "C" {
__attribute__((weak)) void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);
__attribute__((weak)) void* TVMFFIEnvGetStream(std::int32_t device_type, std::int32_t device_id);
}

struct __nv_bfloat16;
struct __half;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;

namespace ptxbench {

namespace ffi {

struct DataType {  // DLDataType
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
enum DataTypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kBool = 6,
  kFloat8E4m3fn = 10,
  kFloat8E5m2 = 12
};

struct DeviceTensor {  // DLTensor
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t ndim;
  DataType dtype;
  const std::int64_t* shape;
  const std::int64_t* strides;  // in elements; null: row-major and dense
  std::uint64_t byte_offset;
};
static_assert(sizeof(DeviceTensor) == 48 && offsetof(DeviceTensor, shape) == 24, "DLTensor layout");

struct Any {  // TVMFFIAny
  std::int32_t type_index;
  std::uint32_t zero_padding;
  union {
    std::int64_t as_int;
    double as_float;
    void* as_pointer;
  };
};
static_assert(sizeof(Any) == 16, "TVMFFIAny layout");

enum TypeIndex : std::int32_t {
  kNone = 0,
  kIntIndex = 1,
  kBoolIndex = 2,
  kFloatIndex = 3,
  kOpaque = 4,
  kTensorPointer = 7,
  kTensorObject = 70
};
constexpr std::size_t kObjectHeaderBytes = 24;  // before the DLTensor of a kTensorObject
constexpr std::int32_t kCudaDevice = 2;

struct Failure : std::exception {
  const char* kind;
  char text[512];
  template <class... Args>
  explicit Failure(const char* kind_, const char* format, Args... args) : kind(kind_) {
    std::snprintf(text, sizeof(text), format, args...);
  }
  const char* what() const noexcept override { return text; }
};

inline const char* name_of(std::int32_t type_index) {
  switch (type_index) {
    case kNone: return "None";
    case kIntIndex: return "an integer";
    case kBoolIndex: return "a bool";
    case kFloatIndex: return "a float";
    case kTensorPointer:
    case kTensorObject: return "a tensor";
    default: return "something else";
  }
}

// What a C++ element type is called in a tensor. No entry: any type is accepted under that name.
template <class T>
struct ElementType {
  static_assert(std::is_arithmetic_v<T>, "ptxbench::Tensor<T>: use a CUDA or C++ number type, or ptxbench::TensorView");
  static constexpr DataType value{std::is_floating_point_v<T> ? kFloat
                                  : std::is_same_v<T, bool>   ? kBool
                                  : std::is_signed_v<T>       ? kInt
                                                              : kUInt,
                                  8 * sizeof(T), 1};
};
template <>
struct ElementType<__nv_bfloat16> {
  static constexpr DataType value{kBfloat, 16, 1};
};
template <>
struct ElementType<__half> {
  static constexpr DataType value{kFloat, 16, 1};
};
template <>
struct ElementType<__nv_fp8_e4m3> {
  static constexpr DataType value{kFloat8E4m3fn, 8, 1};
};
template <>
struct ElementType<__nv_fp8_e5m2> {
  static constexpr DataType value{kFloat8E5m2, 8, 1};
};

inline const char* name_of(DataType type, char (&buffer)[24]) {
  const char* word = type.code == kInt            ? "int"
                     : type.code == kUInt         ? "uint"
                     : type.code == kFloat        ? "float"
                     : type.code == kBfloat       ? "bfloat"
                     : type.code == kBool         ? "bool"
                     : type.code == kFloat8E4m3fn ? "float8_e4m3fn/"
                     : type.code == kFloat8E5m2   ? "float8_e5m2/"
                                                  : "type?";
  if (type.lanes == 1)
    std::snprintf(buffer, sizeof(buffer), "%s%d", word, type.bits);
  else
    std::snprintf(buffer, sizeof(buffer), "%s%dx%d", word, type.bits, type.lanes);
  return buffer;
}

}  // namespace ffi

// A tensor in device memory. A view: cheap to copy, owns nothing.
class TensorView {
 public:
  TensorView() = default;
  explicit TensorView(const ffi::DeviceTensor* tensor) : tensor_(tensor) {}

  void* data() const { return static_cast<char*>(tensor_->data) + tensor_->byte_offset; }
  int ndim() const { return tensor_->ndim; }
  const std::int64_t* shape() const { return tensor_->shape; }
  // Size and stride of one dimension, in elements; negative dimensions count from the last.
  std::int64_t size(int dimension) const { return tensor_->shape[at(dimension)]; }
  std::int64_t stride(int dimension) const {
    const int d = at(dimension);
    if (tensor_->strides) return tensor_->strides[d];
    std::int64_t stride = 1;
    for (int i = d + 1; i < ndim(); ++i) stride *= tensor_->shape[i];
    return stride;
  }
  std::int64_t numel() const {
    std::int64_t product = 1;
    for (int i = 0; i < ndim(); ++i) product *= tensor_->shape[i];
    return product;
  }
  ffi::DataType dtype() const { return tensor_->dtype; }

 private:
  int at(int dimension) const {
    const int d = dimension < 0 ? dimension + ndim() : dimension;
    if (d < 0 || d >= ndim())
      throw ffi::Failure("IndexError", "dimension %d of a tensor that has %d", dimension, ndim());
    return d;
  }
  const ffi::DeviceTensor* tensor_ = nullptr;
};

// The same with an element type, which is checked when run() is called.
template <class T>
class Tensor : public TensorView {
 public:
  using TensorView::TensorView;
  T* data() const { return static_cast<T*>(TensorView::data()); }
};

// The stream to launch on (a cudaStream_t); null, the default stream, if the caller named none.
inline void* current_stream() { return TVMFFIEnvGetStream ? TVMFFIEnvGetStream(ffi::kCudaDevice, 0) : nullptr; }

namespace ffi {

inline const DeviceTensor* tensor_argument(const Any& any, int number) {
  if (any.type_index == kTensorPointer) return static_cast<const DeviceTensor*>(any.as_pointer);
  if (any.type_index == kTensorObject)
    return reinterpret_cast<const DeviceTensor*>(static_cast<char*>(any.as_pointer) + kObjectHeaderBytes);
  throw Failure("TypeError", "run: argument %d: expected a tensor, got %s", number, name_of(any.type_index));
}

template <class T, class = void>
struct Argument {
  static_assert(std::is_arithmetic_v<T>, "run() takes ptxbench::Tensor<T>, ptxbench::TensorView, numbers and bool");
  static T get(const Any& any, int number) {
    if (any.type_index == kIntIndex || any.type_index == kBoolIndex) return static_cast<T>(any.as_int);
    if (std::is_floating_point_v<T> && any.type_index == kFloatIndex) return static_cast<T>(any.as_float);
    throw Failure("TypeError", "run: argument %d: expected %s, got %s", number,
                  std::is_floating_point_v<T> ? "a number" : "an integer", name_of(any.type_index));
  }
};
template <>
struct Argument<TensorView> {
  static TensorView get(const Any& any, int number) { return TensorView(tensor_argument(any, number)); }
};
template <class T>
struct Argument<Tensor<T>> {
  static Tensor<T> get(const Any& any, int number) {
    const DeviceTensor* tensor = tensor_argument(any, number);
    constexpr DataType wanted = ElementType<std::remove_cv_t<T>>::value;
    const DataType found = tensor->dtype;
    if (found.code != wanted.code || found.bits != wanted.bits || found.lanes != wanted.lanes) {
      char one[24], other[24];
      throw Failure("TypeError", "run: argument %d: expected a tensor of %s, got %s", number, name_of(wanted, one),
                    name_of(found, other));
    }
    return Tensor<T>(tensor);
  }
};

template <class Return, class... Args, std::size_t... Index>
int call(Return (*function)(Args...), const Any* args, std::int32_t count, std::index_sequence<Index...>) {
  try {
    if (count != static_cast<std::int32_t>(sizeof...(Args)))
      throw Failure("TypeError", "run: takes %d arguments, got %d", static_cast<int>(sizeof...(Args)),
                    static_cast<int>(count));
    if constexpr (std::is_void_v<Return>) {
      function(Argument<std::decay_t<Args>>::get(args[Index], static_cast<int>(Index))...);
    } else {
      const auto code =
          static_cast<long long>(function(Argument<std::decay_t<Args>>::get(args[Index], static_cast<int>(Index))...));
      if (code != 0) throw Failure("RuntimeError", "run: returned %lld", code);
    }
    return 0;
  } catch (const Failure& failure) {
    if (TVMFFIErrorSetRaisedFromCStr) TVMFFIErrorSetRaisedFromCStr(failure.kind, failure.text);
  } catch (const std::exception& error) {
    if (TVMFFIErrorSetRaisedFromCStr) TVMFFIErrorSetRaisedFromCStr("RuntimeError", error.what());
  } catch (...) {
    if (TVMFFIErrorSetRaisedFromCStr)
      TVMFFIErrorSetRaisedFromCStr("RuntimeError", "run: threw something that is not a std::exception");
  }
  return -1;
}

template <class Return, class... Args>
int call(Return (*function)(Args...), const Any* args, std::int32_t count) {
  return call(function, args, count, std::index_sequence_for<Args...>{});
}

}  // namespace ffi
}  // namespace ptxbench

// Exports `function` as the library's entry point. Once per library, at namespace scope, outside any namespace.
#define PTXBENCH_EXPORT(function)                                                                                     \
  extern "C" __attribute__((visibility("default"))) int __tvm_ffi_run(void*, const void* args, std::int32_t num_args, \
                                                                      void*) {                                        \
    return ptxbench::ffi::call(function, static_cast<const ptxbench::ffi::Any*>(args), num_args);                     \
  }
