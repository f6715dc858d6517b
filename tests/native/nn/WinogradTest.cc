// Winograd's convolution against the definition, in double precision, on both vector levels; and that plans use it.
#include "nn/kernels/Winograd.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/Simd.h"
#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

struct Case {
  const char* name;
  int64_t batch, height, width;
  int64_t channelBlocks, filterBlocks;
  int64_t top, bottom, left, right;  // padding
  int numThreads;
};

const Case kCases[] = {
    {"wholeTiles", 2, 8, 12, 1, 1, 1, 1, 1, 1, 1},
    {"raggedTiles", 3, 9, 7, 2, 1, 1, 1, 1, 1, 2},
    {"noPadding", 2, 14, 11, 1, 2, 0, 0, 0, 0, 1},
    {"zerosBeforeOnly", 2, 10, 9, 2, 2, 2, 0, 1, 0, 1},
    {"zerosBehindOnly", 2, 10, 9, 2, 2, 0, 2, 0, 1, 2},
    {"zerosAllAround", 1, 5, 6, 1, 3, 2, 2, 2, 2, 1},
    {"imageSmallerThanATile", 3, 2, 3, 3, 2, 1, 1, 1, 1, 2},
    {"onePixelOut", 5, 3, 3, 2, 4, 0, 0, 0, 0, 3},
    {"onePixelIn", 2, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    {"moreThreadsThanTiles", 1, 4, 4, 2, 2, 1, 1, 1, 1, 5},
    {"manyTiles", 4, 41, 39, 1, 2, 1, 1, 1, 1, 2},
    {"manyChannels", 1, 5, 4, 17, 18, 1, 1, 1, 1, 2},
};

// An image of [batch, channels / block, height, width, block], or what stands for it where there is none.
struct Images {
  Images(int64_t height_, int64_t width_, int64_t channels_, int64_t block_)
      : height(height_), width(width_), channels(channels_), block(block_) {}
  int64_t size() const { return height * width * channels; }
  // -1 outside of the image.
  int64_t at(int64_t sample, int64_t y, int64_t x, int64_t channel) const {
    if (y < 0 || y >= height || x < 0 || x >= width) return -1;
    return sample * size() + ((channel / block * height + y) * width + x) * block + channel % block;
  }
  int64_t height, width, channels, block;
};

using Visit = std::function<void(size_t input, size_t tap, size_t output)>;

struct Problem {
  // A block of 0: channels last.
  Problem(const Case& given, int64_t block)
      : unit(block == 0 ? 16 : block),
        shape{.batch = given.batch,
              .height = given.height,
              .width = given.width,
              .channels = given.channelBlocks * unit,
              .outputHeight = given.height + given.top + given.bottom - 2,
              .outputWidth = given.width + given.left + given.right - 2,
              .filters = given.filterBlocks * unit,
              .block = block == 0 ? given.channelBlocks * unit : block,
              .outputBlock = block == 0 ? given.filterBlocks * unit : block,
              .paddingTop = given.top,
              .paddingLeft = given.left,
              .numThreads = given.numThreads},
        input(shape.height, shape.width, shape.channels, shape.block),
        output(shape.outputHeight, shape.outputWidth, shape.filters, shape.outputBlock),
        image(randomFloats(shape.batch * input.size(), 1)),
        kernel(randomFloats(9 * shape.channels * shape.filters, 2)),
        outputGradient(randomFloats(shape.batch * output.size(), 3)) {}

  // Every product of the definition.
  void visit(const Visit& visitor) const {
    for (int64_t i = 0; i < shape.batch * output.height * output.width; ++i) {
      int64_t sample = i / (output.height * output.width), y = i / output.width % output.height, x = i % output.width;
      for (int64_t tap = 0; tap < 9; ++tap) {
        for (int64_t channel = 0; channel < shape.channels; ++channel) {
          int64_t from = input.at(sample, y + tap / 3 - shape.paddingTop, x + tap % 3 - shape.paddingLeft, channel);
          if (from < 0) continue;
          for (int64_t filter = 0; filter < shape.filters; ++filter) {
            visitor(static_cast<size_t>(from),
                    static_cast<size_t>((tap * shape.channels + channel) * shape.filters + filter),
                    static_cast<size_t>(output.at(sample, y, x, filter)));
          }
        }
      }
    }
  }

  int64_t unit;
  WinogradConvolution shape;
  Images input, output;
  std::vector<float> image, kernel, outputGradient;
};

std::vector<float> unset(int64_t size) { return std::vector<float>(static_cast<size_t>(size), NAN); }

// The error is measured by the largest value, as rounding is that of sums over all of a tile's pixels.
void expectClose(const std::vector<float>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-5 * largest) << i;
}

class WinogradTest : public testing::TestWithParam<std::tuple<Case, int>> {
 protected:
  void SetUp() override {
    if (simdLevel() != SimdLevel::kAvx2) GTEST_SKIP() << "this machine has no AVX2";
    if (std::get<1>(GetParam()) == 16 && !usesAvx512()) GTEST_SKIP() << "this machine has no AVX-512";
  }
  Problem problem_{std::get<0>(GetParam()), std::get<1>(GetParam())};
  const WinogradConvolution& shape_ = problem_.shape;
};

TEST_P(WinogradTest, forwardFollowsTheDefinition) {
  std::vector<double> sums(problem_.outputGradient.size(), 0.0);
  problem_.visit([&](size_t input, size_t tap, size_t output) {
    sums[output] += double{problem_.image[input]} * problem_.kernel[tap];
  });
  std::vector<float> scale = randomFloats(shape_.filters, 4), shift = randomFloats(shape_.filters, 5);
  for (bool hasScale : {false, true}) {
    for (bool hasShift : {false, true}) {
      for (bool relu : {false, true}) {
        std::vector<float> output = unset(shape_.batch * problem_.output.size()), scratch = unset(shape_.scratchSize());
        WinogradEnding ending{hasScale ? scale.data() : nullptr, hasShift ? shift.data() : nullptr, relu};
        winogradConvolve(shape_, problem_.image.data(), problem_.kernel.data(), false, ending, output.data(),
                         scratch.data());
        std::vector<double> expected = sums;
        for (size_t i = 0; i < expected.size(); ++i) {
          int64_t pixels = shape_.outputHeight * shape_.outputWidth, at = static_cast<int64_t>(i);
          int64_t side = shape_.outputBlock, block = at / (pixels * side) % (shape_.filters / side);
          size_t filter = static_cast<size_t>(block * side + at % side);
          expected[i] = expected[i] * (hasScale ? scale[filter] : 1.0f) + (hasShift ? shift[filter] : 0.0f);
          if (relu) expected[i] = std::max(expected[i], 0.0);
        }
        expectClose(output, expected);
      }
    }
  }
}

TEST_P(WinogradTest, inputGradientFollowsTheDefinition) {
  std::vector<double> expected(problem_.image.size(), 0.0);
  problem_.visit([&](size_t input, size_t tap, size_t output) {
    expected[input] += double{problem_.outputGradient[output]} * problem_.kernel[tap];
  });
  WinogradConvolution backward = shape_.backward();
  std::vector<float> gradient = unset(shape_.batch * problem_.input.size()), scratch = unset(backward.scratchSize());
  winogradConvolve(backward, problem_.outputGradient.data(), problem_.kernel.data(), true, {}, gradient.data(),
                   scratch.data());
  expectClose(gradient, expected);
}

TEST_P(WinogradTest, kernelGradientFollowsTheDefinition) {
  std::vector<double> expected(problem_.kernel.size(), 0.0), sums(static_cast<size_t>(shape_.filters), 0.0);
  problem_.visit([&](size_t input, size_t tap, size_t output) {
    expected[tap] += double{problem_.image[input]} * problem_.outputGradient[output];
  });
  for (int64_t i = 0; i < shape_.batch * shape_.outputHeight * shape_.outputWidth; ++i) {
    int64_t pixels = shape_.outputHeight * shape_.outputWidth, y = i % pixels / shape_.outputWidth;
    for (int64_t filter = 0; filter < shape_.filters; ++filter) {
      int64_t from = problem_.output.at(i / pixels, y, i % shape_.outputWidth, filter);
      sums[static_cast<size_t>(filter)] += problem_.outputGradient[static_cast<size_t>(from)];
    }
  }
  std::vector<float> kernelGradient = unset(9 * shape_.channels * shape_.filters), bias = unset(shape_.filters);
  std::vector<float> scratch = unset(shape_.gradientScratchSize());
  winogradKernelGradient(shape_, problem_.image.data(), problem_.outputGradient.data(), kernelGradient.data(), nullptr,
                         scratch.data());
  expectClose(kernelGradient, expected);
  winogradKernelGradient(shape_, problem_.image.data(), problem_.outputGradient.data(), kernelGradient.data(),
                         bias.data(), scratch.data());
  expectClose(kernelGradient, expected);
  expectClose(bias, sums);
}

INSTANTIATE_TEST_SUITE_P(shapes, WinogradTest, testing::Combine(testing::ValuesIn(kCases), testing::Values(8, 16, 0)),
                         [](const auto& instance) {
                           return std::get<0>(instance.param).name + std::to_string(std::get<1>(instance.param));
                         });

// Same image, same bits, whatever else is in the batch and however many threads there are.
TEST(WinogradBitsTest, dependOnTheImageAlone) {
  if (simdLevel() != SimdLevel::kAvx2) GTEST_SKIP() << "this machine has no AVX2";
  Problem all({"", 5, 13, 10, 4, 4, 1, 1, 1, 1, 1}, 8);
  auto outputOf = [&](int64_t first, int64_t batch, int numThreads) {
    WinogradConvolution shape = all.shape;
    shape.batch = batch;
    shape.numThreads = numThreads;
    std::vector<float> output = unset(batch * all.output.size()), scratch = unset(shape.scratchSize());
    winogradConvolve(shape, all.image.data() + first * all.input.size(), all.kernel.data(), false, {}, output.data(),
                     scratch.data());
    return output;
  };
  std::vector<float> together = outputOf(0, 5, 1), alone = outputOf(3, 1, 1);
  EXPECT_EQ(together, outputOf(0, 5, 3));
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + 3 * all.output.size()));

  auto gradientOf = [&](int numThreads) {
    WinogradConvolution shape = all.shape;
    shape.numThreads = numThreads;
    std::vector<float> gradient = unset(9 * shape.channels * shape.filters), bias = unset(shape.filters);
    std::vector<float> scratch = unset(shape.gradientScratchSize());
    winogradKernelGradient(shape, all.image.data(), all.outputGradient.data(), gradient.data(), bias.data(),
                           scratch.data());
    gradient.insert(gradient.end(), bias.begin(), bias.end());
    return gradient;
  };
  EXPECT_EQ(gradientOf(1), gradientOf(3));
}

struct Layer {
  int64_t height, width, channels, filters;
  bool same, expected;
};

// A network of one convolution gives the bits of our kernel exactly where the kernel pays.
class WinogradPlanTest : public testing::TestWithParam<std::tuple<Layer, bool>> {};

TEST_P(WinogradPlanTest, takesTheKernelWhereItPays) {
  auto [layer, training] = GetParam();
  if (simdLevel() != SimdLevel::kAvx2) GTEST_SKIP() << "this machine has no AVX2";
  auto text = [](int64_t number) { return std::to_string(number); };
  TestNetwork network(
      "[{'kind': 'Input', 'shape': [" + text(layer.height) + ", " + text(layer.width) + ", " + text(layer.channels) +
          "]}, {'kind': 'Conv2D', 'kernelSize': 3, 'useBias': false, 'filters': " + text(layer.filters) +
          (layer.same ? ", 'padding': 'same'" : "") + "}]",
      1);
  auto plan = makeDnnlPlan(network.graph, network.parameters, &network.gradients, {1, training, 0});
  plan->forward(network.batch(), Mode::kInference);
  // The kernel's bits are those of any layout.
  int64_t padding = layer.same ? 1 : 0;
  WinogradConvolution shape{.batch = 1,
                            .height = layer.height,
                            .width = layer.width,
                            .channels = layer.channels,
                            .outputHeight = layer.height + 2 * padding - 2,
                            .outputWidth = layer.width + 2 * padding - 2,
                            .filters = layer.filters,
                            .block = layer.channels,
                            .outputBlock = layer.filters,
                            .paddingTop = padding,
                            .paddingLeft = padding};
  EXPECT_EQ(shape.pays(), layer.expected);
  std::vector<float> scratch = unset(shape.scratchSize());
  std::vector<float> output = unset(shape.outputHeight * shape.outputWidth * shape.filters);
  winogradConvolve(shape, network.inputs[0].data(), network.parameters.all().data(), false, {}, output.data(),
                   scratch.data());
  EXPECT_EQ(std::equal(output.begin(), output.end(), plan->logits().data), layer.expected);
}

// The four kinds of fish-resnet34, mnist-cnn's, and an image of which a tile would be mostly zeros.
INSTANTIATE_TEST_SUITE_P(
    layers, WinogradPlanTest,
    testing::Combine(testing::Values(Layer{49, 37, 64, 64, true, true}, Layer{25, 19, 128, 128, true, true},
                                     Layer{13, 10, 256, 256, true, true}, Layer{7, 5, 512, 512, true, true},
                                     Layer{26, 26, 32, 64, false, true}, Layer{2, 2, 64, 64, true, false}),
                     testing::Bool()));

}  // namespace

}  // namespace bloomery::nn
