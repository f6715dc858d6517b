// A float32 tensor somebody else owns: a pointer and a shape, dense and row-major. Copying it copies nothing.
#pragma once

#include <span>

#include "tensor/Shape.h"

namespace bloomery {

struct TensorView {
  float* data = nullptr;
  Shape shape;

  int64_t numElements() const { return shape.numElements(); }
  std::span<float> span() const { return {data, static_cast<size_t>(numElements())}; }
};

}  // namespace bloomery
