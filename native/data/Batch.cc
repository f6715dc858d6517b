#include "data/Batch.h"

namespace bloomery::data {

Batch::Batch(int64_t maxRows, int64_t featuresPerRow)
    : capacity(maxRows),
      features(static_cast<size_t>(maxRows * featuresPerRow)),
      rowIds(static_cast<size_t>(maxRows)),
      labels(static_cast<size_t>(maxRows)),
      weights(static_cast<size_t>(maxRows)) {}

}  // namespace bloomery::data
