// The weight gradient of a convolution over images of few channels: a network's first. oneDNN pads such images to
// whole vectors of channels, so that most of its work is on zeros; here the vector runs over the filters, and the bias
// gradient and the backward half of the ReLU come along. Needs SimdLevel::kAvx2.
#pragma once

#include <cstdint>

namespace bloomery::nn {

struct ThinConvolution {
  int64_t batch = 0;
  int64_t height = 0, width = 0, channels = 0;  // of the image
  int64_t outputHeight = 0, outputWidth = 0;
  int64_t filters = 0;  // a multiple of 8
  // Filters that lie side by side in the output: [batch, filters / block, height, width, block]. 8, 16, or all of them
  // for channels last.
  int64_t block = 0;
  int64_t kernelHeight = 0, kernelWidth = 0;
  int64_t strideHeight = 1, strideWidth = 1;
  int64_t paddingTop = 0, paddingLeft = 0;  // before the image; behind it as much as the last window needs
  int numThreads = 1;

  int64_t numTaps() const { return kernelHeight * kernelWidth * channels; }
  // Floats of scratch memory that the gradient wants.
  int64_t scratchSize() const;
};

// image: [batch, height, width, channels]. outputGradient and output as `block` says; where output is given, the
// gradient counts only where output > 0. kernelGradient: [kernel height, kernel width, channels, filters];
// biasGradient: [filters] or null.
void thinWeightGradient(const ThinConvolution& shape, const float* image, const float* outputGradient,
                        const float* output, float* kernelGradient, float* biasGradient, float* scratch);

}  // namespace bloomery::nn
