// One library with every way in which a candidate's host code can end; `mode` picks it.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ptxbench/ffi.h"

__global__ void add(int* p, int n, int v) {
  for (int i = 0; i < n; ++i) p[i] += v;
}
__global__ void oob(int* p) { p[1 << 30] = 1; }
__global__ void spin(int* p) {
  while (*reinterpret_cast<volatile int*>(p) != 12345) {
  }
}

static volatile int sink;

static void must(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorName(error));
}

void run(ptxbench::Tensor<int> in, ptxbench::Tensor<int> out, int mode) {
  const int n = static_cast<int>(out.size(0));
  switch (mode) {
    case 0:
      must(cudaMemcpy(out.data(), in.data(), n * sizeof(int), cudaMemcpyDeviceToDevice));
      add<<<1, 1>>>(out.data(), n, 5);
      must(cudaGetLastError());
      must(cudaDeviceSynchronize());
      break;
    case 1: throw std::runtime_error("bad luck");
    case 2: std::exit(0);
    case 3: std::abort();
    case 4: sink = fork(); break;
    case 5: std::thread([] { sink = 1; }).join(); break;
    case 6:
      for (;;) sink = sink + 1;
    case 7: std::puts("PASSED"), std::fputs("all layers passed\n", stderr); break;
    case 8: *reinterpret_cast<volatile int*>(8) = 1; break;
    case 9: {
      struct stat info;
      Dl_info self;
      ::dladdr(reinterpret_cast<void*>(&must), &self);
      const std::string library = self.dli_fname;
      // A file that the test put beside the library stands for inputs, references and other candidates.
      const std::string beside = library.substr(0, library.rfind('/')) + "/secret.txt";
      for (const char* path : {beside.c_str(), "/etc/passwd", "/etc/hostname", "/dev/nvidia0", "/proc/1/environ"}) {
        if (::open(path, O_RDONLY) >= 0) throw std::runtime_error(std::string("could open ") + path);
      }
      if (::stat("/dev/nvidiactl", &info) == 0) throw std::runtime_error("sees a GPU device");
      break;
    }
    case 10: sink = ::open("/tmp/leak", O_WRONLY | O_CREAT, 0600); break;
    case 11: sink = ::socket(AF_INET, SOCK_STREAM, 0); break;
    case 12: ::execl("/bin/sh", "sh", "-c", "echo PASSED", static_cast<char*>(nullptr)); break;
    case 13: {
      std::vector<char*> blocks;
      for (;;) {
        blocks.push_back(new char[16 << 20]);
        std::memset(blocks.back(), 1, 16 << 20);
      }
    }
    case 14: oob<<<1, 1>>>(out.data()); must(cudaDeviceSynchronize()); break;
    case 15: spin<<<1, 1>>>(out.data()); must(cudaDeviceSynchronize()); break;
    case 16: {
      cudaGraph_t graph;
      must(cudaGraphCreate(&graph, 0));
      break;
    }
    case 17: {
      CUmodule module;
      const CUresult r = cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry add() { ret; }\n");
      if (r != CUDA_SUCCESS) throw std::runtime_error("module refused with " + std::to_string(r));
      break;
    }
    case 18:
      for (int fd = 3; fd < 8; ++fd) sink = static_cast<int>(::write(fd, "garbage that is no message of any protocol", 42));
      break;
    case 19:
      for (int i = 0; i < 100000; ++i) std::puts("line after line after line after line after line");
      break;
    case 20: sink = ::kill(::getppid(), SIGKILL); break;
    case 21: {
      for (int fd = 0; fd < 64; ++fd) ::close(fd);
      break;
    }
    case 22:
      if (::dlopen("libcublas.so.13", RTLD_NOW) != nullptr) throw std::runtime_error("found a vendor library");
      break;
    case 23: throw 42;
    case 24: add<<<1, 32, 100000>>>(out.data(), n, 5); must(cudaGetLastError()); break;
    case 25: ::pause(); break;
    case 26: ::sleep(600); break;
    case 27: {
      // Not its own memory: an address that the device has not given to it.
      int stolen = 0;
      must(cudaMemcpy(&stolen, reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(in.data()) - 4096), 4, cudaMemcpyDeviceToHost));
      break;
    }
    default: throw std::invalid_argument("no such mode");
  }
}
PTXBENCH_EXPORT(run)
