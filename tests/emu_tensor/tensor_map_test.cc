// The rules of cuTensorMapEncodeTiled, one violation at a time, each error naming its argument.
#include "ptxbench/emu/tensor/tensor_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace ptxbench::emu {
namespace {

using testing::HasSubstr;

// A legal 3-D map of bf16: 300 x 50 x 7 elements, box 64 x 16 x 2, 128-byte swizzle.
TiledDescription legal() {
  TiledDescription d;
  d.data_type = 9;  // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
  d.rank = 3;
  d.global_address = 0x7f0000000010;
  d.global_dims = {300, 50, 7};
  d.global_strides = {608, 608 * 50};
  d.box_dims = {64, 16, 2};
  d.element_strides = {1, 1, 1};
  d.swizzle = 3;
  d.l2_promotion = 2;
  return d;
}

TEST(TensorMap, RoundTrip) {
  TiledDescription d = legal();
  d.element_strides = {7, 2, 3};  // the first changes nothing without interleave
  d.oob_fill = 1;
  const auto bytes = encode_tensor_map(d);
  ASSERT_TRUE(bytes) << bytes.error().format();
  const auto map = decode_tensor_map(*bytes);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->type, TensorDataType::kBF16);
  EXPECT_EQ(map->rank, 3);
  EXPECT_EQ(map->swizzle, Swizzle::k128B);
  EXPECT_EQ(map->oob_fill, OobFill::kNanRequestZeroFma);
  EXPECT_EQ(map->global_address, 0x7f0000000010u);
  EXPECT_EQ(map->dims, (std::array<uint64_t, 5>{300, 50, 7, 1, 1}));
  EXPECT_EQ(map->strides, (std::array<uint64_t, 5>{2, 608, 30400, 0, 0}));
  EXPECT_EQ(map->element_strides, (std::array<uint32_t, 5>{7, 2, 3, 1, 1}));
  EXPECT_EQ(map->tile_dim(1), 8u);  // ceil(16 / 2)
  EXPECT_EQ(map->tile_dim(2), 1u);  // ceil(2 / 3)
  EXPECT_EQ(map->tile_bytes(), 128u * 8);
  EXPECT_EQ(pack_tensor_map(*map), *bytes);
}

TEST(TensorMap, LimitsThatAreAllowed) {
  TiledDescription d = legal();
  d.global_dims = {uint64_t{1} << 32, 1, 1};
  d.global_strides = {0, (uint64_t{1} << 40) - 16};
  d.box_dims = {64, 256, 2};
  d.element_strides = {1, 8, 8};
  EXPECT_TRUE(encode_tensor_map(d));
  d.rank = 1;
  d.global_strides = {1, 1};  // not looked at
  EXPECT_TRUE(encode_tensor_map(d));
}

struct Violation {
  const char* name;
  std::function<void(TiledDescription&)> spoil;
  ErrorKind kind;
  const char* says;
};

TEST(TensorMap, EveryRuleIsChecked) {
  const Violation violations[] = {
      {"type", [](auto& d) { d.data_type = 16; }, ErrorKind::kInvalidInput, "tensorDataType is 16"},
      {"sub-byte", [](auto& d) { d.data_type = 13; }, ErrorKind::kUnsupported, "16U4_ALIGN8B"},
      {"rank 0", [](auto& d) { d.rank = 0; }, ErrorKind::kInvalidInput, "tensorRank is 0"},
      {"rank 6", [](auto& d) { d.rank = 6; }, ErrorKind::kInvalidInput, "tensorRank is 6"},
      {"rank 259", [](auto& d) { d.rank = 259; }, ErrorKind::kInvalidInput, "tensorRank is 259"},
      {"address", [](auto& d) { d.global_address += 8; }, ErrorKind::kInvalidInput, "globalAddress is 0x7f0000000018"},
      {"dim 0", [](auto& d) { d.global_dims[1] = 0; }, ErrorKind::kInvalidInput, "globalDim[1] is 0"},
      {"dim big", [](auto& d) { d.global_dims[2] = (uint64_t{1} << 32) + 1; }, ErrorKind::kInvalidInput,
       "globalDim[2]"},
      {"stride", [](auto& d) { d.global_strides[0] = 600; }, ErrorKind::kInvalidInput, "globalStrides[0] is 600"},
      {"stride big", [](auto& d) { d.global_strides[1] = uint64_t{1} << 40; }, ErrorKind::kInvalidInput,
       "globalStrides[1]"},
      {"box 0", [](auto& d) { d.box_dims[2] = 0; }, ErrorKind::kInvalidInput, "boxDim[2] is 0"},
      {"box big", [](auto& d) { d.box_dims[1] = 257; }, ErrorKind::kInvalidInput, "boxDim[1] is 257"},
      {"inner 16", [](auto& d) { d.box_dims[0] = 12; }, ErrorKind::kInvalidInput, "24 bytes"},
      {"swizzle width", [](auto& d) { d.box_dims[0] = 72; }, ErrorKind::kInvalidInput, "144 bytes with swizzle 128B"},
      {"swizzle 64", [](auto& d) { d.swizzle = 2; }, ErrorKind::kInvalidInput, "128 bytes with swizzle 64B"},
      {"element stride", [](auto& d) { d.element_strides[1] = 9; }, ErrorKind::kInvalidInput, "elementStrides[1] is 9"},
      {"element stride 0", [](auto& d) { d.element_strides[2] = 0; }, ErrorKind::kInvalidInput,
       "elementStrides[2] is 0"},
      {"element stride of the rows", [](auto& d) { d.element_strides[0] = 0; }, ErrorKind::kInvalidInput,
       "elementStrides[0] is 0"},
      {"box bytes", [](auto& d) { d.box_dims[1] = d.box_dims[2] = 256; }, ErrorKind::kInvalidInput,
       "the box has 8388608 bytes"},
      {"interleave", [](auto& d) { d.interleave = 3; }, ErrorKind::kInvalidInput, "interleave is 3"},
      {"interleave 16B", [](auto& d) { d.interleave = 1; }, ErrorKind::kUnsupported, "interleave 16B"},
      {"swizzle", [](auto& d) { d.swizzle = 7; }, ErrorKind::kInvalidInput, "swizzle is 7"},
      {"swizzle atom", [](auto& d) { d.swizzle = 4; }, ErrorKind::kUnsupported, "128B_ATOM_32B"},
      {"l2", [](auto& d) { d.l2_promotion = 4; }, ErrorKind::kInvalidInput, "l2Promotion is 4"},
      {"fill", [](auto& d) { d.oob_fill = 2; }, ErrorKind::kInvalidInput, "oobFill is 2"},
      {"nan fill of integers", [](auto& d) { d.data_type = 1, d.oob_fill = 1; }, ErrorKind::kInvalidInput, "UINT16"},
  };
  for (const Violation& violation : violations) {
    TiledDescription d = legal();
    violation.spoil(d);
    const auto bytes = encode_tensor_map(d);
    ASSERT_FALSE(bytes) << violation.name;
    EXPECT_EQ(bytes.error().kind, violation.kind) << violation.name;
    EXPECT_THAT(bytes.error().message, HasSubstr(violation.says)) << violation.name;
    EXPECT_FALSE(bytes.error().hint.empty()) << violation.name;
  }
}

TEST(TensorMap, ForeignOrDamagedBytesAreRefused) {
  TensorMapBytes zeros{};
  EXPECT_THAT(decode_tensor_map(zeros).error().message, HasSubstr("no tensor map"));
  const TensorMapBytes good = *encode_tensor_map(legal());
  for (size_t i = 8; i < good.size(); ++i) {
    TensorMapBytes damaged = good;
    damaged[i] ^= std::byte{0x10};
    const auto map = decode_tensor_map(damaged);
    ASSERT_FALSE(map) << "byte " << i;
    EXPECT_EQ(map.error().kind, FaultKind::kBadDescriptor);
  }
}

// tensormap.replace changes one field at a time: wrong for a while is allowed until the map is used.
TEST(TensorMap, ReplacedFieldsAreCheckedWhenTheMapIsUsed) {
  auto map = decode_tensor_map(*encode_tensor_map(legal()));
  map->global_address = 0x1008;
  const TensorMapBytes wrong = pack_tensor_map(*map);
  ASSERT_TRUE(unpack_tensor_map(wrong));
  const auto used = decode_tensor_map(wrong);
  ASSERT_FALSE(used);
  EXPECT_THAT(used.error().message, HasSubstr("globalAddress is 0x1008"));
  map->global_address = 0x2000;
  EXPECT_EQ(decode_tensor_map(pack_tensor_map(*map))->global_address, 0x2000u);
}

}  // namespace
}  // namespace ptxbench::emu
