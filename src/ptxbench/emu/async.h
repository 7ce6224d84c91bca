// Asynchronous copies: what an instruction asked for, kept until the schedule lets it take effect.
// Loads are kept at the mbarrier that they complete on; stores and reductions in the bulk groups of the issuing thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptxbench/emu/program.h"
#include "ptxbench/emu/tensor/tensor_map.h"
#include "ptxbench/emu/tensor/tma_copy.h"

namespace ptxbench::emu {

struct Cta;
struct Worker;

enum class CopyKind : std::uint8_t {
  kTensorLoad,
  kTensorStore,
  kTensorReduce,
  kBulkLoad,
  kBulkStore,
  kBulkReduce,
  kSharedCopy,  // shared memory of the issuer to that of a CTA of the cluster
  kSharedReduce,
  kSharedWrite,  // st.async: `data`
};

struct AsyncCopy {
  CopyKind kind = CopyKind::kBulkLoad;
  ReduceOp op = ReduceOp::kAdd;
  ReduceType type = ReduceType::kU32;
  TensorMap map;
  std::array<std::int32_t, kMaxTensorRank> coords{};
  Cta* issuer = nullptr;
  Cta* destination = nullptr;        // loads and kShared*: whose shared memory is written
  std::uint32_t shared_address = 0;  // without the CTA's rank
  std::uint32_t source_address = 0;  // kShared*: in the issuer's shared memory
  std::uint64_t global_address = 0;
  std::uint32_t bytes = 0;
  std::array<std::byte, 16> data{};
  std::uint32_t site = 0, warp = 0, lane = 0;  // of the instruction, for traps
};

// Does the copy now. Returns its bytes. Throws TrapSignal.
std::uint32_t perform(const AsyncCopy& copy, Worker& worker);

// cp.async of one warp instruction.
struct LaneCopies {
  Mask lanes = 0;
  std::uint32_t bytes = 0;                    // written per lane; source bytes beyond source_bytes[lane] are zero
  std::array<std::uint32_t, kLanes> group{};  // of each lane once committed
  Mask committed = 0;
  std::array<std::uint32_t, kLanes> shared{};
  std::array<std::uint64_t, kLanes> global{};
  std::array<std::uint8_t, kLanes> source_bytes{};
  std::uint32_t site = 0;
};

// The bulk groups (cp.async.bulk.commit_group) and the cp.async groups of one warp's threads.
struct BulkQueue {
  struct Store {
    AsyncCopy copy;
    bool committed = false;
    std::uint32_t group = 0;
  };
  std::vector<Store> stores;
  std::array<std::uint32_t, kLanes> store_groups{};  // committed so far, per lane
  std::vector<LaneCopies> loads;
  std::array<std::uint32_t, kLanes> load_groups{};
};

}  // namespace ptxbench::emu
