#include "data/LateValues.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/Error.h"

namespace bloomery::data {

namespace {

// Quiet NaNs that no computation makes.
constexpr uint32_t kMark32 = 0x7FC0B10Fu;
constexpr uint64_t kMark64 = 0x7FF8B10F00000000ull;

// A model carries its vocabulary in the header of its weights.
constexpr size_t kMaxVocabularyBytes = size_t{4} << 20;

template <typename T>
T read(const std::byte* bytes, size_t index = 0) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

double numberAt(const std::byte* values, DType type, int64_t index) {
  size_t i = static_cast<size_t>(index);
  switch (type) {
    case DType::kFloat32:
      return static_cast<double>(read<float>(values, i));
    case DType::kFloat64:
      return read<double>(values, i);
    case DType::kUint8:
      return read<uint8_t>(values, i);
    case DType::kInt8:
      return read<int8_t>(values, i);
    case DType::kInt16:
      return read<int16_t>(values, i);
    case DType::kInt32:
      return read<int32_t>(values, i);
    case DType::kInt64:
      return static_cast<double>(read<int64_t>(values, i));
  }
  throw InternalError(message("Unknown element type: ", static_cast<int>(type)));
}

void append(std::string& text, uint64_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof(number)); }

uint64_t takeNumber(std::string_view& text) {
  check(text.size() >= sizeof(uint64_t), "Findings of a worker are cut off");
  uint64_t number = read<uint64_t>(reinterpret_cast<const std::byte*>(text.data()));
  text.remove_prefix(sizeof(number));
  return number;
}

}  // namespace

LateValues* InputColumn::late() const {
  if (means != nullptr) return means.get();
  return learnt.get();
}

void LateMeans::place(int64_t first, int64_t count) {
  LateValues::place(first, count);
  sums_.resize(2 * static_cast<size_t>(count));
}

void LateMeans::mark(std::byte* value, DType type) {
  if (type == DType::kFloat32) {
    std::memcpy(value, &kMark32, sizeof(kMark32));
  } else {
    check(type == DType::kFloat64, "Means of whole numbers: ", nameOf(type));
    std::memcpy(value, &kMark64, sizeof(kMark64));
  }
}

bool LateMeans::isMarked(const std::byte* value, DType type) {
  return type == DType::kFloat32 ? read<uint32_t>(value) == kMark32 : read<uint64_t>(value) == kMark64;
}

void LateMeans::add(const std::byte* values, DType type) {
  size_t count = static_cast<size_t>(count_);
  for (size_t i = 0; i < count; ++i) {
    if (isMarked(values + i * sizeOf(type), type)) continue;
    sums_[i] += numberAt(values, type, static_cast<int64_t>(i));
    sums_[count + i] += 1;
  }
}

std::string LateMeans::findings() const {
  return std::string(reinterpret_cast<const char*>(sums_.data()), sums_.size() * sizeof(double));
}

void LateMeans::settle(const std::vector<std::string>& findings) {
  size_t count = static_cast<size_t>(count_);
  std::vector<double> sums;
  for (const std::string& one : findings) {
    if (one.empty()) continue;  // a worker that never saw a row
    std::vector<double> part(one.size() / sizeof(double));
    std::memcpy(part.data(), one.data(), part.size() * sizeof(double));
    if (sums.empty()) sums.resize(part.size());
    check(part.size() == sums.size(), "Means of different numbers of values: ", part.size(), ", ", sums.size());
    for (size_t i = 0; i < part.size(); ++i) sums[i] += part[i];
  }
  count = sums.size() / 2;
  means_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (sums[count + i] == 0) {
      throw UserError(message("No mean for nulls: column '", column_, "' has no other value in any row, element ", i,
                              "; set its nulls to \"zero\", or leave it out"));
    }
    means_[i] = sums[i] / sums[count + i];
  }
}

void LateMeans::apply(const std::byte* stored, DType type, float scale, float* values) const {
  for (int64_t i = first_; i < first_ + count_; ++i) {
    if (!isMarked(stored + static_cast<size_t>(i) * sizeOf(type), type)) continue;
    values[i] = static_cast<float>(means_[static_cast<size_t>(i - first_)]) * scale;
  }
}

int64_t LateVocabulary::codeOf(std::string_view word) {
  auto found = codes_.find(word);
  if (found != codes_.end()) return found->second;
  words_.emplace_back(word);
  counts_.push_back(0);
  int64_t code = static_cast<int64_t>(words_.size());
  codes_.emplace(words_.back(), code);
  return code;
}

void LateVocabulary::add(const std::byte* values, DType type) {
  for (int64_t i = 0; i < count_; ++i) {
    size_t code = static_cast<size_t>(numberAt(values, type, i));
    if (code > 0) ++counts_[code - 1];
  }
}

std::string LateVocabulary::findings() const {
  std::string text;
  for (size_t i = 0; i < words_.size(); ++i) {
    append(text, counts_[i]);
    append(text, words_[i].size());
    text += words_[i];
  }
  return text;
}

void LateVocabulary::settle(const std::vector<std::string>& findings) {
  std::map<std::string, uint64_t> counts;
  for (std::string_view text : findings) {
    while (!text.empty()) {
      uint64_t count = takeNumber(text), size = takeNumber(text);
      check(size <= text.size(), "Findings of a worker are cut off");
      counts[std::string(text.substr(0, size))] += count;
      text.remove_prefix(size);
    }
  }
  order(counts);
  Categories places(rule_);
  for (const auto& [word, count] : counts) {
    if (places.indexOf(word) >= 0) continue;
    throw UserError(message("Category out of vocabulary: '", word, "' is only among validation rows, column '", column_,
                            "'; set its outOfVocabulary to \"last\""));
  }
  indices_.resize(words_.size() + 1);
  for (size_t code = 1; code < indices_.size(); ++code) {
    indices_[code] = static_cast<float>(places.indexOf(words_[code - 1]));
  }
}

void LateVocabulary::order(const std::map<std::string, uint64_t>& counts) {
  std::vector<std::pair<std::string, uint64_t>> words;
  std::copy_if(counts.begin(), counts.end(), std::back_inserter(words),
               [](const auto& word) { return word.second > 0; });
  std::stable_sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (rule_.maxSize > 0 && words.size() > static_cast<size_t>(rule_.maxSize)) {
    words.resize(static_cast<size_t>(rule_.maxSize));
  }
  rule_.learns = false;
  rule_.vocabulary.clear();
  size_t bytes = 0;
  for (auto& [word, count] : words) {
    bytes += word.size() + 1;
    rule_.vocabulary.push_back(word);
  }
  if (rule_.vocabulary.empty())
    throw UserError(message("No words to learn: column '", column_, "' is null in every row"));
  bool tooMany = indexLimit_ > 0 && rule_.indexLimit() > indexLimit_;
  if (!tooMany && bytes <= kMaxVocabularyBytes) return;
  throw UserError(message("Learnt vocabulary is too large: ", rule_.vocabulary.size(), " words of column '", column_,
                          "', ", tooMany ? message("rows of the Embedding: ", indexLimit_) : message(bytes, " bytes"),
                          "; set its maxSize, with outOfVocabulary \"last\""));
}

void LateVocabulary::apply(const std::byte* stored, DType type, float scale, float* values) const {
  for (int64_t i = first_; i < first_ + count_; ++i) {
    values[i] = indices_[static_cast<size_t>(numberAt(stored, type, i))] * scale;
  }
}

}  // namespace bloomery::data
