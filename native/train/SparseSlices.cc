#include "train/SparseSlices.h"

namespace bloomery::train {

std::vector<size_t> sparseSlices(const network::ParameterTable& parameters, int64_t fewestFloats) {
  std::vector<size_t> slices;
  for (size_t i = 0; i < parameters.parameters().size(); ++i) {
    const network::Parameter& parameter = parameters.parameters()[i];
    bool isPulled = parameter.regularizer.l1 != 0 || parameter.regularizer.l2 != 0;
    bool isSparse = parameter.gathered && parameter.trainable && !isPulled;
    if (isSparse && parameter.shape.numElements() >= fewestFloats) slices.push_back(i);
  }
  return slices;
}

}  // namespace bloomery::train
