// Tile copies against a model that goes element by element: coordinates by division, the swizzle as "chunk c of line r goes to
// chunk c ^ f(r)" from the figures of the CUDA programming guide, lines counted from the shared address.
#include "ptxbench/emu/tensor/tma_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "ptxbench/numeric/format.h"

namespace ptxbench::emu {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGlobalBase = 0x7f0000001000;
constexpr uint32_t kSharedBase = 0x800, kSharedBytes = 96 * 1024;

class Global : public GlobalView {
 public:
  explicit Global(size_t size, bool short_cut) : bytes(size), short_cut_(short_cut) {}

  Checked<std::byte*> resolve(uint64_t address, uint64_t count, MemoryAccess access) override {
    last_access.store(access, std::memory_order_relaxed);
    if (address < kGlobalBase || address + count > kGlobalBase + bytes.size()) {
      return fault(FaultKind::kOutOfBounds, "global memory", "outside", address);
    }
    return bytes.data() + (address - kGlobalBase);
  }
  std::byte* surround(uint64_t address, uint64_t count, MemoryAccess) override {
    if (!short_cut_ || address < kGlobalBase || address + count > kGlobalBase + bytes.size()) return nullptr;
    return bytes.data() + (address - kGlobalBase);
  }

  std::vector<std::byte> bytes;
  std::atomic<MemoryAccess> last_access = MemoryAccess::kRead;

 private:
  bool short_cut_;
};

void randomise(std::vector<std::byte>& bytes, std::mt19937& random) {
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
}

uint32_t swizzled(Swizzle swizzle, uint32_t address) {
  const uint32_t line = address / 128;  // of 128 bytes, in absolute shared addresses
  const uint32_t chunk = address % 128 / 16;
  switch (swizzle) {
    case Swizzle::k128B: return line * 128 + (chunk ^ line % 8) * 16 + address % 16;
    case Swizzle::k64B: return line * 128 + (chunk / 4 * 4 + (chunk % 4 ^ line % 4)) * 16 + address % 16;
    case Swizzle::k32B: return line * 128 + (chunk / 2 * 2 + (chunk % 2 ^ line % 2)) * 16 + address % 16;
    case Swizzle::kNone: return address;
  }
  return address;
}

struct Tile {
  TensorMap map;
  std::vector<int32_t> at;
  uint32_t shared_address;
};

// Calls visit(shared address, global offset or -1) for each byte of the tile. Writes go on to the end of a row's last 16 bytes.
template <class Visit>
void model(const Tile& tile, bool writes, Visit visit) {
  const TensorMap& map = tile.map;
  uint32_t elements = 1;
  for (unsigned i = 0; i < map.rank; ++i)
    elements *= (map.box[i] + map.element_strides[i] - 1) / map.element_strides[i];
  const uint32_t size = map.element_size();
  for (uint32_t e = 0; e < elements; ++e) {
    uint32_t rest = e;
    int64_t offset = static_cast<int64_t>(map.global_address - kGlobalBase);
    bool inside = true;
    for (unsigned i = 0; i < map.rank; ++i) {
      const uint32_t count = (map.box[i] + map.element_strides[i] - 1) / map.element_strides[i];
      const int64_t x = tile.at[i] + int64_t{rest % count} * map.element_strides[i];
      rest /= count;
      int64_t limit = static_cast<int64_t>(map.dims[i]);
      if (i == 0 && writes) limit = (limit * size + 15) / 16 * 16 / size;
      inside = inside && x >= 0 && x < limit;
      offset += x * static_cast<int64_t>(map.strides[i]);
    }
    for (uint32_t byte = 0; byte < size; ++byte) {
      const uint32_t pitch = map.swizzle == Swizzle::kNone ? map.box[0] * size : swizzle_row_bytes(map.swizzle);
      const uint32_t linear = e / map.box[0] * pitch + e % map.box[0] * size + byte;
      visit(swizzled(map.swizzle, tile.shared_address + linear), inside ? offset + byte : -1);
    }
  }
}

constexpr TensorDataType kTypes[] = {TensorDataType::kU8, TensorDataType::kBF16, TensorDataType::kF32,
                                     TensorDataType::kU64};
constexpr Swizzle kSwizzles[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B};

// A random legal tile inside `bytes` of global memory. Swizzled rows may be narrower than the swizzle: they still start a
// swizzle's width apart.
Tile random_tile(std::mt19937& random, size_t bytes, bool writes) {
  for (;;) {
    Tile tile;
    TensorMap& map = tile.map;
    map.type = kTypes[random() % 4];
    map.swizzle = kSwizzles[random() % 4];
    map.rank = static_cast<uint8_t>(1 + random() % 5);
    map.global_address = kGlobalBase + random() % 8 * 16;
    const uint32_t size = map.element_size();
    map.dims.fill(1), map.box.fill(1), map.element_strides.fill(1);
    map.strides[0] = size;
    const uint32_t span = swizzle_row_bytes(map.swizzle);
    const uint32_t inner = 16 * (1 + random() % (span == 0 ? 6 : span / 16));
    map.box[0] = inner / size;
    if (map.box[0] > 256) continue;
    map.dims[0] = 1 + random() % 60;
    uint64_t stride = (map.dims[0] * size + 15) / 16 * 16;
    for (unsigned i = 1; i < map.rank; ++i) {
      map.strides[i] = stride + random() % 3 * 16;
      map.dims[i] = 1 + random() % 7;
      map.box[i] = 1 + random() % 5;
      map.element_strides[i] = 1 + (random() % 4 == 0 ? random() % 3 : 0);
      stride = map.strides[i] * map.dims[i];
    }
    if (stride + 256 > bytes || map.tile_bytes() > 32 * 1024) continue;
    for (unsigned i = 0; i < map.rank; ++i) {
      const auto dim = static_cast<int32_t>(map.dims[i]), box = static_cast<int32_t>(map.box[i]);
      int32_t at = static_cast<int32_t>(random() % static_cast<uint32_t>(dim + box + 2)) - box;
      if (i == 0) at -= at % static_cast<int32_t>(16 / size);  // whole 16 bytes
      tile.at.push_back(writes ? std::abs(at) : at);
    }
    tile.shared_address = kSharedBase + random() % 16 * 128;
    return tile;
  }
}

TEST(TmaLoad, RandomTilesOfEveryRankTypeAndSwizzle) {
  std::mt19937 random(31);
  for (int i = 0; i < 400; ++i) {
    Global global(64 * 1024, i % 2 == 0);
    randomise(global.bytes, random);
    const Tile tile = random_tile(random, global.bytes.size(), false);
    std::vector<std::byte> shared(kSharedBytes, std::byte{0xee});
    std::vector<std::byte> expected = shared;
    model(tile, false, [&](uint32_t to, int64_t from) {
      expected[to - kSharedBase] = from < 0 ? std::byte{0} : global.bytes[static_cast<size_t>(from)];
    });
    const auto bytes =
        tma_load_tile(tile.map, tile.at, global, {shared.data(), kSharedBytes, kSharedBase}, tile.shared_address);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(*bytes, tile.map.tile_bytes());
    ASSERT_EQ(shared, expected) << "tile " << i;
  }
}

TEST(TmaStore, RandomTilesLeaveTheRestAlone) {
  std::mt19937 random(32);
  for (int i = 0; i < 400; ++i) {
    Global global(64 * 1024, i % 2 == 0);
    const Tile tile = random_tile(random, global.bytes.size(), true);
    std::vector<std::byte> shared(kSharedBytes);
    randomise(shared, random);
    std::vector<std::byte> expected = global.bytes;
    model(tile, true, [&](uint32_t from, int64_t to) {
      if (to >= 0) expected[static_cast<size_t>(to)] = shared[from - kSharedBase];
    });
    const auto bytes =
        tma_store_tile(tile.map, tile.at, global, {shared.data(), kSharedBytes, kSharedBase}, tile.shared_address);
    ASSERT_TRUE(bytes) << bytes.error().message;
    ASSERT_EQ(global.bytes, expected) << "tile " << i;
  }
}

TensorMap plain_map(TensorDataType type, uint64_t width, uint64_t height, uint32_t box_width, uint32_t box_height) {
  TensorMap map;
  map.type = type;
  map.rank = 2;
  map.global_address = kGlobalBase;
  map.dims = {width, height, 1, 1, 1};
  map.strides = {map.element_size(), (width * map.element_size() + 15) / 16 * 16, 0, 0, 0};
  map.box = {box_width, box_height, 1, 1, 1};
  map.element_strides = {1, 1, 1, 1, 1};
  return map;
}

TEST(TmaLoad, NanFill) {
  struct {
    TensorDataType type;
    uint64_t pattern;
  } const cases[] = {{TensorDataType::kBF16, 0x7ff7},
                     {TensorDataType::kF16, 0x7ff7},
                     {TensorDataType::kF32, 0x7ff77ff7},
                     {TensorDataType::kF64, 0x7ff77ff77ff77ff7}};
  for (const auto& c : cases) {
    TensorMap map = plain_map(c.type, 16, 4, 16, 2);
    const uint32_t unit = 16 / map.element_size();
    map.oob_fill = OobFill::kNanRequestZeroFma;
    Global global(4096, false);
    std::vector<std::byte> shared(kSharedBytes, std::byte{1});
    const int32_t at[] = {-static_cast<int32_t>(unit), 3};
    ASSERT_TRUE(tma_load_tile(map, at, global, {shared.data(), kSharedBytes, kSharedBase}, kSharedBase));
    const uint32_t size = map.element_size();
    for (uint32_t i = 0; i < 32; ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, shared.data() + i * size, size);
      const bool inside = i >= unit && i < 16;
      EXPECT_EQ(bits, inside ? 0 : c.pattern) << i;
    }
  }
}

template <class T>
std::vector<T> reduce_row(TensorDataType type, ReduceOp op, const std::vector<T>& before, const std::vector<T>& added) {
  TensorMap map = plain_map(type, before.size(), 1, static_cast<uint32_t>(before.size()), 1);
  Global global(4096, false);
  std::memcpy(global.bytes.data(), before.data(), before.size() * sizeof(T));
  std::vector<std::byte> shared(kSharedBytes);
  std::memcpy(shared.data(), added.data(), added.size() * sizeof(T));
  const int32_t at[] = {0, 0};
  const auto bytes = tma_reduce_tile(map, at, op, global, {shared.data(), kSharedBytes, kSharedBase}, kSharedBase);
  EXPECT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(global.last_access, MemoryAccess::kReadWrite);
  std::vector<T> after(before.size());
  std::memcpy(after.data(), global.bytes.data(), after.size() * sizeof(T));
  return after;
}

TEST(TmaReduce, OperationsOfTheTable) {
  using V32 = std::vector<uint32_t>;
  EXPECT_EQ(reduce_row<uint32_t>(TensorDataType::kU32, ReduceOp::kAdd, {1, 0xffffffff, 7, 0}, {2, 3, 0, 0}),
            (V32{3, 2, 7, 0}));
  EXPECT_EQ(reduce_row<uint32_t>(TensorDataType::kS32, ReduceOp::kMin, {1, 0xffffffff, 7, 0}, {2, 3, 0x80000000, 0}),
            (V32{1, 0xffffffff, 0x80000000, 0}));
  EXPECT_EQ(reduce_row<uint32_t>(TensorDataType::kU32, ReduceOp::kMax, {1, 0xffffffff, 7, 0}, {2, 3, 0x80000000, 0}),
            (V32{2, 0xffffffff, 0x80000000, 0}));
  EXPECT_EQ(reduce_row<uint32_t>(TensorDataType::kU32, ReduceOp::kInc, {1, 5, 7, 0}, {2, 5, 5, 0}), (V32{2, 0, 0, 0}));
  EXPECT_EQ(reduce_row<uint32_t>(TensorDataType::kU32, ReduceOp::kDec, {1, 0, 7, 5}, {2, 5, 5, 5}), (V32{0, 5, 5, 4}));
  EXPECT_EQ(reduce_row<uint32_t>(TensorDataType::kU32, ReduceOp::kXor, {1, 5, 7, 0}, {2, 5, 5, 0}), (V32{3, 0, 2, 0}));
  EXPECT_EQ(reduce_row<uint64_t>(TensorDataType::kS64, ReduceOp::kMax, {~uint64_t{0}, 4}, {3, 5}),
            (std::vector<uint64_t>{3, 5}));
  // f32: 1.5 + 0.25, denormals are kept, NaN is the canonical one.
  EXPECT_EQ(reduce_row<uint32_t>(TensorDataType::kF32, ReduceOp::kAdd, {0x3fc00000, 0x80000001, 0x7f800000, 0x00800000},
                                 {0x3e800000, 0x80000001, 0xff800000, 0x80400000}),
            (V32{0x3fe00000, 0x80000002, 0x7fffffff, 0x00400000}));
  // bf16: 1 + 2^-8 is a tie and goes to even; max with NaN takes the number; -0 < +0.
  using V16 = std::vector<uint16_t>;
  EXPECT_EQ(reduce_row<uint16_t>(TensorDataType::kBF16, ReduceOp::kAdd, {0x3f80, 0x3f81, 1, 0, 0, 0, 0, 0},
                                 {0x3b80, 0x3b80, 1, 0, 0, 0, 0, 0}),
            (V16{0x3f80, 0x3f82, 2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(reduce_row<uint16_t>(TensorDataType::kF16, ReduceOp::kMax, {0x7fff, 0x8000, 0xc000, 0x7fff, 0, 0, 0, 0},
                                 {0xc400, 0x0000, 0xc400, 0x7e01, 0, 0, 0, 0}),
            (V16{0xc400, 0x0000, 0xc000, 0x7fff, 0, 0, 0, 0}));
  EXPECT_EQ(reduce_row<uint16_t>(TensorDataType::kF16, ReduceOp::kMin, {0x0000, 0x4000, 0, 0, 0, 0, 0, 0},
                                 {0x8000, 0x3c00, 0, 0, 0, 0, 0, 0}),
            (V16{0x8000, 0x3c00, 0, 0, 0, 0, 0, 0}));
}

TEST(TmaReduce, SwizzledTilesAddElementByElement) {
  std::mt19937 random(33);
  for (Swizzle swizzle : kSwizzles) {
    TensorMap map = plain_map(TensorDataType::kF32, 40, 20, 8, 16);
    map.swizzle = swizzle;
    if (swizzle != Swizzle::kNone) map.box[0] = swizzle_row_bytes(swizzle) / 4;
    Tile tile{map, {4, 9}, kSharedBase + 384};
    Global global(4096, true);
    std::vector<std::byte> shared(kSharedBytes);
    const auto integers = [&](std::vector<std::byte>& bytes) {
      for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        const auto value = static_cast<float>(random() % 1000);
        std::memcpy(bytes.data() + i, &value, 4);
      }
    };
    integers(global.bytes), integers(shared);
    std::vector<float> expected(1024);
    std::memcpy(expected.data(), global.bytes.data(), 4096);
    model(tile, true, [&](uint32_t from, int64_t to) {
      if (to < 0 || to % 4 != 0) return;
      float added;
      std::memcpy(&added, shared.data() + from - kSharedBase, 4);
      expected[static_cast<size_t>(to) / 4] += added;
    });
    ASSERT_TRUE(tma_reduce_tile(map, tile.at, ReduceOp::kAdd, global, {shared.data(), kSharedBytes, kSharedBase},
                                tile.shared_address));
    EXPECT_EQ(std::memcmp(expected.data(), global.bytes.data(), 4096), 0);
  }
}

// Two threads reduce into the same elements: nothing may be lost.
TEST(TmaReduce, ThreadsDoNotLoseAdditions) {
  Global global(1024, true);
  const TensorMap map = plain_map(TensorDataType::kF32, 256, 1, 256, 1);
  const auto work = [&] {
    std::vector<std::byte> bytes(kSharedBytes);
    const float one = 1.0f;
    for (size_t i = 0; i < 1024; i += 4) std::memcpy(bytes.data() + i, &one, 4);
    const int32_t at[] = {0, 0};
    for (int i = 0; i < 2000; ++i) {
      (void)tma_reduce_tile(map, at, ReduceOp::kAdd, global, {bytes.data(), kSharedBytes, kSharedBase}, kSharedBase);
    }
  };
  std::thread first(work), second(work);
  first.join(), second.join();
  for (size_t i = 0; i < 1024; i += 4) {
    float sum;
    std::memcpy(&sum, global.bytes.data() + i, 4);
    ASSERT_EQ(sum, 4000.0f) << i;
  }
}

TEST(TmaErrors, EachNamesItsRule) {
  Global global(4096, true);
  std::vector<std::byte> bytes(kSharedBytes);
  const SharedView shared{bytes.data(), kSharedBytes, kSharedBase};
  const TensorMap map = plain_map(TensorDataType::kF32, 32, 16, 32, 16);
  const int32_t at[] = {0, 0}, three[] = {0, 0, 0};
  const auto misaligned = tma_load_tile(map, at, global, shared, kSharedBase + 64);
  ASSERT_FALSE(misaligned);
  EXPECT_EQ(misaligned.error().kind, FaultKind::kMisaligned);
  EXPECT_THAT(misaligned.error().rule, HasSubstr("multiple of 128"));
  const auto outside = tma_store_tile(map, at, global, shared, kSharedBase + kSharedBytes - 1920);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().kind, FaultKind::kOutOfBounds);
  EXPECT_THAT(outside.error().message, HasSubstr("2048 bytes at shared address 0x18080"));
  const auto rank = tma_load_tile(map, three, global, shared, kSharedBase);
  ASSERT_FALSE(rank);
  EXPECT_EQ(rank.error().kind, FaultKind::kBadDescriptor);
  // The tensor is larger than the allocation: the first row outside is named.
  TensorMap large = map;
  large.dims[1] = 64;
  const int32_t low[] = {0, 24};
  const auto beyond = tma_load_tile(large, low, global, shared, kSharedBase);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().address, kGlobalBase + 4096);
  const auto unlisted = tma_reduce_tile(map, at, ReduceOp::kMax, global, shared, kSharedBase);
  ASSERT_FALSE(unlisted);
  EXPECT_EQ(unlisted.error().kind, FaultKind::kUnsupported);
  EXPECT_THAT(unlisted.error().message, HasSubstr(".max of .f32"));
}

// Both are illegal instructions on an H200 (tests/captures/traps.cu).
TEST(TmaErrors, CoordinatesThatTheHardwareRefuses) {
  Global global(4096, true);
  std::vector<std::byte> bytes(kSharedBytes);
  const SharedView shared{bytes.data(), kSharedBytes, kSharedBase};
  const TensorMap map = plain_map(TensorDataType::kF32, 32, 16, 32, 4);
  for (int32_t x : {1, 2, -2, 31}) {
    const int32_t at[] = {x, 0};
    const auto done = tma_load_tile(map, at, global, shared, kSharedBase);
    ASSERT_FALSE(done) << x;
    EXPECT_EQ(done.error().kind, FaultKind::kMisaligned);
    EXPECT_THAT(done.error().message, HasSubstr("illegal instruction"));
    EXPECT_FALSE(tma_check_coords(map, at));
  }
  const int32_t left[] = {-4, 0}, above[] = {0, -1}, beyond[] = {32, 100};
  EXPECT_TRUE(tma_load_tile(map, left, global, shared, kSharedBase));
  EXPECT_TRUE(tma_load_tile(map, above, global, shared, kSharedBase));
  EXPECT_TRUE(tma_store_tile(map, beyond, global, shared, kSharedBase));
  EXPECT_THAT(tma_store_tile(map, left, global, shared, kSharedBase).error().message, HasSubstr("coordinate 0 is -4"));
  EXPECT_THAT(tma_reduce_tile(map, above, ReduceOp::kAdd, global, shared, kSharedBase).error().message,
              HasSubstr("coordinate 1 is -1"));
}

TEST(Bulk, CopiesAndReduces) {
  std::mt19937 random(34);
  Global global(4096, false);
  randomise(global.bytes, random);
  std::vector<std::byte> bytes(kSharedBytes), other(kSharedBytes);
  const SharedView shared{bytes.data(), kSharedBytes, kSharedBase}, remote{other.data(), kSharedBytes, kSharedBase};
  EXPECT_EQ(bulk_load(kGlobalBase + 16, 1008, global, shared, kSharedBase + 48), 1008u);
  EXPECT_EQ(std::memcmp(bytes.data() + 48, global.bytes.data() + 16, 1008), 0);
  EXPECT_EQ(bulk_copy_shared(remote, kSharedBase, shared, kSharedBase + 48, 512), 512u);
  EXPECT_EQ(std::memcmp(other.data(), global.bytes.data() + 16, 512), 0);
  EXPECT_EQ(bulk_store(kGlobalBase + 2048, 256, global, remote, kSharedBase + 16), 256u);
  EXPECT_EQ(std::memcmp(global.bytes.data() + 2048, global.bytes.data() + 32, 256), 0);
  EXPECT_EQ(bulk_load(kGlobalBase, 0, global, shared, kSharedBase), 0u);
  const uint64_t two[] = {40, 2};
  std::memcpy(bytes.data(), two, 16);
  std::memcpy(other.data(), two, 16);
  EXPECT_EQ(bulk_reduce_shared(ReduceOp::kAdd, ReduceType::kU64, remote, kSharedBase, shared, kSharedBase, 16), 16u);
  uint64_t sum[2];
  std::memcpy(sum, other.data(), 16);
  EXPECT_EQ(sum[0], 80u);
  EXPECT_EQ(sum[1], 4u);
  EXPECT_EQ(bulk_reduce(ReduceOp::kOr, ReduceType::kB64, kGlobalBase, 16, global, shared, kSharedBase), 16u);
}

TEST(Bulk, Errors) {
  Global global(4096, false);
  std::vector<std::byte> bytes(kSharedBytes);
  const SharedView shared{bytes.data(), kSharedBytes, kSharedBase};
  EXPECT_EQ(bulk_load(kGlobalBase + 8, 16, global, shared, kSharedBase).error().kind, FaultKind::kMisaligned);
  EXPECT_EQ(bulk_load(kGlobalBase, 16, global, shared, kSharedBase + 4).error().kind, FaultKind::kMisaligned);
  EXPECT_THAT(bulk_store(kGlobalBase, 24, global, shared, kSharedBase).error().message, HasSubstr("size is 0x18"));
  EXPECT_EQ(bulk_load(kGlobalBase, 32, global, shared, kSharedBase + kSharedBytes - 16).error().kind,
            FaultKind::kOutOfBounds);
  EXPECT_EQ(bulk_store(kGlobalBase + 4096 - 16, 32, global, shared, kSharedBase).error().kind, FaultKind::kOutOfBounds);
  // The table for shared memory is smaller.
  EXPECT_EQ(bulk_reduce_shared(ReduceOp::kAdd, ReduceType::kF32, shared, kSharedBase, shared, kSharedBase + 64, 16)
                .error()
                .kind,
            FaultKind::kUnsupported);
  EXPECT_EQ(bulk_reduce(ReduceOp::kMin, ReduceType::kF32, kGlobalBase, 16, global, shared, kSharedBase).error().kind,
            FaultKind::kUnsupported);
}

}  // namespace
}  // namespace ptxbench::emu
