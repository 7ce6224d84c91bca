// The functions of libtvm_ffi that a library built with TVM FFI's headers, or with ptxbench/ffi.h, calls. Exported by ptxbench-host.
#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ptxbench/cli/tvm_ffi_abi.h"

namespace ptxbench::tvm {
namespace {

constexpr std::int32_t kFirstDynamic = 128;
constexpr std::size_t kMaxText = 4096;

struct Type {
  std::string key;
  std::vector<const TypeInfo*> ancestors;
  TypeInfo info{};
};

class Types {
 public:
  Types() {
    // Plain values, then the built-in object types, which all derive from the first of them.
    const char* const plain[] = {"None",
                                 "int",
                                 "bool",
                                 "float",
                                 "void*",
                                 "DataType",
                                 "Device",
                                 "DLTensor*",
                                 "const char*",
                                 "TVMFFIByteArray*",
                                 "ObjectRValueRef",
                                 "ffi.SmallStr",
                                 "ffi.SmallBytes"};
    std::int32_t index = 0;
    for (const char* key : plain) add(index++, key, -1);
    const char* const objects[] = {"ffi.Object", "ffi.String", "ffi.Bytes", "ffi.Error", "ffi.Function",
                                   "ffi.Shape",  "ffi.Tensor", "ffi.Array", "ffi.Map",   "ffi.Module"};
    index = kObject;
    for (const char* key : objects) {
      add(index, key, index == kObject ? -1 : kObject);
      ++index;
    }
  }

  const TypeInfo* find(std::int32_t index) {
    const auto found = by_index_.find(index);
    return found == by_index_.end() ? nullptr : &found->second->info;
  }

  std::int32_t get_or_add(const std::string& key, std::int32_t static_index, std::int32_t parent) {
    for (const auto& [index, type] : by_index_) {
      if (type->key == key) return index;
    }
    std::int32_t index = static_index;
    if (index < 0) index = std::max(kFirstDynamic, by_index_.rbegin()->first + 1);
    add(index, key, parent);
    return index;
  }

 private:
  void add(std::int32_t index, const std::string& key, std::int32_t parent) {
    Type& type = types_.emplace_back();  // addresses in a deque stay
    type.key = key;
    if (const TypeInfo* base = find(parent); base != nullptr) {
      type.ancestors.assign(base->ancestors, base->ancestors + base->depth);
      type.ancestors.push_back(base);
    }
    type.info.type_index = index;
    type.info.depth = static_cast<std::int32_t>(type.ancestors.size());
    type.info.key = {type.key.data(), type.key.size()};
    type.info.ancestors = type.ancestors.data();
    by_index_[index] = &type;
  }

  std::deque<Type> types_;
  std::map<std::int32_t, Type*> by_index_;
};

Types& types() {
  static Types all;
  return all;
}

std::string last_error;

}  // namespace

const char* raised_error() { return last_error.c_str(); }

}  // namespace ptxbench::tvm

#define PTXBENCH_TVM_EXPORT extern "C" __attribute__((visibility("default")))

PTXBENCH_TVM_EXPORT void* TVMFFIEnvGetStream(std::int32_t, std::int32_t) { return nullptr; }  // the default stream

PTXBENCH_TVM_EXPORT void TVMFFIErrorSetRaised(void* error) {
  using namespace ptxbench::tvm;
  last_error = "an error without a description";
  if (error == nullptr || static_cast<const ObjectHeader*>(error)->type_index != kError) return;
  const auto& raised = *static_cast<const ErrorObject*>(error);
  last_error.assign(raised.kind.data, std::min(raised.kind.size, kMaxText));
  last_error += ": ";
  last_error.append(raised.message.data, std::min(raised.message.size, kMaxText));
}

PTXBENCH_TVM_EXPORT void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  using ptxbench::tvm::last_error;
  last_error = std::string(kind).substr(0, ptxbench::tvm::kMaxText) + ": ";
  last_error += std::string(message).substr(0, ptxbench::tvm::kMaxText);
}

PTXBENCH_TVM_EXPORT const ptxbench::tvm::ByteArray* TVMFFIBacktrace(const char*, int, const char*, int) {
  static const ptxbench::tvm::ByteArray none{"", 0};
  return &none;
}

PTXBENCH_TVM_EXPORT const ptxbench::tvm::TypeInfo* TVMFFIGetTypeInfo(std::int32_t index) {
  return ptxbench::tvm::types().find(index);
}

PTXBENCH_TVM_EXPORT std::int32_t TVMFFITypeGetOrAllocIndex(const ptxbench::tvm::ByteArray* key,
                                                           std::int32_t static_index, std::int32_t, std::int32_t,
                                                           std::int32_t, std::int32_t parent) {
  return ptxbench::tvm::types().get_or_add({key->data, key->size}, static_index, parent);
}
