// Recorded results of a real H200 (tests/captures/*.h200.txt) as an oracle: the same inputs are made here and given to our
// functions without the machine. Lines are "name: word word #hash ..."; see tests/captures/capture.h.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace ptxbench::emu::test {

// splitmix64, as the captures draw their numbers.
class CaptureRandom {
 public:
  explicit CaptureRandom(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  uint32_t word() { return static_cast<uint32_t>(next() >> 32); }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>((uint64_t{word()} * limit) >> 32); }

 private:
  uint64_t state_;
};

inline uint64_t capture_hash(const void* data, size_t size) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001B3u;
  return hash;
}

// A recorded hash: 16 digits, or 8 of the hash folded.
struct RecordedHash {
  uint64_t value = 0;
  bool folded = false;

  bool matches(uint64_t hash) const { return value == (folded ? (hash ^ hash >> 32) & 0xffffffffu : hash); }
};

struct Recorded {
  std::vector<uint64_t> words;       // sampled values
  std::vector<RecordedHash> hashes;  // of equal slices
  std::string text;                  // all of it

  // All samples and hashes are those of `data`.
  template <class T>
  bool matches(const std::vector<T>& data) const {
    if (words.size() + hashes.size() == 0) return false;
    for (size_t i = 0; i < words.size(); ++i) {
      if (i >= data.size() || words[i] != static_cast<std::make_unsigned_t<T>>(data[i])) return false;
    }
    for (size_t s = 0; s < hashes.size(); ++s) {
      const size_t begin = data.size() * s / hashes.size(), end = data.size() * (s + 1) / hashes.size();
      if (!hashes[s].matches(capture_hash(data.data() + begin, (end - begin) * sizeof(T)))) return false;
    }
    return true;
  }
};

// Every recorded case of one topic by name; empty if the file is not there.
inline std::map<std::string, Recorded> recorded_cases(const std::string& topic) {
  std::map<std::string, Recorded> cases;
  std::ifstream file(std::string(PTXBENCH_SOURCE_DIR) + "/tests/captures/" + topic + ".h200.txt");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    std::istringstream rest(line.substr(colon + 2));
    Recorded record;
    record.text = line.substr(colon + 2);
    for (std::string word; rest >> word;) {
      const bool hash = word[0] == '#';
      const uint64_t value = std::strtoull(word.c_str() + (hash ? 1 : 0), nullptr, 16);
      if (hash) {
        record.hashes.push_back({value, word.size() == 9});
      } else {
        record.words.push_back(value);
      }
    }
    cases[line.substr(0, colon)] = record;
  }
  return cases;
}

}  // namespace ptxbench::emu::test
