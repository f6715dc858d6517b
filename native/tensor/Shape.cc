#include "tensor/Shape.h"

namespace bloomery {

int64_t Shape::numElements() const {
  int64_t product = 1;
  for (int64_t extent : extents_) product *= extent;
  return product;
}

std::string Shape::toString() const {
  std::string text = "(";
  for (size_t i = 0; i < extents_.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(extents_[i]);
  return text + (extents_.size() == 1 ? ",)" : ")");
}

}  // namespace bloomery
