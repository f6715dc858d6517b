// How one column of the user's data becomes values of a network's input: its name, and the rules for nulls, lengths and
// categories. Plain data, read from the task once. The columns of one input lie one after the other in its values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bloomery::data {

enum class NullRule { kError, kZero, kMean };
enum class NanRule { kError, kPass };
enum class End { kFront, kBack };

// How a text or a whole number becomes an index.
struct CategoryRule {
  std::vector<std::string> vocabulary = {};  // in the order of their indices
  int64_t hashBuckets = 0;                   // above 0: by hash, without a vocabulary
  bool unknownIsLast = false;                // what is not in the vocabulary gets the index behind its last; else error
  int64_t firstIndex = 0;
  bool learns = false;  // the vocabulary comes from the rows
  int64_t maxSize = 0;  // above 0: of a vocabulary that is learnt

  // All indices lie below it.
  int64_t indexLimit() const {
    int64_t indices = hashBuckets > 0 ? hashBuckets : static_cast<int64_t>(vocabulary.size()) + (unknownIsLast ? 1 : 0);
    return firstIndex + indices;
  }
};

class LateValues;
class LateMeans;
class LateVocabulary;

struct InputColumn {
  InputColumn(std::string column) : name(std::move(column)) {}
  InputColumn(const char* column) : name(column) {}

  std::string name;
  int64_t size = 0;  // values of a row; 0: as the column's type or the other columns of the input have it
  NullRule nulls = NullRule::kError;
  NanRule nans = NanRule::kError;
  std::optional<End> padding = {};     // where zeros go when an array is too short; none: that is an error
  std::optional<End> truncating = {};  // where values are cut off when it is too long; likewise
  std::optional<CategoryRule> categories = {};
  std::vector<double> knownMeans = {};  // what nulls become where the rule is kMean and training has settled it
  // What the rows of training are to settle: means or a vocabulary, shared with the rows' format. Null: nothing is
  // open.
  std::shared_ptr<LateMeans> means = {};
  std::shared_ptr<LateVocabulary> learnt = {};

  LateValues* late() const;
};

// All columns of one input.
struct InputColumns {
  InputColumns(std::string column) : columns{std::move(column)} {}
  InputColumns(const char* column) : columns{column} {}
  InputColumns(std::vector<InputColumn> several) : columns(std::move(several)) {}

  std::vector<InputColumn> columns;
};

}  // namespace bloomery::data
