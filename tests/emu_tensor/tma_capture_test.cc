// Tensor maps, tensor copies and bulk reductions against recordings of an H200: tests/captures/tensor_map_rules.cu,
// tma_tensor.cu and mbarrier_bulk.cu with the same inputs.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <string>

#include "capture_replay.h"
#include "ptxbench/emu/tensor/tensor_map.h"
#include "ptxbench/emu/tensor/tma_copy.h"

namespace ptxbench::emu {
namespace {

using test::CaptureRandom;
using test::Recorded;

constexpr uint64_t kGlobalBase = 0x7f0000000000;
constexpr uint32_t kSharedBase = 1024;

const char* const kTypeNames[] = {"u8",  "u16", "u32",  "s32",    "u64",  "s64",    "f16",
                                  "f32", "f64", "bf16", "f32ftz", "tf32", "tf32ftz"};
const char* const kSwizzleNames[] = {"none", "32b", "64b", "128b"};

uint32_t bytes_of(uint32_t type) { return std::max(1u, element_bytes(static_cast<TensorDataType>(type))); }

// As TensorSpec of the captures: strides of 0 mean packed rows rounded up to 16 bytes.
TiledDescription describe(uint32_t type, std::vector<uint64_t> dims, std::vector<uint32_t> box, uint32_t swizzle = 0) {
  TiledDescription d;
  d.data_type = type;
  d.rank = static_cast<uint32_t>(dims.size());
  d.global_address = kGlobalBase;
  d.swizzle = swizzle;
  d.element_strides.fill(1);
  std::copy(dims.begin(), dims.end(), d.global_dims.begin());
  std::copy(box.begin(), box.end(), d.box_dims.begin());
  uint64_t pitch = d.global_dims[0] * bytes_of(type);
  for (uint32_t i = 0; i + 1 < d.rank; ++i) {
    d.global_strides[i] = (pitch + 15) / 16 * 16;
    pitch = d.global_strides[i] * d.global_dims[i + 1];
  }
  return d;
}

class TensorMapRules : public testing::Test {
 protected:
  void attempt(const std::string& name, const TiledDescription& d) {
    const auto found = cases_.find(name);
    ASSERT_NE(found, cases_.end()) << name;
    const auto encoded = encode_tensor_map(d);
    ++compared_;
    // What we refuse as "not emulated" the driver may take.
    if (!encoded && encoded.error().kind == ErrorKind::kUnsupported) return;
    EXPECT_EQ(encoded.has_value(), found->second.text == "0")
        << name << ' ' << (encoded ? "" : encoded.error().message);
  }

  static TiledDescription base(uint32_t rank, uint32_t type = 7) {
    const uint32_t inner = std::min(64u, 64 / bytes_of(type));
    std::vector<uint64_t> dims(rank, 64);
    std::vector<uint32_t> box(rank, 4);
    box[0] = inner;
    return describe(type, dims, box);
  }

  template <class Value>
  void vary(const std::string& name, const TiledDescription& d, std::vector<Value> values,
            std::function<void(TiledDescription&, Value)> change) {
    for (Value value : values) {
      TiledDescription copy = d;
      change(copy, value);
      attempt(name + "-" + std::to_string(static_cast<long long>(value)), copy);
    }
  }

  const std::map<std::string, Recorded> cases_ = test::recorded_cases("tensor_map_rules");
  size_t compared_ = 0;
};

TEST_F(TensorMapRules, AsTheDriver) {
  vary<uint32_t>("rank", base(5), {0, 1, 2, 3, 4, 5, 6}, [](auto& d, uint32_t v) { d.rank = v; });
  vary<uint32_t>("address-offset", base(2), {0, 1, 2, 4, 8, 16, 24, 32, 64, 128},
                 [](auto& d, uint32_t v) { d.global_address += v; });
  TiledDescription null = base(2);
  null.global_address = 0;
  attempt("address-null", null);
  vary<int64_t>("dim0", base(2), {0, 1, 3, 5, 64, 4294967295, 4294967296, 4294967297},
                [](auto& d, int64_t v) { d.global_dims[0] = static_cast<uint64_t>(v); });
  vary<int64_t>("dim4", base(5), {0, 1, 4294967296, 4294967297},
                [](auto& d, int64_t v) { d.global_dims[4] = static_cast<uint64_t>(v); });
  vary<int64_t>("stride0", base(2),
                {0, 4, 8, 16, 24, 32, 128, 240, 255, 256, 257, 264, 272, 1048576, 1099511627760, 1099511627776,
                 1099511627792, -16},
                [](auto& d, int64_t v) { d.global_strides[0] = static_cast<uint64_t>(v); });
  vary<int64_t>("stride3-of-rank5", base(5), {0, 16, 1099511627760, 1099511627776},
                [](auto& d, int64_t v) { d.global_strides[3] = static_cast<uint64_t>(v); });
  for (uint32_t swizzle = 0; swizzle <= 7; ++swizzle) {
    for (uint32_t type : {0u, 9u, 7u, 8u}) {
      vary<uint32_t>(std::string("box0-") + kTypeNames[type] + "-swizzle" + std::to_string(swizzle), base(2, type),
                     {0, 1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256, 257}, [swizzle](auto& d, uint32_t v) {
                       d.box_dims[0] = v;
                       d.global_dims[0] = 512;
                       d.global_strides[0] = 4096;
                       d.swizzle = swizzle;
                     });
    }
  }
  vary<uint32_t>("box1", base(2), {0, 1, 3, 255, 256, 257}, [](auto& d, uint32_t v) { d.box_dims[1] = v; });
  vary<uint32_t>("box0-larger-than-dim", base(2), {4, 8, 16},
                 [](auto& d, uint32_t v) { d.global_dims[0] = 2, d.box_dims[0] = v; });
  vary<uint32_t>("box-bytes", base(3), {8, 16, 32, 64, 128, 256}, [](auto& d, uint32_t v) {
    d.box_dims = {16, 64, v, 0, 0};
  });
  for (uint32_t i = 0; i < 2; ++i) {
    vary<uint32_t>("element-stride" + std::to_string(i), base(2), {0, 1, 2, 3, 4, 7, 8, 9, 16},
                   [i](auto& d, uint32_t v) { d.element_strides[i] = v; });
  }
  vary<int64_t>("promotion", base(2), {-1, 0, 1, 2, 3, 4},
                [](auto& d, int64_t v) { d.l2_promotion = static_cast<uint32_t>(v); });
  for (uint32_t type = 0; type <= 12; ++type) {
    for (uint32_t fill : {0u, 1u, 2u}) {
      TiledDescription d = base(2);
      d.data_type = type;
      d.oob_fill = fill;
      attempt("fill" + std::to_string(fill) + "-type-" + kTypeNames[type], d);
    }
  }
  EXPECT_GT(compared_, 600u);
}

class Global : public GlobalView {
 public:
  explicit Global(std::vector<uint32_t> initial) : words(std::move(initial)) {}
  Checked<std::byte*> resolve(uint64_t address, uint64_t bytes, MemoryAccess) override {
    if (address < kGlobalBase || address + bytes > kGlobalBase + words.size() * 4) {
      return fault(FaultKind::kOutOfBounds, "global memory", "outside", address);
    }
    return reinterpret_cast<std::byte*>(words.data()) + (address - kGlobalBase);
  }
  std::vector<uint32_t> words;
};

std::vector<uint32_t> random_words(size_t count, uint64_t seed) {
  CaptureRandom random(seed);
  std::vector<uint32_t> words(count);
  for (uint32_t& word : words) word = random.word();
  return words;
}

uint64_t name_seed(const std::string& name) { return test::capture_hash(name.data(), name.size()); }

class TensorCopies : public testing::Test {
 protected:
  const Recorded& recorded(const std::string& name) {
    static const Recorded none;
    const auto found = cases_.find(name);
    EXPECT_NE(found, cases_.end()) << name;
    ++compared_;
    return found == cases_.end() ? none : found->second;
  }

  static TensorMap map_of(const TiledDescription& d) {
    const auto bytes = encode_tensor_map(d);
    EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
    return *decode_tensor_map(*bytes);
  }
  static uint64_t tensor_bytes(const TiledDescription& d) {
    return d.rank == 1 ? d.global_dims[0] * bytes_of(d.data_type)
                       : d.global_strides[d.rank - 2] * d.global_dims[d.rank - 1];
  }

  void load(const std::string& name, const TiledDescription& d, std::vector<int32_t> at, uint32_t offset = 0) {
    const TensorMap map = map_of(d);
    std::vector<uint32_t> data = random_words((tensor_bytes(d) + 3) / 4, name_seed(name));
    data.resize((data.size() + 3) / 4 * 4);
    Global global(std::move(data));
    std::vector<uint32_t> image((offset + map.shared_bytes() + 256 + 1023) / 1024 * 256, 0xa5a5a5a5u);
    const SharedView shared{reinterpret_cast<std::byte*>(image.data()), static_cast<uint32_t>(image.size() * 4),
                            kSharedBase};
    at.resize(d.rank);
    const auto bytes = tma_load_tile(map, at, global, shared, kSharedBase + offset);
    ASSERT_TRUE(bytes) << name << ": " << bytes.error().message;
    EXPECT_TRUE(recorded(name).matches(image)) << name;
  }

  void store(const std::string& name, const TiledDescription& d, std::vector<int32_t> at, uint32_t offset = 0) {
    const TensorMap map = map_of(d);
    Global global(std::vector<uint32_t>((tensor_bytes(d) + 15) / 16 * 4, 0xa5a5a5a5u));
    std::vector<uint32_t> image = random_words((offset + map.shared_bytes() + 1023) / 1024 * 256, name_seed(name));
    const SharedView shared{reinterpret_cast<std::byte*>(image.data()), static_cast<uint32_t>(image.size() * 4),
                            kSharedBase};
    at.resize(d.rank);
    const auto bytes = tma_store_tile(map, at, global, shared, kSharedBase + offset);
    ASSERT_TRUE(bytes) << name << ": " << bytes.error().message;
    EXPECT_TRUE(recorded(name).matches(global.words)) << name;
  }

  const std::map<std::string, Recorded> cases_ = test::recorded_cases("tma_tensor");
  size_t compared_ = 0;
};

TEST_F(TensorCopies, RanksAndElementSizes) {
  for (uint32_t type : {0u, 9u, 7u, 4u}) {
    const uint32_t size = bytes_of(type);
    const auto unit = static_cast<int32_t>(16 / size);
    for (uint32_t rank = 1; rank <= 5; ++rank) {
      std::vector<uint64_t> dims{64 / size + 16 / size, 7, 6, 5, 4};
      std::vector<uint32_t> box{32 / size, 4, 3, 2, 2};
      dims.resize(rank), box.resize(rank);
      const TiledDescription d = describe(type, dims, box);
      const std::string tail = "-" + std::to_string(rank) + "d-" + kTypeNames[type];
      const auto far = static_cast<int32_t>(dims[0]) - unit;
      load("load-inside" + tail, d, {unit, 2, 1, 2, 1});
      load("load-corner" + tail, d, {-unit, -1, -1, -1, -1});
      load("load-far-corner" + tail, d, {far, 5, 4, 4, 3});
      store("store-inside" + tail, d, {unit, 2, 1, 2, 1});
      store("store-far-corner" + tail, d, {far, 5, 4, 4, 3});
    }
  }
  EXPECT_EQ(compared_, 4u * 5 * 5);
}

TEST_F(TensorCopies, Swizzles) {
  for (uint32_t swizzle = 0; swizzle < 4; ++swizzle) {
    const uint32_t span = swizzle == 3 ? 128 : swizzle == 2 ? 64 : 32;
    const std::string swizzle_name = kSwizzleNames[swizzle];
    for (uint32_t type : {0u, 9u, 7u, 4u}) {
      const uint32_t size = bytes_of(type);
      for (uint32_t inner : {span, span / 2}) {
        for (uint32_t rows : {1u, 8u, 20u}) {
          const TiledDescription d = describe(type, {256 / size, 40}, {inner / size, rows}, swizzle);
          const std::string tail =
              "-" + swizzle_name + "-" + kTypeNames[type] + "-" + std::to_string(inner) + "x" + std::to_string(rows);
          load("load-swizzle" + tail, d, {static_cast<int32_t>(16 / size), 3});
          if (rows == 20) store("store-swizzle" + tail, d, {static_cast<int32_t>(16 / size), 3});
        }
      }
    }
    for (uint32_t offset : {128u, 256u, 384u, 512u, 896u, 1024u}) {
      const TiledDescription d = describe(9, {128, 40}, {span / 2, 12}, swizzle);
      const std::string tail = "-" + swizzle_name + "-at" + std::to_string(offset);
      load("load-swizzle" + tail, d, {8, 5}, offset);
      store("store-swizzle" + tail, d, {8, 5}, offset);
    }
    if (swizzle == 3) {
      load("load-tile-64x128-bf16", describe(9, {192, 256}, {64, 128}, swizzle), {64, 64});
      store("store-tile-64x64-bf16", describe(9, {192, 128}, {64, 64}, swizzle), {64, 32});
    }
    const TiledDescription cube = describe(9, {80, 9, 7}, {span / 2, 5, 4}, swizzle);
    load("load-swizzle-3d-" + swizzle_name, cube, {8, 6, 5});
    store("store-swizzle-3d-" + swizzle_name, cube, {8, 6, 5});
    const TiledDescription over = describe(9, {72, 10}, {span / 2, 16}, swizzle);
    load("load-overhang-" + swizzle_name, over, {56, -3});
    store("store-overhang-" + swizzle_name, over, {56, 3});
    load("load-overhang-left-" + swizzle_name, over, {-8, 2});
  }
}

TEST_F(TensorCopies, OutsideTheTensor) {
  for (int32_t x : {-40, -8, -4, 0, 16, 20, 1000}) {
    for (int32_t y : {-12, -5, 0, 9, 12, -2147483647 - 1, 2147483647}) {
      const TiledDescription d = describe(7, {20, 12}, {8, 6});
      const std::string tail = "-x" + std::to_string(x) + "-y" + std::to_string(y);
      load("load-outside" + tail, d, {x, y});
      if (x >= 0 && y >= 0) store("store-outside" + tail, d, {x, y});
    }
  }
  for (uint32_t type : {6u, 9u, 7u, 10u, 11u, 8u}) {
    const auto unit = static_cast<int32_t>(16 / bytes_of(type));
    TiledDescription d = describe(type, {32, 12}, {8, 6});
    d.oob_fill = 1;
    load(std::string("load-nan-fill-") + kTypeNames[type], d, {-unit, -1});
    load(std::string("load-nan-fill-far-") + kTypeNames[type], d, {32 - unit, 9});
    load(std::string("load-nan-fill-only-") + kTypeNames[type], d, {40, 0});
  }
  load("load-box-larger", describe(7, {4, 3}, {8, 8}), {-4, -2});
  store("store-box-larger", describe(7, {4, 3}, {8, 8}), {0, 1});
  load("load-1-element-rows", describe(9, {1, 9}, {8, 4}), {0, 2});
  load("load-odd-width", describe(9, {13, 9}, {16, 4}), {0, 2});
  store("store-odd-width", describe(9, {13, 9}, {16, 4}), {0, 2});
}

TEST_F(TensorCopies, ElementStridesAndPaddedRows) {
  for (uint32_t step0 : {1u, 2u}) {
    for (uint32_t step1 : {1u, 2u, 3u}) {
      TiledDescription d = describe(7, {40, 20}, {8, 7});
      d.element_strides = {step0, step1, 1, 1, 1};
      const std::string tail = "-" + std::to_string(step0) + "x" + std::to_string(step1);
      load("load-steps" + tail, d, {4, 2});
      load("load-steps-outside" + tail, d, {-4, -2});
      load("load-steps-far" + tail, d, {36, 17});
      store("store-steps" + tail, d, {4, 2});
      store("store-steps-far" + tail, d, {36, 17});
    }
  }
  TiledDescription padded = describe(1, {24, 16}, {8, 8});
  padded.global_strides[0] = 112;
  load("load-padded-rows", padded, {8, 5});
  store("store-padded-rows", padded, {8, 5});
}

TEST_F(TensorCopies, FloatTypesRoundOrCopy) {
  const std::vector<uint32_t> words = {0x00000001, 0x807fffff, 0x00400000, 0x80000000, 0x3f800001, 0x3f801000,
                                       0x3f801001, 0x3f803000, 0x3f802fff, 0x7f7fffff, 0x7f800000, 0xff800000,
                                       0x7f800001, 0x7fc12345, 0xffffffff, 0x00800000, 0x3f800fff, 0xbf801000,
                                       0xbf803000, 0x7f7fe000, 0x00001000, 0x00000fff, 0x3fffffff, 0x12345678};
  for (uint32_t type : {7u, 10u, 11u, 12u}) {
    const TensorMap map = map_of(describe(type, {words.size()}, {static_cast<uint32_t>(words.size())}));
    Global global(words);
    std::vector<uint32_t> image(256);
    const SharedView shared{reinterpret_cast<std::byte*>(image.data()), 1024, kSharedBase};
    const int32_t at[] = {0};
    ASSERT_TRUE(tma_load_tile(map, at, global, shared, kSharedBase));
    image.resize(words.size());
    EXPECT_TRUE(recorded(std::string("load-values-") + kTypeNames[type]).matches(image)) << kTypeNames[type];
    std::vector<uint32_t> source = words;
    source.resize(256);
    Global target(std::vector<uint32_t>(words.size()));
    const SharedView from{reinterpret_cast<std::byte*>(source.data()), 1024, kSharedBase};
    ASSERT_TRUE(tma_store_tile(map, at, target, from, kSharedBase));
    EXPECT_TRUE(recorded(std::string("store-values-") + kTypeNames[type]).matches(target.words)) << kTypeNames[type];
  }
}

// A small integer in the element type.
uint64_t integer_bits(uint32_t type, int value) {
  const auto f32 = std::bit_cast<uint32_t>(static_cast<float>(value));
  switch (type) {
    case 7: return f32;
    case 8: return std::bit_cast<uint64_t>(static_cast<double>(value));
    case 9: return f32 >> 16;
    case 6: return value == 0 ? 0 : f32 >> 31 << 15 | ((f32 >> 23 & 255) - 112) << 10 | (f32 >> 13 & 1023);
    default: return static_cast<uint64_t>(int64_t{value});
  }
}

std::vector<uint32_t> small_integers(size_t count, uint32_t type, uint64_t seed) {
  CaptureRandom random(seed);
  std::vector<uint32_t> words(count);
  const uint32_t size = bytes_of(type);
  for (size_t i = 0; i < count * 4 / size; ++i) {
    const uint64_t bits = integer_bits(type, static_cast<int>(random.below(41)) - 20);
    std::memcpy(reinterpret_cast<char*>(words.data()) + i * size, &bits, size);
  }
  return words;
}

class TensorReductions : public TensorCopies {
 protected:
  void reduce(ReduceOp op, const std::string& name, const TiledDescription& d, std::vector<int32_t> at,
              bool random_bits = false) {
    const TensorMap map = map_of(d);
    const size_t global_words = (tensor_bytes(d) + 15) / 16 * 4, words = (map.shared_bytes() + 1023) / 1024 * 256;
    const uint64_t seed = name_seed(name);
    Global global(random_bits ? random_words(global_words, seed) : small_integers(global_words, d.data_type, seed));
    std::vector<uint32_t> image =
        random_bits ? random_words(words, seed + 1) : small_integers(words, d.data_type, seed + 1);
    const SharedView shared{reinterpret_cast<std::byte*>(image.data()), static_cast<uint32_t>(image.size() * 4),
                            kSharedBase};
    const auto bytes = tma_reduce_tile(map, at, op, global, shared, kSharedBase);
    const Recorded& record = recorded(name);
    if (record.text.find("error") != std::string::npos) {
      EXPECT_FALSE(bytes) << name << " must be refused";
      return;
    }
    ASSERT_TRUE(bytes) << name << ": " << bytes.error().message;
    EXPECT_TRUE(record.matches(global.words)) << name;
  }
};

TEST_F(TensorReductions, EveryOperationAndType) {
  constexpr uint32_t u32 = 2, s32 = 3, u64 = 4, s64 = 5, f16 = 6, f32 = 7, bf16 = 9;
  const struct {
    ReduceOp op;
    const char* name;
    std::vector<uint32_t> types;
  } rows[] = {{ReduceOp::kAdd, "add", {u32, s32, u64, f32, f16, bf16}},
              {ReduceOp::kMin, "min", {u32, s32, u64, s64, f16, bf16}},
              {ReduceOp::kMax, "max", {u32, s32, u64, s64, f16, bf16}},
              {ReduceOp::kInc, "inc", {u32}},
              {ReduceOp::kDec, "dec", {u32}},
              {ReduceOp::kAnd, "and", {u32, s32, u64, s64}},
              {ReduceOp::kOr, "or", {u32, s32, u64, s64}},
              {ReduceOp::kXor, "xor", {u32, s32, u64, s64}}};
  for (const auto& row : rows) {
    for (uint32_t type : row.types) {
      reduce(row.op, std::string("reduce-") + row.name + "-" + kTypeNames[type], describe(type, {32, 12}, {16, 8}),
             {32 - 32 / static_cast<int32_t>(bytes_of(type)), 6});
    }
  }
  reduce(ReduceOp::kAdd, "reduce-add-random-bits-f32", describe(f32, {32, 12}, {16, 8}), {4, 2}, true);
  reduce(ReduceOp::kAdd, "reduce-add-random-bits-f16", describe(f16, {32, 12}, {16, 8}), {8, 2}, true);
  reduce(ReduceOp::kAdd, "reduce-add-random-bits-bf16", describe(bf16, {32, 12}, {16, 8}), {8, 2}, true);
  reduce(ReduceOp::kMin, "reduce-min-random-bits-f16", describe(f16, {32, 12}, {16, 8}), {8, 2}, true);
  reduce(ReduceOp::kAdd, "reduce-add-swizzle-f32", describe(f32, {64, 12}, {32, 9}, 3), {40, 5});
}

// Bulk reductions into global memory; the recorded line is 4 words at the destination and hashes of both memories.
TEST(BulkReductions, AsRecorded) {
  const auto cases = test::recorded_cases("mbarrier_bulk");
  const struct {
    const char* name;
    ReduceOp op;
    ReduceType type;
    int floats;  // 1: 16 or 32 bits, 2: 64 bits
  } rows[] = {
      {"add.u32", ReduceOp::kAdd, ReduceType::kU32, 0},         {"add.s32", ReduceOp::kAdd, ReduceType::kS32, 0},
      {"add.u64", ReduceOp::kAdd, ReduceType::kU64, 0},         {"add.f32", ReduceOp::kAdd, ReduceType::kF32, 1},
      {"add.f64", ReduceOp::kAdd, ReduceType::kF64, 2},         {"add.noftz.f16", ReduceOp::kAdd, ReduceType::kF16, 1},
      {"add.noftz.bf16", ReduceOp::kAdd, ReduceType::kBF16, 1}, {"min.u32", ReduceOp::kMin, ReduceType::kU32, 0},
      {"min.s32", ReduceOp::kMin, ReduceType::kS32, 0},         {"min.u64", ReduceOp::kMin, ReduceType::kU64, 0},
      {"min.s64", ReduceOp::kMin, ReduceType::kS64, 0},         {"min.f16", ReduceOp::kMin, ReduceType::kF16, 1},
      {"min.bf16", ReduceOp::kMin, ReduceType::kBF16, 1},       {"max.u32", ReduceOp::kMax, ReduceType::kU32, 0},
      {"max.s32", ReduceOp::kMax, ReduceType::kS32, 0},         {"max.u64", ReduceOp::kMax, ReduceType::kU64, 0},
      {"max.s64", ReduceOp::kMax, ReduceType::kS64, 0},         {"max.f16", ReduceOp::kMax, ReduceType::kF16, 1},
      {"max.bf16", ReduceOp::kMax, ReduceType::kBF16, 1},       {"inc.u32", ReduceOp::kInc, ReduceType::kU32, 0},
      {"dec.u32", ReduceOp::kDec, ReduceType::kU32, 0},         {"and.b32", ReduceOp::kAnd, ReduceType::kB32, 0},
      {"and.b64", ReduceOp::kAnd, ReduceType::kB64, 0},         {"or.b32", ReduceOp::kOr, ReduceType::kB32, 0},
      {"or.b64", ReduceOp::kOr, ReduceType::kB64, 0},           {"xor.b32", ReduceOp::kXor, ReduceType::kB32, 0},
      {"xor.b64", ReduceOp::kXor, ReduceType::kB64, 0}};
  constexpr size_t kWords = 4096;
  const auto plain_floats = [](uint64_t seed, bool wide) {
    CaptureRandom random(seed);
    std::vector<uint32_t> words(kWords);
    for (size_t i = 0; i < kWords; ++i) {
      const uint32_t word = random.word();
      if (wide) {
        words[i] = i % 2 != 0 ? (word & 0x800fffff) | (0x3ff00000u + (random.below(8) << 20)) : word;
      } else {
        const uint32_t high = random.below(8) + 12;
        words[i] = (word & 0x83ff83ff) | high << 26 | (random.below(8) + 12) << 10;
      }
    }
    return words;
  };
  std::vector<uint32_t> shared_words = random_words(kWords, 4), global_words = random_words(kWords, 5);
  for (uint32_t i = 0; i < kWords; ++i) {
    if (i % 3 == 0) shared_words[i] = global_words[i] + i % 9 / 3 - 1;
  }
  const auto compare = [&](const std::string& name, const auto& row, uint32_t at, uint32_t bytes,
                           std::vector<uint32_t> shared, std::vector<uint32_t> initial) {
    const auto found = cases.find(name);
    ASSERT_NE(found, cases.end()) << name;
    Global global(std::move(initial));
    const SharedView view{reinterpret_cast<std::byte*>(shared.data()), kWords * 4, kSharedBase};
    ASSERT_TRUE(bulk_reduce(row.op, row.type, kGlobalBase + at, bytes, global, view, kSharedBase + at)) << name;
    std::vector<uint32_t> sample(global.words.begin() + at / 4, global.words.begin() + at / 4 + 4);
    sample.insert(sample.end(), global.words.begin(), global.words.end());
    sample.insert(sample.end(), shared.begin(), shared.end());
    EXPECT_TRUE(found->second.matches(sample)) << name << std::hex << " begins " << sample[0] << ' ' << sample[1] << ' '
                                               << sample[2] << ' ' << sample[3] << ", recorded " << found->second.text;
  };
  for (const auto& row : rows) {
    const std::string tail = row.name;
    compare("reduce-global-" + tail, row, 0, 1024, row.floats != 0 ? plain_floats(6, row.floats == 2) : shared_words,
            row.floats != 0 ? plain_floats(7, row.floats == 2) : global_words);
    if (row.floats != 0) compare("reduce-global-random-bits-" + tail, row, 64, 4096, shared_words, global_words);
  }
}

}  // namespace
}  // namespace ptxbench::emu
