#include "nn/kernels/MaxPool.h"

#include <algorithm>

#include "nn/kernels/Items.h"
#include "nn/kernels/Lanes.h"

namespace bloomery::nn {

namespace {

using LaneBytes = uint8_t __attribute__((vector_size(8)));

// Eight channels of one image: where they start, and the floats from one pixel to the next.
[[gnu::always_inline]] inline int64_t startOf(int64_t image, int64_t channel, int64_t channels, int64_t pixels,
                                              int64_t block) {
  return (image * channels + channel / block * block) * pixels + channel % block;
}

// An item is one row of windows of one image.
struct PoolRow {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const MaxPool* pool, const float* input,
                                                float* output, uint8_t* places) {
    const MaxPool& shape = *pool;
    int64_t inputPixels = shape.height * shape.width, outputPixels = shape.outputHeight * shape.outputWidth;
    for (int64_t item = first; item < end; ++item) {
      int64_t image = item / shape.outputHeight, row = item % shape.outputHeight;
      uint8_t* place = places + item * shape.outputWidth * shape.channels;
      for (int64_t channel = 0; channel < shape.channels; channel += kLanes) {
        const float* from = input + startOf(image, channel, shape.channels, inputPixels, shape.inputBlock) +
                            row * shape.windowHeight * shape.width * shape.inputBlock;
        float* to = output + startOf(image, channel, shape.channels, outputPixels, shape.outputBlock) +
                    row * shape.outputWidth * shape.outputBlock;
        for (int64_t x = 0; x < shape.outputWidth; ++x) {
          Lanes best;
          BLOOMERY_LOAD(best, from);
          LaneBits bestPlace = {};
          int32_t index = 0;
          for (int64_t y = 0; y < shape.windowHeight; ++y) {
            for (int64_t column = 0; column < shape.windowWidth; ++column, ++index) {
              Lanes value;
              BLOOMERY_LOAD(value, from + (y * shape.width + column) * shape.inputBlock);
              LaneBits larger = value > best, here = LaneBits{} + index;
              best = larger ? value : best;
              bestPlace = larger ? here : bestPlace;
            }
          }
          BLOOMERY_STORE(best, to);
          LaneBytes bytes = __builtin_convertvector(bestPlace, LaneBytes);
          std::memcpy(place, &bytes, sizeof(bytes));
          place += kLanes;
          from += shape.windowWidth * shape.inputBlock;
          to += shape.outputBlock;
        }
      }
    }
  }
};

struct GradientRow {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const MaxPool* pool, const float* output,
                                                const uint8_t* places, float* input) {
    const MaxPool& shape = *pool;
    int64_t inputPixels = shape.height * shape.width, outputPixels = shape.outputHeight * shape.outputWidth;
    int64_t rowSize = shape.width * shape.inputBlock, covered = shape.outputWidth * shape.windowWidth;
    for (int64_t item = first; item < end; ++item) {
      int64_t image = item / shape.outputHeight, row = item % shape.outputHeight;
      int64_t numRows = row + 1 < shape.outputHeight ? shape.windowHeight : shape.height - row * shape.windowHeight;
      const uint8_t* place = places + item * shape.outputWidth * shape.channels;
      for (int64_t channel = 0; channel < shape.channels; channel += kLanes) {
        const float* from = output + startOf(image, channel, shape.channels, outputPixels, shape.outputBlock) +
                            row * shape.outputWidth * shape.outputBlock;
        float* to = input + startOf(image, channel, shape.channels, inputPixels, shape.inputBlock) +
                    row * shape.windowHeight * rowSize;
        const Lanes zero = {};
        for (int64_t y = 0; y < numRows; ++y) {
          int64_t fromColumn = y < shape.windowHeight ? covered : 0;
          for (int64_t column = fromColumn; column < shape.width; ++column) {
            BLOOMERY_STORE(zero, to + y * rowSize + column * shape.inputBlock);
          }
        }
        for (int64_t x = 0; x < shape.outputWidth; ++x) {
          Lanes gradient;
          BLOOMERY_LOAD(gradient, from);
          LaneBytes bytes;
          std::memcpy(&bytes, place, sizeof(bytes));
          LaneBits chosen = __builtin_convertvector(bytes, LaneBits);
          int32_t index = 0;
          for (int64_t y = 0; y < shape.windowHeight; ++y) {
            for (int64_t column = 0; column < shape.windowWidth; ++column, ++index) {
              Lanes value = (Lanes)((LaneBits)gradient & (chosen == index));
              BLOOMERY_STORE(value, to + y * rowSize + column * shape.inputBlock);
            }
          }
          place += kLanes;
          from += shape.outputBlock;
          to += shape.windowWidth * shape.inputBlock;
        }
      }
    }
  }
};

}  // namespace

void maxPool(const MaxPool& shape, const float* input, float* output, uint8_t* places) {
  runItems<PoolRow>(shape.numImages * shape.outputHeight, shape.placesSize(), &shape, input, output, places);
}

void maxPoolGradient(const MaxPool& shape, const float* outputGradient, const uint8_t* places, float* inputGradient) {
  runItems<GradientRow>(shape.numImages * shape.outputHeight, shape.placesSize(), &shape, outputGradient, places,
                        inputGradient);
}

}  // namespace bloomery::nn
