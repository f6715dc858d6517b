// Copies Arrow record batches, handed over through the Arrow C interface, into RowStores; checks every value on the
// way, so that what only data can show (null, label out of range, wrong length) is a UserError that names column,
// partition and row. No Arrow type appears in this header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/RowStore.h"

namespace bloomery::data {

struct IngestColumns {
  std::string features;
  std::string label;       // empty: features only (prediction)
  std::string weight;      // empty: every row weighs 1
  std::string validation;  // empty: no row is for validation
};

class ArrowIngest {
 public:
  // classes: labels must be whole numbers in [0, classes). The stores are borrowed; `validation` may be nullptr when
  // no validation column is named.
  ArrowIngest(IngestColumns columns, RowFormat format, int64_t classes, RowStore* training, RowStore* validation);
  ~ArrowIngest();

  // Address of a C ArrowSchema, consumed (released) here. UserError when a column is missing or of a wrong type.
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

inline uint64_t makeRowId(int partition, int64_t row) {
  return (static_cast<uint64_t>(partition) << 40) | static_cast<uint64_t>(row);
}

}  // namespace bloomery::data
