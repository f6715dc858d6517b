#include "data/Batch.h"

namespace bloomery::data {

Batch::Batch(int64_t maxRows, const RowFormat& format) : capacity(maxRows), rowIds(static_cast<size_t>(maxRows)) {
  for (const FeatureFormat& feature : format.features) {
    features.emplace_back(static_cast<size_t>(maxRows * feature.count));
    inputs.push_back(features.back().all().data());
  }
  targets.resize(format.targets.size());
  for (Target& target : targets) {
    target.classes.resize(static_cast<size_t>(maxRows));
    target.weights.resize(static_cast<size_t>(maxRows));
  }
}

}  // namespace bloomery::data
