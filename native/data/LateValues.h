// What a column leaves open while its rows are stored, because only all rows of all workers tell it: the mean that
// nulls become, or the places of words in a vocabulary that is learnt. Rows hold a mark or a provisional code in its
// place. The ingesting thread fills it; it is settled once, when all rows are there and before the first batch; then it
// is only read. Talks to nobody: whoever settles it carries the findings of the workers to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/Categories.h"
#include "data/InputColumn.h"
#include "tensor/DType.h"

namespace bloomery::data {

class LateValues {
 public:
  virtual ~LateValues() = default;

  // Which values of the input are the column's; before the first row.
  virtual void place(int64_t first, int64_t count) {
    first_ = first;
    count_ = count;
  }
  // Which values of the input are codes that this worker alone gave, from the first on and before the end.
  virtual std::pair<int64_t, int64_t> codes() const { return {0, 0}; }
  // Counts a row that is trained on. `values` are the column's, as they are stored.
  virtual void add(const std::byte* values, DType type) = 0;
  // What this worker found, for the others.
  virtual std::string findings() const = 0;
  // From the findings of all workers, by rank, which all of them give in the same order. UserError when they do not
  // settle it.
  virtual void settle(const std::vector<std::string>& findings) = 0;
  // Puts the settled values in place: `stored` is a row of the input, `values` the same row as scaled floats.
  virtual void apply(const std::byte* stored, DType type, float scale, float* values) const = 0;

 protected:
  int64_t first_ = 0, count_ = 0;
};

// The mean of each of a column's values over the rows that have one.
class LateMeans final : public LateValues {
 public:
  explicit LateMeans(std::string column) : column_(std::move(column)) {}

  void place(int64_t first, int64_t count) override;
  // Marks a value as null. The type is a floating one.
  static void mark(std::byte* value, DType type);
  static bool isMarked(const std::byte* value, DType type);

  void add(const std::byte* values, DType type) override;
  std::string findings() const override;
  void settle(const std::vector<std::string>& findings) override;
  void apply(const std::byte* stored, DType type, float scale, float* values) const override;
  const std::vector<double>& means() const { return means_; }

 private:
  std::string column_;
  std::vector<double> sums_;  // of each value, and then how many were added
  std::vector<double> means_;
};

// A vocabulary of the words among the rows that are trained on, the most frequent first, equal ones by their text.
class LateVocabulary final : public LateValues {
 public:
  // The rule tells what becomes of words that are not in it; indexLimit, above 0: all indices must be below it.
  LateVocabulary(std::string column, CategoryRule rule) : column_(std::move(column)), rule_(std::move(rule)) {}
  void limit(int64_t indexLimit) { indexLimit_ = indexLimit; }

  std::pair<int64_t, int64_t> codes() const override { return {first_, first_ + count_}; }
  // What stands for the word till the vocabulary is known; never 0, which stays 0.
  int64_t codeOf(std::string_view word);

  void add(const std::byte* values, DType type) override;
  std::string findings() const override;
  void settle(const std::vector<std::string>& findings) override;
  void apply(const std::byte* stored, DType type, float scale, float* values) const override;
  const CategoryRule& rule() const { return rule_; }  // with the vocabulary, once it is settled

 private:
  void order(const std::map<std::string, uint64_t>& counts);

  std::string column_;
  CategoryRule rule_;
  int64_t indexLimit_ = 0;
  TextMap<int64_t> codes_;
  std::vector<std::string> words_;    // by code, from 1
  std::vector<uint64_t> counts_;      // likewise
  std::vector<float> indices_ = {0};  // by code
};

}  // namespace bloomery::data
