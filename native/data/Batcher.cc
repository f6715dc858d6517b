#include "data/Batcher.h"

#include <algorithm>

#include "base/Error.h"
#include "data/LateValues.h"

namespace bloomery::data {

namespace {

size_t classOf(const float* values, int64_t width) {
  if (width == 1) return values[0] > 0.5f ? 1 : 0;
  return static_cast<size_t>(std::max_element(values, values + width) - values);
}

}  // namespace

Batcher::Batcher(const RowStore& rows, ClassWeights classWeights)
    : rows_(rows), classWeights_(std::move(classWeights)) {
  check(classWeights_.empty() || classWeights_.size() == rows.format().targets.size(), "Class weights of ",
        classWeights_.size(), " outputs");
  for (const FeatureFormat& feature : rows.format().features) toFloat_.push_back(toFloat(feature.type));
}

void Batcher::assemble(std::span<const int64_t> rows, Batch& batch) const {
  check(rows.size() <= static_cast<size_t>(batch.capacity), "Batch of ", rows.size(), " rows into ", batch.capacity);
  batch.numRows = static_cast<int64_t>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    check(rows[i] >= 0 && rows[i] < rows_.numRows(), "No such row: ", rows[i], " of ", rows_.numRows());
    batch.rowIds[i] = rows_.rowId(rows[i]);
  }
  for (size_t input = 0; input < batch.features.size(); ++input) assembleFeatures(rows, input, batch);
  for (size_t output = 0; output < batch.targets.size(); ++output) {
    assembleTarget(rows, output, batch.targets[output], batch.capacity);
  }
}

void Batcher::assembleFeatures(std::span<const int64_t> rows, size_t input, Batch& batch) const {
  const FeatureFormat& format = rows_.format().features[input];
  const float scale = static_cast<float>(format.scale);
  float* features = batch.features[input].all().data();
  for (int64_t row : rows) {
    toFloat_[input](rows_.features(row, input), format.count, scale, features);
    for (const auto& late : format.late) late->apply(rows_.features(row, input), format.type, scale, features);
    features += format.count;
  }
}

void Batcher::assembleTarget(std::span<const int64_t> rows, size_t output, Batch::Target& target,
                             int64_t capacity) const {
  const TargetFormat& format = rows_.format().targets[output];
  target.isClass = format.isClass;
  target.weightSum = 0;
  if (!format.isClass) target.values.resize(static_cast<size_t>(capacity * format.width));
  const std::vector<float>* classWeights =
      classWeights_.empty() || classWeights_[output].empty() ? nullptr : &classWeights_[output];
  for (size_t i = 0; i < rows.size(); ++i) {
    float weight = rows_.weight(rows[i]);
    size_t label = 0;
    if (format.isClass) {
      target.classes[i] = rows_.label(rows[i], output);
      label = static_cast<size_t>(target.classes[i]);
    } else {
      const float* values = rows_.values(rows[i], output);
      std::copy_n(values, format.width, target.values.data() + static_cast<int64_t>(i) * format.width);
      if (classWeights != nullptr) label = classOf(values, format.width);
    }
    target.weights[i] = classWeights == nullptr ? weight : weight * (*classWeights)[label];
    target.weightSum += target.weights[i];
  }
}

}  // namespace bloomery::data
