// What every capture program shares: the list of cases, the printing, device buffers, seeded numbers.
//
// A capture runs the same on a real GPU and on the emulator and prints one line per case, `name: word word ...`, all
// words in hexadecimal bits, so that texts compare line by line (compare.py). Bulk results print as hashes of slices:
// a failing slice narrows the search, and `--dump` prints every word of the chosen cases instead.
//
//   PROGRAM [--only TEXT] [--after CASE] [--dump]
//     --only TEXT    run only cases whose name contains TEXT
//     --after CASE   skip all cases up to and including CASE (how a run goes on after a case that broke the context)
//     --dump         print all words of bulk results
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace capture {

inline std::string g_only, g_after, g_case;
inline bool g_waiting = false, g_dump = false;

inline void init(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was printed survives a crash
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--dump") {
      g_dump = true;
    } else if (arg == "--only" && i + 1 < argc) {
      g_only = argv[++i];
    } else if (arg == "--after" && i + 1 < argc) {
      g_after = argv[++i];
      g_waiting = true;
    } else {
      std::fprintf(stderr, "usage: %s [--only TEXT] [--after CASE] [--dump]\n", argv[0]);
      std::exit(2);
    }
  }
}

// Says whether this case is to run, and names it for every error that follows.
inline bool begin(const std::string& name) {
  if (g_waiting) {
    if (name == g_after) g_waiting = false;
    return false;
  }
  if (!g_only.empty() && name.find(g_only) == std::string::npos) return false;
  g_case = name;
  return true;
}

// A CUDA error ends the program (contexts do not survive most of them); the line names the case and the call.
inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::printf("%s: error %s\n", g_case.c_str(), cudaGetErrorName(error));
  std::fprintf(stderr, "%s: %s: %s\n", g_case.c_str(), call, cudaGetErrorString(error));
  std::fflush(stdout);
  std::_Exit(1);
}
#define CHECK_CUDA(call) ::capture::check((call), #call)

inline void sync() {
  check(cudaGetLastError(), "launch");
  check(cudaDeviceSynchronize(), "kernel");
}

// Device memory that frees itself.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { CHECK_CUDA(cudaMalloc(&data_, bytes())); }
  explicit Buffer(const std::vector<T>& host) : Buffer(host.size()) { upload(host); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }
  size_t bytes() const { return count_ * sizeof(T); }
  void fill(int byte) { CHECK_CUDA(cudaMemset(data_, byte, bytes())); }
  void upload(const std::vector<T>& host) {
    CHECK_CUDA(cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    CHECK_CUDA(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// Seeded numbers: splitmix64, the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  uint32_t word() { return static_cast<uint32_t>(next() >> 32); }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>((uint64_t{word()} * limit) >> 32); }

 private:
  uint64_t state_;
};

inline uint64_t fnv(const void* data, size_t size) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001B3ull;
  return hash;
}

template <class T>
void print_word(T value) {
  typename std::make_unsigned<T>::type bits = value;
  std::printf(" %0*llx", int(2 * sizeof(T)), static_cast<unsigned long long>(bits));
}

// All words as they are. `mark` is the comparison rule of the line: "" (exact), "~ulp4", "~rel1e-5" ...
template <class T>
void print_all(const std::vector<T>& words, const char* mark = "") {
  std::printf("%s%s%s:", mark, *mark ? " " : "", g_case.c_str());
  for (T word : words) print_word(word);
  std::printf("\n");
}

// The first `samples` words, then one hash (64-bit FNV-1a folded to 32 bits) for each of `slices` equal parts.
template <class T>
void print_bulk(const std::vector<T>& words, size_t samples, size_t slices = 1) {
  if (g_dump) return print_all(words);
  std::printf("%s:", g_case.c_str());
  for (size_t i = 0; i < samples && i < words.size(); ++i) print_word(words[i]);
  for (size_t s = 0; s < slices; ++s) {
    size_t begin = words.size() * s / slices, end = words.size() * (s + 1) / slices;
    uint64_t hash = fnv(words.data() + begin, (end - begin) * sizeof(T));
    std::printf(" #%08x", static_cast<uint32_t>(hash ^ hash >> 32));
  }
  std::printf("\n");
}

// Allows a kernel more than 48 KiB of dynamic shared memory.
template <class Kernel>
void allow_shared(Kernel kernel, size_t bytes) {
  CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
}

}  // namespace capture

// Device helpers that several topics need.
__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void mbarrier_init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ inline void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ inline void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      "WAIT:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@done bra DONE;\n\t"
      "bra WAIT;\n\t"
      "DONE:\n\t"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// As above, but gives up: for transaction counts that are themselves the question.
__device__ inline bool mbarrier_wait_bounded(uint32_t barrier, uint32_t parity) {
  for (int tries = 0; tries < 2000; ++tries) {
    uint32_t done;
    asm volatile(
        "{\n\t"
        ".reg .pred done;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, done;\n\t"
        "}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    if (done) return true;
  }
  return false;
}

__device__ inline void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
