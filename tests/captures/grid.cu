// Blocks that talk to each other, and what surrounds a launch: barriers across the grid built from atomics, message passing
// by release and acquire, the last block, cooperative launch, streams and events, register reallocation, printf.
#include "capture.h"

using namespace capture;

__device__ uint32_t load_acquire(const uint32_t* at) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
__device__ void store_release(uint32_t* at, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// A barrier of the whole grid: a counter that only grows, polled through a volatile pointer.
__device__ void grid_barrier(uint32_t* counter, uint32_t round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1);
    while (*const_cast<volatile uint32_t*>(counter) < round * gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
}

// Each block passes its row to the next one, round after round.
__global__ void rounds(uint32_t* rows, uint32_t* counter, uint32_t count) {
  for (uint32_t round = 1; round <= count; ++round) {
    uint32_t from = (blockIdx.x + 1) % gridDim.x;
    uint32_t value = *const_cast<volatile uint32_t*>(&rows[from * blockDim.x + threadIdx.x]);
    grid_barrier(counter, 2 * round - 1);
    rows[blockIdx.x * blockDim.x + threadIdx.x] = value * 3 + blockIdx.x;
    grid_barrier(counter, 2 * round);
  }
}

// Block b waits for block b - 1: a chain that needs all blocks resident or started in order.
__global__ void chain(uint32_t* flags, uint32_t* values) {
  if (blockIdx.x > 0 && threadIdx.x == 0)
    while (load_acquire(&flags[blockIdx.x - 1]) == 0) asm volatile("nanosleep.u32 20;");
  __syncthreads();
  uint32_t before = blockIdx.x > 0 ? values[(blockIdx.x - 1) * blockDim.x + threadIdx.x] : 1;
  values[blockIdx.x * blockDim.x + threadIdx.x] = before * 7 + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) store_release(&flags[blockIdx.x], 1);
}

// The block that finishes last adds up what the others left.
__global__ void last_block(const uint32_t* in, uint32_t* partial, uint32_t* finished, uint32_t* out) {
  __shared__ bool last;
  __shared__ uint32_t sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < gridDim.x; ++i) total = total * 5 + const_cast<volatile uint32_t*>(partial)[i];
    out[0] = total;
    out[1] = *finished;
  }
}

// Three warpgroups that trade registers, as warp-specialised kernels do; the values only pass through.
__global__ void __launch_bounds__(384, 1) register_trade(const uint32_t* in, uint32_t* out) {
  __shared__ uint32_t staged[384];
  uint32_t group = threadIdx.x / 128;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    for (int i = 0; i < 3; ++i) staged[threadIdx.x + 128 * i] = in[(threadIdx.x + 128 * i) % 256];
    asm volatile("bar.arrive 1, 384;" ::: "memory");
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    asm volatile("bar.sync 1, 384;" ::: "memory");
    out[threadIdx.x - 128] = staged[383 - threadIdx.x] + staged[threadIdx.x] * group;
  }
}

__global__ void dependent(uint32_t* out, uint32_t add) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = out[i] * 2 + add;
  asm volatile("griddepcontrol.launch_dependents;");
}

__global__ void say(uint32_t number, const char* unused) {
  (void)unused;
  if (threadIdx.x == 1) printf("printf-%u: %08x %d %5.2f %s %c %%\n", number, 0xBEEFu, -5, 2.75, "text", 'x');
}

__global__ void huge_grid(uint32_t* sum) {
  if (threadIdx.x == 0) atomicAdd(sum, blockIdx.x * 3 + blockIdx.y * 5 + blockIdx.z);
}

__global__ void add_index(uint32_t* data, uint32_t factor) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] * factor + i;
}

std::vector<uint32_t> random_words(size_t words, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> data(words);
  for (uint32_t& w : data) w = random.word();
  return data;
}

void streams() {
  if (!begin("streams")) return;
  // Two streams joined by an event, memsets and copies of every direction in stream order.
  cudaStream_t one, two;
  cudaEvent_t ready;
  CHECK_CUDA(cudaStreamCreate(&one));
  CHECK_CUDA(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  CHECK_CUDA(cudaEventCreate(&ready));
  Buffer<uint32_t> a(random_words(256, 3)), b(256);
  CHECK_CUDA(cudaMemsetAsync(b.get(), 0x3C, 512, two));
  CHECK_CUDA(cudaMemsetAsync(b.get() + 128, 0x7, 512, two));
  add_index<<<4, 64, 0, one>>>(a.get(), 5);
  CHECK_CUDA(cudaEventRecord(ready, one));
  CHECK_CUDA(cudaStreamWaitEvent(two, ready, 0));
  add_index<<<1, 64, 0, two>>>(a.get(), 11);
  CHECK_CUDA(cudaMemcpyAsync(b.get() + 32, a.get(), 256, cudaMemcpyDeviceToDevice, two));
  CHECK_CUDA(cudaMemcpy2DAsync(b.get() + 128, 64, a.get() + 64, 32, 16, 6, cudaMemcpyDeviceToDevice, two));
  std::vector<uint32_t> host(256);
  CHECK_CUDA(cudaMemcpyAsync(host.data(), b.get(), 1024, cudaMemcpyDeviceToHost, two));
  CHECK_CUDA(cudaStreamSynchronize(two));
  CHECK_CUDA(cudaEventDestroy(ready));
  CHECK_CUDA(cudaStreamDestroy(one));
  CHECK_CUDA(cudaStreamDestroy(two));
  print_bulk(host, 8, 8);
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaFree(nullptr));
  for (uint32_t blocks : {2u, 7u}) {
    if (!begin("grid-rounds-" + std::to_string(blocks))) continue;
    Buffer<uint32_t> rows(random_words(blocks * 64, 1)), counter(std::vector<uint32_t>{0});
    rounds<<<blocks, 64>>>(rows.get(), counter.get(), 5);
    sync();
    print_bulk(rows.download(), 4, blocks);
  }
  if (begin("grid-rounds-cooperative")) {
    Buffer<uint32_t> rows(random_words(8 * 64, 2)), counter(std::vector<uint32_t>{0});
    uint32_t *r = rows.get(), *c = counter.get(), count = 3;
    void* arguments[] = {&r, &c, &count};
    CHECK_CUDA(
        cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(rounds), dim3(8), dim3(64), arguments, 0, nullptr));
    sync();
    print_bulk(rows.download(), 4, 8);
  }
  if (begin("chain-of-blocks")) {
    Buffer<uint32_t> flags(std::vector<uint32_t>(40)), values(40 * 32);
    chain<<<40, 32>>>(flags.get(), values.get());
    sync();
    print_bulk(values.download(), 4, 8);
  }
  if (begin("last-block")) {
    Buffer<uint32_t> in(random_words(640, 4)), partial(10), finished(std::vector<uint32_t>{0}), out(2);
    last_block<<<10, 64>>>(in.get(), partial.get(), finished.get(), out.get());
    sync();
    print_all(out.download());
  }
  if (begin("register-trade")) {
    Buffer<uint32_t> in(random_words(256, 5)), out(256);
    register_trade<<<2, 384>>>(in.get(), out.get());
    sync();
    print_bulk(out.download(), 4, 4);
  }
  if (begin("dependent-launches")) {
    Buffer<uint32_t> data(random_words(128, 6));
    cudaLaunchConfig_t config = {};
    config.gridDim = 2;
    config.blockDim = 64;
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attribute;
    config.numAttrs = 1;
    for (uint32_t i = 1; i <= 4; ++i) CHECK_CUDA(cudaLaunchKernelEx(&config, dependent, data.get(), i));
    sync();
    print_bulk(data.download(), 4, 4);
  }
  if (begin("grid-3d")) {
    Buffer<uint32_t> sum(std::vector<uint32_t>{0});
    huge_grid<<<dim3(37, 11, 6), 32>>>(sum.get());
    sync();
    print_all(sum.download());
  }
  streams();
  // The kernel prints the case's line itself.
  for (uint32_t number : {1u, 2u}) {
    if (!begin("printf-" + std::to_string(number))) continue;
    say<<<1, 32>>>(number, "unused");
    sync();
  }
}
