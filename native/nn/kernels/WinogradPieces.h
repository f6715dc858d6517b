// What Winograd's convolution is made of: transforms of one tile and products of transformed tiles, compiled for each
// vector level. Only Winograd.cc puts them together. Transformed tiles and kernels have kPoints values for each
// channel, `stride` floats apart; a product is taken at each point on its own.
#pragma once

#include <cstdint>

namespace bloomery::nn {

inline constexpr int64_t kTile = 4;               // pixels of the output along each axis
inline constexpr int64_t kInputTile = kTile + 2;  // and of the input under them
inline constexpr int64_t kPoints = kInputTile * kInputTile;
inline constexpr int64_t kTaps = 9;

// A rectangle of a tile that lies within the image: rows [top, bottom), columns [left, right).
struct WinogradWindow {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
};

// Floats from one row of an image to the next, from pixel to pixel, and from one vector of channels to the next.
struct WinogradStrides {
  int64_t row = 0, pixel = 0, vector = 0;
};

// What happens to each value at the end: times scale, plus shift, ReLU; scale and shift may be null.
struct WinogradEnding {
  const float* scale = nullptr;
  const float* shift = nullptr;
  bool relu = false;
};

struct WinogradPieces {
  int64_t lanes;     // of a vector
  int64_t maxTiles;  // of a product

  // One input tile of `numVectors` vectors of channels. `image` is where the tile's first pixel is or would be;
  // to[point * stride + vector * vectorStride].
  void (*input)(const float* image, const WinogradStrides& strides, const WinogradWindow& window, int64_t numVectors,
                float* to, int64_t stride, int64_t vectorStride);
  // The same for one vector of the output's gradient; `sums` gets the sums of the tile's pixels.
  void (*outputGradient)(const float* image, const WinogradStrides& strides, const WinogradWindow& window, float* to,
                         int64_t stride, float* sums);
  // One vector of an output tile, from the products.
  void (*output)(const float* products, int64_t stride, const WinogradEnding& ending, float* image,
                 const WinogradStrides& strides, const WinogradWindow& window);
  // kernel: [taps, channels, filters]. Of `numVectors` vectors of filters from `first` on: to[tap, channel, filter];
  // flipped, of so many channels from `first` on: to[tap, filter, channel], the taps in reverse.
  void (*gatherKernel)(const float* kernel, int64_t channels, int64_t filters, bool flipped, int64_t first,
                       int numVectors, float* to);
  // What gatherKernel wrote, `size` floats a tap, at the kInputTile points of a row: to[point, size].
  void (*kernel)(const float* taps, int64_t size, int64_t row, float* to);
  // At one point: [numTiles, numVectors * lanes] = tiles x kernel; tiles: [channels / lanes, numTiles, lanes], numTiles
  // at most maxTiles; kernel: [channels, numVectors * lanes].
  void (*product)(int64_t numTiles, int numVectors, const float* tiles, const float* kernel, int64_t channels,
                  float* products);
  // The gradient of the kernel for one vector of channels and numVectors vectors of filters, over numTiles tiles.
  // input: [points, tiles, lanes]; gradient: [points, tiles, numVectors * lanes]; kernelGradient: at the first channel
  // and filter of [taps, channels, filters], overwritten or added to.
  void (*kernelGradient)(int64_t numTiles, int64_t numSlots, int numVectors, const float* input, const float* gradient,
                         bool add, int64_t channels, int64_t filters, float* kernelGradient);
};

const WinogradPieces& winogradPiecesAvx2();    // needs AVX2 and FMA
const WinogradPieces& winogradPiecesAvx512();  // needs AVX-512F

}  // namespace bloomery::nn
