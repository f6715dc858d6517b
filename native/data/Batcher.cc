#include "data/Batcher.h"

#include <algorithm>

#include "base/Error.h"
#include "data/LateValues.h"

namespace bloomery::data {

namespace {

// Rows of a batch lie anywhere: each would be waited for by itself.
constexpr size_t kRowsAhead = 12;

size_t classOf(const float* values, int64_t width) {
  if (width == 1) return values[0] > 0.5f ? 1 : 0;
  return static_cast<size_t>(std::max_element(values, values + width) - values);
}

}  // namespace

Batcher::Batcher(const RowStore& rows, ClassWeights classWeights)
    : format_(rows.format()), reader_(rows), classWeights_(std::move(classWeights)) {
  check(classWeights_.empty() || classWeights_.size() == format_.targets.size(), "Class weights of ",
        classWeights_.size(), " outputs");
  for (const FeatureFormat& feature : format_.features) toFloat_.push_back(toFloat(feature.type));
}

void Batcher::assemble(std::span<const int64_t> rows, Batch& batch) {
  check(rows.size() <= static_cast<size_t>(batch.capacity), "Batch of ", rows.size(), " rows into ", batch.capacity);
  batch.numRows = static_cast<int64_t>(rows.size());
  for (size_t output = 0; output < batch.targets.size(); ++output) {
    const TargetFormat& format = format_.targets[output];
    Batch::Target& target = batch.targets[output];
    target.isClass = format.isClass;
    target.weightSum = 0;
    if (!format.isClass) target.values.resize(static_cast<size_t>(batch.capacity * format.width));
  }
  reader_.advance(batch.numRows);
  auto lock = reader_.lock();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kRowsAhead < rows.size()) reader_.expect(rows[i + kRowsAhead]);
    StoredRow row = reader_.row(rows[i]);
    batch.rowIds[i] = row.rowId();
    assembleFeatures(row, i, batch);
    for (size_t output = 0; output < batch.targets.size(); ++output) {
      assembleTarget(row, i, output, batch.targets[output]);
    }
  }
}

void Batcher::assembleFeatures(const StoredRow& row, size_t place, Batch& batch) const {
  for (size_t input = 0; input < batch.features.size(); ++input) {
    const FeatureFormat& format = format_.features[input];
    float* to = batch.features[input].all().data() + static_cast<int64_t>(place) * format.count;
    toFloat_[input](row.features(input), format.count, static_cast<float>(format.scale), to);
    for (const auto& late : format.late) {
      late->apply(row.features(input), format.type, static_cast<float>(format.scale), to);
    }
  }
}

void Batcher::assembleTarget(const StoredRow& row, size_t place, size_t output, Batch::Target& target) const {
  const TargetFormat& format = format_.targets[output];
  const std::vector<float>* classWeights =
      classWeights_.empty() || classWeights_[output].empty() ? nullptr : &classWeights_[output];
  float weight = row.weight();
  size_t label = 0;
  if (format.isClass) {
    target.classes[place] = row.label(output);
    label = static_cast<size_t>(target.classes[place]);
  } else {
    const float* values = row.values(output);
    std::copy_n(values, format.width, target.values.data() + static_cast<int64_t>(place) * format.width);
    if (classWeights != nullptr) label = classOf(values, format.width);
  }
  target.weights[place] = classWeights == nullptr ? weight : weight * (*classWeights)[label];
  target.weightSum += target.weights[place];
}

}  // namespace bloomery::data
