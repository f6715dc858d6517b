#include "nn/kernels/ThinConvolution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/Simd.h"
#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

// The same stride and padding along both axes.
struct Case {
  int64_t height, width, channels, filters, block, kernelHeight, kernelWidth, stride, padding;
  int numThreads;
  bool relu;
};

const Case kCases[] = {
    {9, 8, 1, 32, 8, 3, 3, 1, 0, 1, true},   {9, 8, 1, 32, 16, 3, 3, 1, 0, 2, true},
    {9, 8, 1, 24, 24, 3, 3, 1, 0, 1, false}, {9, 8, 3, 16, 8, 3, 3, 1, 1, 2, true},
    {9, 8, 4, 16, 16, 3, 3, 2, 1, 1, true},  {15, 13, 1, 8, 8, 7, 5, 2, 3, 3, true},
    {7, 6, 2, 8, 8, 2, 1, 3, 0, 1, false},   {11, 10, 1, 8, 8, 1, 1, 1, 0, 1, true},
    {4, 4, 3, 8, 8, 4, 4, 1, 0, 5, true},
};

class ThinConvolutionTest : public testing::TestWithParam<Case> {};

TEST_P(ThinConvolutionTest, gradientFollowsTheDefinition) {
  if (simdLevel() != SimdLevel::kAvx2) GTEST_SKIP() << "this machine has no AVX2";
  const Case& given = GetParam();
  ThinConvolution shape{.batch = 3,
                        .height = given.height,
                        .width = given.width,
                        .channels = given.channels,
                        .outputHeight = (given.height + 2 * given.padding - given.kernelHeight) / given.stride + 1,
                        .outputWidth = (given.width + 2 * given.padding - given.kernelWidth) / given.stride + 1,
                        .filters = given.filters,
                        .block = given.block,
                        .kernelHeight = given.kernelHeight,
                        .kernelWidth = given.kernelWidth,
                        .strideHeight = given.stride,
                        .strideWidth = given.stride,
                        .paddingTop = given.padding,
                        .paddingLeft = given.padding,
                        .numThreads = given.numThreads};
  int64_t pixels = shape.outputHeight * shape.outputWidth, outputs = shape.batch * pixels * shape.filters;
  std::vector<float> image = randomFloats(shape.batch * shape.height * shape.width * shape.channels, 1);
  std::vector<float> gradient = randomFloats(outputs, 2), output = randomFloats(outputs, 3);
  std::vector<float> kernelGradient(static_cast<size_t>(shape.numTaps() * shape.filters), NAN);
  std::vector<float> biasGradient(static_cast<size_t>(shape.filters), NAN);
  std::vector<float> scratch(static_cast<size_t>(shape.scratchSize()), NAN);
  thinWeightGradient(shape, image.data(), gradient.data(), given.relu ? output.data() : nullptr, kernelGradient.data(),
                     biasGradient.data(), scratch.data());

  std::vector<double> kernel(kernelGradient.size(), 0.0), bias(biasGradient.size(), 0.0);
  for (int64_t i = 0; i < outputs; ++i) {  // [batch, filters / block, height, width, block]
    int64_t sample = i / (pixels * shape.filters), within = i % (pixels * shape.filters);
    int64_t pixel = within % (pixels * shape.block) / shape.block;
    int64_t filter = within / (pixels * shape.block) * shape.block + within % shape.block;
    double value = given.relu && output[static_cast<size_t>(i)] <= 0 ? 0.0 : gradient[static_cast<size_t>(i)];
    bias[static_cast<size_t>(filter)] += value;
    for (int64_t tap = 0; tap < shape.numTaps(); ++tap) {
      int64_t channel = tap % shape.channels, column = tap / shape.channels % shape.kernelWidth;
      int64_t y = pixel / shape.outputWidth * given.stride + tap / shape.channels / shape.kernelWidth - given.padding;
      int64_t x = pixel % shape.outputWidth * given.stride + column - given.padding;
      if (y < 0 || y >= shape.height || x < 0 || x >= shape.width) continue;
      int64_t at = ((sample * shape.height + y) * shape.width + x) * shape.channels + channel;
      kernel[static_cast<size_t>(tap * shape.filters + filter)] += value * image[static_cast<size_t>(at)];
    }
  }
  for (size_t i = 0; i < kernel.size(); ++i) ASSERT_NEAR(kernelGradient[i], kernel[i], 1e-4) << i;
  for (size_t i = 0; i < bias.size(); ++i) ASSERT_NEAR(biasGradient[i], bias[i], 1e-4) << i;
}

INSTANTIATE_TEST_SUITE_P(shapes, ThinConvolutionTest, testing::ValuesIn(kCases));

}  // namespace

}  // namespace bloomery::nn
