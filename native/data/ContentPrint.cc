#include "data/ContentPrint.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace bloomery::data {

namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);
constexpr size_t kFixedWords = 4, kChosenWords = 2;  // of a column that has more
constexpr size_t kMaxPlaces = 4096;                  // of a column, so that they stay in the cache
constexpr size_t kChoiceBits = 64 / kChosenWords;    // enough for a place
constexpr int kTurn = 23;                            // bits: the same word counts differently at another place

template <typename T>
uint64_t load(const std::byte* from) {
  T word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

uint64_t load(const std::byte* from, size_t bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes; ++i) word = word << 8 | static_cast<uint64_t>(from[i]);
  return word;
}

// Different words have different results.
uint64_t scatter(uint64_t word) {
  word *= 0x9E3779B97F4A7C15ull;
  return word ^ (word >> 32);
}

// A row's words at some of the places. Words are scattered each for itself, so that the processor need not wait for one
// to begin the next. A column that is other in all rows is among those that the fixed words choose in some of them.
template <typename Load>
uint64_t hashOfWords(uint64_t hash, const size_t* places, size_t numPlaces, const Load& wordAt) {
  auto add = [&](size_t place) { hash = std::rotl(hash, kTurn) + scatter(wordAt(places[place])); };
  if (numPlaces <= kFixedWords + kChosenWords) {
    for (size_t i = 0; i < numPlaces; ++i) add(i);
    return hash;
  }
  for (size_t i = 0; i < kFixedWords; ++i) add((2 * i + 1) * numPlaces / (2 * kFixedWords));
  uint64_t choice = scatter(hash);
  for (size_t i = 0; i < kChosenWords; ++i, choice >>= kChoiceBits) {
    add(((choice & ((uint64_t{1} << kChoiceBits) - 1)) * numPlaces) >> kChoiceBits);
  }
  return hash;
}

}  // namespace

// The last word of a range ends with it, and may overlap the one before.
void ContentPrint::addColumn(size_t offset, size_t stride, const std::vector<Range>& ranges) {
  std::map<size_t, std::vector<size_t>> places;  // by the bytes of a word
  for (const Range& range : ranges) {
    size_t bytes = std::min(kWordBytes, range.end - range.first);
    for (size_t at = range.first; at < range.end; at += kWordBytes) {
      places[bytes].push_back(std::min(at, range.end - bytes));
    }
  }
  for (const auto& [bytes, all] : places) {
    size_t count = std::min(all.size(), kMaxPlaces);
    columns_.push_back({offset, stride, bytes, places_.size(), count});
    for (size_t i = 0; i < count; ++i) places_.push_back(all[i * all.size() / count]);
  }
}

void ContentPrint::clearColumns() {
  columns_.clear();
  places_.clear();
}

// What belongs together in a row is tied by the last rounds: sums of rows would not tell who has which label.
uint64_t ContentPrint::hashOf(const std::byte* chunk, size_t index) const {
  uint64_t hash = 0;
  for (const Column& column : columns_) {
    const std::byte* row = chunk + column.offset + index * column.stride;
    const size_t* places = &places_[column.firstPlace];
    if (column.bytes == sizeof(uint64_t)) {
      hash = hashOfWords(hash, places, column.numPlaces, [&](size_t at) { return load<uint64_t>(row + at); });
    } else if (column.bytes == sizeof(uint32_t)) {
      hash = hashOfWords(hash, places, column.numPlaces, [&](size_t at) { return load<uint32_t>(row + at); });
    } else {
      hash = hashOfWords(hash, places, column.numPlaces, [&](size_t at) { return load(row + at, column.bytes); });
    }
  }
  return scatter(scatter(hash));
}

}  // namespace bloomery::data
