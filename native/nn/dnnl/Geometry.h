// Where the windows of convolutions and poolings stand, in oneDNN's terms.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "network/Layers.h"

namespace bloomery::nn {

struct ConvolutionGeometry {
  dnnl::memory::dims strides, dilation, paddingBefore, paddingAfter;  // oneDNN counts the dilation from 0
};

// Zeros around the image besides those of the windows themselves.
inline void widen(const network::ZeroPadding& zeros, dnnl::memory::dims& before, dnnl::memory::dims& after) {
  before[0] += zeros.vertical.first;
  before[1] += zeros.horizontal.first;
  after[0] += zeros.vertical.second;
  after[1] += zeros.horizontal.second;
}

// `image`: what the layer is given.
inline ConvolutionGeometry geometryOf(const network::Convolution& layer, const Shape& image) {
  auto vertical =
      network::paddingOf(layer.padding, image[0], layer.kernelSize.first, layer.strides.first, layer.dilation.first);
  auto horizontal =
      network::paddingOf(layer.padding, image[1], layer.kernelSize.second, layer.strides.second, layer.dilation.second);
  return {{layer.strides.first, layer.strides.second},
          {layer.dilation.first - 1, layer.dilation.second - 1},
          {vertical.before, horizontal.before},
          {vertical.after, horizontal.after}};
}

}  // namespace bloomery::nn
