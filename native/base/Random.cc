#include "base/Random.h"

namespace bloomery {

namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

uint64_t finalize(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace

RandomBlock philox(uint64_t key, uint64_t counterLow, uint64_t counterHigh) {
  RandomBlock c = {static_cast<uint32_t>(counterLow), static_cast<uint32_t>(counterLow >> 32),
                   static_cast<uint32_t>(counterHigh), static_cast<uint32_t>(counterHigh >> 32)};
  uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    uint64_t product0 = uint64_t{kMultiplier0} * c[0];
    uint64_t product1 = uint64_t{kMultiplier1} * c[2];
    c = {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return c;
}

uint64_t mixKey(uint64_t a, uint64_t b) {
  return finalize(finalize(a + 0x9E3779B97F4A7C15ull) ^ (b * 0xD6E8FEB86659FD93ull));
}

uint64_t mixKey(uint64_t a, std::string_view b) {
  uint64_t key = mixKey(a, b.size());
  for (char c : b) key = mixKey(key, static_cast<unsigned char>(c));
  return key;
}

}  // namespace bloomery
