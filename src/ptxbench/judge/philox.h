// Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). Block i of a stream is a pure function of (seed, stream, i), so any part of a tensor can be made by any
// thread, and a seed reproduces an evaluation on every machine.
#pragma once

#include <array>
#include <cstdint>

namespace ptxbench::judge {

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline PhiloxBlock philox4x32(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;  // Weyl sequences of the golden ratio and sqrt(3) - 1
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// The upper 64 bits of a product.
inline std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

// One stream of a seed. Streams of different numbers are independent.
class PhiloxStream {
 public:
  PhiloxStream(std::uint64_t seed, std::uint64_t stream)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        stream_{static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)} {}

  PhiloxBlock block(std::uint64_t index) const {
    return philox4x32(
        {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream_[0], stream_[1]}, key_);
  }
  const std::array<std::uint32_t, 2>& key() const { return key_; }
  const std::array<std::uint32_t, 2>& number() const { return stream_; }
  // A uniform integer below bound (> 0). The bias of at most bound / 2^64 does not matter here.
  std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    const PhiloxBlock bits = block(index);
    const std::uint64_t wide = (std::uint64_t{bits[0]} << 32) | bits[1];
    return multiply_high(wide, bound);
  }

 private:
  std::array<std::uint32_t, 2> key_, stream_;
};

}  // namespace ptxbench::judge
