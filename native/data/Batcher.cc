#include "data/Batcher.h"

#include "base/Error.h"

namespace bloomery::data {

Batcher::Batcher(const RowStore& rows, double scale)
    : rows_(rows), scale_(static_cast<float>(scale)), toFloat_(toFloat(rows.format().featureType)) {}

void Batcher::assemble(std::span<const int64_t> rows, Batch& batch) const {
  check(rows.size() <= static_cast<size_t>(batch.capacity), "Batch of ", rows.size(), " rows into ", batch.capacity);
  const int64_t featuresPerRow = rows_.format().featuresPerRow;
  float* features = batch.features.all().data();
  batch.numRows = static_cast<int64_t>(rows.size());
  batch.weightSum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t row = rows[i];
    check(row >= 0 && row < rows_.numRows(), "No such row: ", row, " of ", rows_.numRows());
    batch.rowIds[i] = rows_.rowId(row);
    batch.labels[i] = rows_.label(row);
    batch.weights[i] = rows_.weight(row);
    batch.weightSum += batch.weights[i];
    toFloat_(rows_.features(row), featuresPerRow, scale_, features);
    features += featuresPerRow;
  }
}

}  // namespace bloomery::data
