// Which arguments of cuTensorMapEncodeTiled the driver takes: one line per variant with the CUresult (0 success, 1 invalid
// value ...). No kernel runs. The oracle of our own encoder, refusals included.
#include "capture.h"
#include "tensor_map.h"

using namespace capture;

void* g_memory;

struct Arguments : TensorSpec {
  uint64_t address_offset = 0;
  uint64_t map_offset = 0;
  bool null_address = false;
};

void attempt(const std::string& name, Arguments args) {
  if (!begin(name)) return;
  alignas(128) static unsigned char storage[512];
  void* address = args.null_address ? nullptr : static_cast<char*>(g_memory) + args.address_offset;
  CUresult result = encode(reinterpret_cast<CUtensorMap*>(storage + args.map_offset), args, address);
  std::printf("%s: %d\n", g_case.c_str(), int(result));
}

// A plain map of the given rank and type: rows of 64 elements, boxes of 16 bytes in dimension 0.
Arguments base(uint32_t rank, CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32) {
  Arguments args;
  args.type = type;
  args.rank = rank;
  for (uint32_t i = 0; i < 5; ++i) {
    args.dims[i] = i < rank ? 64 : 1;
    args.box[i] = i < rank ? 4 : 1;
  }
  args.box[0] = 64 / element_bytes(type);
  if (args.box[0] > 64) args.box[0] = 64;
  pack_strides(args);
  return args;
}

template <class Change, class Value>
void vary(const std::string& name, Arguments args, std::initializer_list<Value> values, Change change) {
  for (Value v : values) {
    Arguments copy = args;
    change(copy, v);
    attempt(name + "-" + std::to_string((long long)(v)), copy);
  }
}

void types_and_ranks() {
  for (int type = 0; type <= 20; ++type) {
    Arguments args = base(2);
    args.type = CUtensorMapDataType(type);
    attempt("type-" + std::to_string(type), args);
  }
  vary("rank", base(5), {0u, 1u, 2u, 3u, 4u, 5u, 6u}, [](Arguments& a, uint32_t v) { a.rank = v; });
  vary("address-offset", base(2), {0, 1, 2, 4, 8, 16, 24, 32, 64, 128},
       [](Arguments& a, int v) { a.address_offset = v; });
  vary("map-offset", base(2), {0, 8, 16, 32, 64, 128}, [](Arguments& a, int v) { a.map_offset = v; });
  Arguments null = base(2);
  null.null_address = true;
  attempt("address-null", null);
}

void dims_and_strides() {
  vary("dim0", base(2), {0ll, 1ll, 3ll, 5ll, 64ll, 4294967295ll, 4294967296ll, 4294967297ll},
       [](Arguments& a, long long v) { a.dims[0] = v; });
  vary("dim1", base(2), {0ll, 1ll, 7ll, 4294967295ll, 4294967296ll, 4294967297ll},
       [](Arguments& a, long long v) { a.dims[1] = v; });
  vary("dim4", base(5), {0ll, 1ll, 4294967296ll, 4294967297ll}, [](Arguments& a, long long v) { a.dims[4] = v; });
  vary("dim0-rank1", base(1), {0ll, 1ll, 3ll, 4294967296ll}, [](Arguments& a, long long v) { a.dims[0] = v; });
  vary("stride0", base(2),
       {0ll, 4ll, 8ll, 16ll, 24ll, 32ll, 128ll, 240ll, 255ll, 256ll, 257ll, 264ll, 272ll, 1048576ll, 1099511627760ll,
        1099511627776ll, 1099511627792ll, -16ll},
       [](Arguments& a, long long v) { a.strides[0] = uint64_t(v); });
  vary("stride1-of-rank3", base(3), {0ll, 16ll, 256ll, 8192ll, 16384ll, 16392ll, 1099511627760ll, 1099511627776ll},
       [](Arguments& a, long long v) { a.strides[1] = uint64_t(v); });
  vary("stride3-of-rank5", base(5), {0ll, 16ll, 1099511627760ll, 1099511627776ll},
       [](Arguments& a, long long v) { a.strides[3] = uint64_t(v); });
}

void boxes() {
  for (int swizzle = 0; swizzle <= 7; ++swizzle)
    for (auto type : {CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                      CU_TENSOR_MAP_DATA_TYPE_FLOAT64})
      vary("box0-" + type_name(type) + "-swizzle" + std::to_string(swizzle), base(2, type),
           {0u, 1u, 2u, 4u, 6u, 8u, 12u, 16u, 20u, 24u, 32u, 48u, 64u, 96u, 128u, 256u, 257u},
           [swizzle](Arguments& a, uint32_t v) {
             a.box[0] = v;
             a.dims[0] = 512;
             a.strides[0] = 4096;
             a.swizzle = CUtensorMapSwizzle(swizzle);
           });
  vary("box1", base(2), {0u, 1u, 3u, 255u, 256u, 257u}, [](Arguments& a, uint32_t v) { a.box[1] = v; });
  vary("box0-larger-than-dim", base(2), {4u, 8u, 16u}, [](Arguments& a, uint32_t v) { a.dims[0] = 2, a.box[0] = v; });
  vary("box1-larger-than-dim", base(2), {2u, 8u}, [](Arguments& a, uint32_t v) { a.dims[1] = 1, a.box[1] = v; });
  // Whole boxes around the size of shared memory.
  vary("box-bytes", base(3), {8u, 16u, 32u, 48u, 55u, 56u, 57u, 58u, 60u, 63u, 64u, 128u, 256u}, [](Arguments& a, uint32_t v) {
    a.box[0] = 16;
    a.box[1] = 64;
    a.box[2] = v;
  });
  for (int i = 0; i < 2; ++i)
    vary("element-stride" + std::to_string(i), base(2), {0u, 1u, 2u, 3u, 4u, 7u, 8u, 9u, 16u},
         [i](Arguments& a, uint32_t v) { a.steps[i] = v; });
  vary("element-stride1-box-not-multiple", base(2), {1u, 2u, 3u, 4u, 5u},
       [](Arguments& a, uint32_t v) { a.steps[1] = 3, a.box[1] = v; });
}

void modes() {
  for (int interleave = 0; interleave <= 3; ++interleave)
    for (int swizzle = 0; swizzle <= 4; ++swizzle)
      for (uint32_t rank : {2u, 3u, 5u})
        for (int aligned : {0, 1}) {
          Arguments args = base(rank);
          args.interleave = CUtensorMapInterleave(interleave);
          args.swizzle = CUtensorMapSwizzle(swizzle);
          args.box[0] = 4;
          if (!aligned) args.address_offset = 16;
          attempt("interleave" + std::to_string(interleave) + "-swizzle" + std::to_string(swizzle) + "-rank" +
                      std::to_string(rank) + (aligned ? "" : "-address16"),
                  args);
        }
  for (int interleave = 1; interleave <= 2; ++interleave)
    vary("interleave" + std::to_string(interleave) + "-stride1", base(3),
         {16ll, 256ll, 272ll, 288ll, 16384ll, 16400ll, 16416ll}, [interleave](Arguments& a, long long v) {
           a.interleave = CUtensorMapInterleave(interleave);
           a.box[0] = 4;
           a.strides[1] = v;
         });
  vary("promotion", base(2), {-1, 0, 1, 2, 3, 4}, [](Arguments& a, int v) { a.promotion = CUtensorMapL2promotion(v); });
  for (int type = 0; type <= 12; ++type)
    for (int fill : {0, 1, 2}) {
      Arguments args = base(2);
      args.type = CUtensorMapDataType(type);
      args.fill = CUtensorMapFloatOOBfill(fill);
      attempt("fill" + std::to_string(fill) + "-type-" + type_name(args.type), args);
    }
}

int main(int argc, char** argv) {
  init(argc, argv);
  CHECK_CUDA(cudaMalloc(&g_memory, 1 << 20));
  types_and_ranks();
  dims_and_strides();
  boxes();
  modes();
  // Null pointers, one at a time.
  CUtensorMap map;
  TensorSpec spec = base(2);
  auto direct = [&](const char* name, CUtensorMap* m, const cuuint64_t* d, const cuuint64_t* s, const cuuint32_t* b,
                    const cuuint32_t* e) {
    if (!begin(name)) return;
    std::printf("%s: %d\n", name,
                int(cuTensorMapEncodeTiled(m, spec.type, 2, g_memory, d, s, b, e, spec.interleave, spec.swizzle,
                                           spec.promotion, spec.fill)));
  };
  direct("null-map", nullptr, spec.dims, spec.strides, spec.box, spec.steps);
  direct("null-dims", &map, nullptr, spec.strides, spec.box, spec.steps);
  direct("null-strides", &map, spec.dims, nullptr, spec.box, spec.steps);
  direct("null-box", &map, spec.dims, spec.strides, nullptr, spec.steps);
  direct("null-element-strides", &map, spec.dims, spec.strides, spec.box, nullptr);
}
