// Max pooling whose windows neither overlap nor reach over the edge: every value belongs to one window at most, so
// backward writes each gradient once, where a scatter would have to clear them first.
#pragma once

#include <cstdint>

namespace bloomery::nn {

struct MaxPool {
  int64_t numImages, channels, height, width;
  int64_t windowHeight, windowWidth;  // what is left of the image behind the last window belongs to none
  int64_t inputBlock, outputBlock;    // channels that lie side by side, multiples of 8: 8, 16 or all of them
  int64_t outputHeight, outputWidth;

  // Bytes of the places of all maxima.
  int64_t placesSize() const { return numImages * outputHeight * outputWidth * channels; }
};

// At most so many values in a window: a place is a byte.
inline constexpr int64_t kMaxPoolWindow = 256;

// places: where in its window each maximum stood, the first of equals, for backward.
void maxPool(const MaxPool& shape, const float* input, float* output, uint8_t* places);

void maxPoolGradient(const MaxPool& shape, const float* outputGradient, const uint8_t* places, float* inputGradient);

}  // namespace bloomery::nn
