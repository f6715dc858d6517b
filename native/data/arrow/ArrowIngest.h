// Copies Arrow record batches, handed over through the Arrow C interface, into RowStores; checks every value on the
// way, so that what only data can show (null, label out of range, wrong length) is a UserError that names column,
// partition and row. No Arrow type appears in this header.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/InputColumn.h"
#include "data/RowStore.h"

namespace bloomery::data {

// What the targets of one output may be. A column of numbers holds class indices where those are taken, else values.
struct TargetRule {
  Shape shape = {1};                            // of the output
  bool takesClass = true;                       // whole numbers in [0, elements of the shape)
  bool takesValues = false;                     // one number for each element
  bool probabilities = false;                   // values must lie in 0..1, else they must be finite
  std::optional<CategoryRule> vocabulary = {};  // which words the classes are
};

// The columns of one output's targets: one, or one for each value of the output.
struct TargetColumns {
  TargetColumns(std::string column) : columns{std::move(column)} {}
  TargetColumns(const char* column) : columns{column} {}
  TargetColumns(std::vector<std::string> several) : columns(std::move(several)) {}
  bool operator==(const TargetColumns&) const = default;

  std::vector<std::string> columns;
};

struct IngestColumns {
  std::vector<InputColumns> features;                          // by input
  std::vector<TargetColumns> targets;                          // by output; empty: features only (prediction)
  std::string weight = {};                                     // empty: every row weighs 1
  std::string validation = {};                                 // empty: no column says which rows are for validation
  double validationFraction = 0;                               // instead: this share of the rows is
  bool validationByContent = false;                            // by what a row holds, not by its id
  uint64_t seed = 0;                                           // of that choice
  std::vector<std::optional<CategoryRule>> vocabularies = {};  // by output: which words the classes are; empty: none

  std::vector<std::string> featureNames() const;
  // Something is settled only when all rows of all workers are there, before the first batch can be assembled.
  bool needsAllRows() const;
  // All that are read, each once.
  std::vector<std::string> names() const;
};

class ArrowIngest {
 public:
  // rules: one for each target. The stores are borrowed and have a feature for each input and a target for each output;
  // `validation` may be nullptr when no row can be for validation.
  ArrowIngest(IngestColumns columns, std::vector<TargetRule> rules, RowStore* training, RowStore* validation);
  ~ArrowIngest();

  // Address of a C ArrowSchema, consumed (released) here; settles how the stores keep their targets. UserError when a
  // column is missing or of a wrong type.
  void schema(void* arrowSchema);
  // Address of a C ArrowArray (a struct of the columns), copied and released before this returns, also on failure.
  void ingest(void* arrowArray, int partition, int64_t firstRow);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Releases the two C structs of a batch at the end of its life, unless somebody took them over before.
class ArrowBatchGuard {
 public:
  ArrowBatchGuard(void* arrowSchema, void* arrowArray) : schema_(arrowSchema), array_(arrowArray) {}
  ~ArrowBatchGuard();
  ArrowBatchGuard(const ArrowBatchGuard&) = delete;
  ArrowBatchGuard& operator=(const ArrowBatchGuard&) = delete;

 private:
  void* schema_;
  void* array_;
};

// Bytes that Arrow holds for us now; 0 when nothing is under way.
int64_t arrowBytesAllocated();
std::string arrowVersion();

// Whether a row is for validation when this share of all rows is: by its id, or a hash of what it holds, and the seed
// alone, so that it stays what it is however the rows come and whoever takes them.
bool isForValidation(uint64_t rowIdOrHash, double fraction, uint64_t seed);

inline uint64_t makeRowId(int partition, int64_t row) {
  return (static_cast<uint64_t>(partition) << 40) | static_cast<uint64_t>(row);
}

}  // namespace bloomery::data
