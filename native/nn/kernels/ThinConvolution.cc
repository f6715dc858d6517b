#include "nn/kernels/ThinConvolution.h"

#include <immintrin.h>
#include <omp.h>

#include <algorithm>

#define BLOOMERY_AVX2 __attribute__((target("avx2,fma")))

namespace bloomery::nn {

namespace {

constexpr int64_t kVector = 8;
// A patch of the kernel whose sums stay in registers: so many rows, and so many values side by side in a row.
constexpr int kMaxRows = 3, kMaxRun = 4;

// One image with its padding, as the windows see it.
struct Extents {
  explicit Extents(const ThinConvolution& shape)
      : height((shape.outputHeight - 1) * shape.strideHeight + shape.kernelHeight),
        width((shape.outputWidth - 1) * shape.strideWidth + shape.kernelWidth),
        needed(shape.paddingTop > 0 || shape.paddingLeft > 0 || height > shape.height || width > shape.width) {}
  int64_t height, width;
  bool needed;  // there is any padding
};

struct Patch {
  const float* image;     // at the patch's first value for the first output pixel
  int64_t imageRow;       // floats from one row of the image to the next
  const float* gradient;  // of eight filters, `block` floats from pixel to pixel
  const float* output;    // the same, or null
  float* sums;            // of the patch's first value; a kernel row is `sumRow` floats, a value `filters`
  int64_t sumRow;
  float* bias;  // sums of the gradient itself, or null
};

// Adds one image's part of the gradient of kRows x kRun kernel values for eight filters.
template <int kRows, int kRun>
BLOOMERY_AVX2 void addPatch(const ThinConvolution& shape, const Patch& patch) {
  __m256 sums[kRows][kRun], bias = _mm256_setzero_ps();
  for (auto& row : sums) {
    for (auto& sum : row) sum = _mm256_setzero_ps();
  }
  const float *gradient = patch.gradient, *output = patch.output;
  int64_t step = shape.strideWidth * shape.channels;
  for (int64_t y = 0; y < shape.outputHeight; ++y) {
    const float* image = patch.image + y * shape.strideHeight * patch.imageRow;
    for (int64_t x = 0; x < shape.outputWidth; ++x) {
      __m256 values = _mm256_loadu_ps(gradient);
      if (output != nullptr) {
        values = _mm256_and_ps(values, _mm256_cmp_ps(_mm256_loadu_ps(output), _mm256_setzero_ps(), _CMP_GT_OQ));
        output += shape.block;
      }
      bias = _mm256_add_ps(bias, values);
#pragma GCC unroll 3
      for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
        for (int i = 0; i < kRun; ++i) {
          sums[row][i] = _mm256_fmadd_ps(_mm256_broadcast_ss(image + row * patch.imageRow + i), values, sums[row][i]);
        }
      }
      gradient += shape.block;
      image += step;
    }
  }
  for (int row = 0; row < kRows; ++row) {
    for (int i = 0; i < kRun; ++i) {
      float* sum = patch.sums + row * patch.sumRow + i * shape.filters;
      _mm256_storeu_ps(sum, _mm256_add_ps(_mm256_loadu_ps(sum), sums[row][i]));
    }
  }
  if (patch.bias != nullptr) _mm256_storeu_ps(patch.bias, _mm256_add_ps(_mm256_loadu_ps(patch.bias), bias));
}

using AddPatch = void (*)(const ThinConvolution&, const Patch&);
constexpr AddPatch kAddPatch[kMaxRows][kMaxRun] = {
    {addPatch<1, 1>, addPatch<1, 2>, addPatch<1, 3>, addPatch<1, 4>},
    {addPatch<2, 1>, addPatch<2, 2>, addPatch<2, 3>, addPatch<2, 4>},
    {addPatch<3, 1>, addPatch<3, 2>, addPatch<3, 3>, addPatch<3, 4>},
};

// The first of the equal pieces, none above `most`, that `size` splits into.
int64_t pieceOf(int64_t size, int64_t most) {
  int64_t numPieces = (size + most - 1) / most;
  return (size + numPieces - 1) / numPieces;
}

// sums: [taps + 1, filters], the last row for the bias.
void addImage(const ThinConvolution& shape, const float* image, int64_t imageRow, const float* gradient,
              const float* output, float* sums) {
  int64_t run = shape.kernelWidth * shape.channels;  // values side by side in a kernel row
  int64_t pixels = shape.outputHeight * shape.outputWidth;
  int64_t rowPiece = pieceOf(shape.kernelHeight, kMaxRows), runPiece = pieceOf(run, kMaxRun);
  for (int64_t filter = 0; filter < shape.filters; filter += kVector) {
    int64_t offset = filter / shape.block * pixels * shape.block + filter % shape.block;
    for (int64_t row = 0; row < shape.kernelHeight; row += rowPiece) {
      for (int64_t first = 0; first < run; first += runPiece) {
        int64_t numRows = std::min(rowPiece, shape.kernelHeight - row), length = std::min(runPiece, run - first);
        Patch patch{image + row * imageRow + first,
                    imageRow,
                    gradient + offset,
                    output == nullptr ? nullptr : output + offset,
                    sums + (row * run + first) * shape.filters + filter,
                    run * shape.filters,
                    row == 0 && first == 0 ? sums + shape.numTaps() * shape.filters + filter : nullptr};
        kAddPatch[numRows - 1][length - 1](shape, patch);
      }
    }
  }
}

// The image in the middle of zeros; what no window reaches is left out.
void pad(const ThinConvolution& shape, const Extents& extents, const float* image, float* padded) {
  std::fill_n(padded, extents.height * extents.width * shape.channels, 0.0f);
  int64_t numColumns = std::min(shape.width, extents.width - shape.paddingLeft);
  int64_t numRows = std::min(shape.height, extents.height - shape.paddingTop);
  for (int64_t row = 0; row < numRows; ++row) {
    std::copy_n(image + row * shape.width * shape.channels, numColumns * shape.channels,
                padded + ((row + shape.paddingTop) * extents.width + shape.paddingLeft) * shape.channels);
  }
}

int64_t sumsSize(const ThinConvolution& shape) { return (shape.numTaps() + 1) * shape.filters; }

int64_t threadSize(const ThinConvolution& shape) {
  Extents extents(shape);
  int64_t size = sumsSize(shape) + (extents.needed ? extents.height * extents.width * shape.channels : 0);
  return (size + 15) / 16 * 16;
}

}  // namespace

int64_t ThinConvolution::scratchSize() const { return numThreads * threadSize(*this); }

void thinWeightGradient(const ThinConvolution& shape, const float* image, const float* outputGradient,
                        const float* output, float* kernelGradient, float* biasGradient, float* scratch) {
  Extents extents(shape);
  int64_t imageSize = shape.height * shape.width * shape.channels, perThread = threadSize(shape);
  int64_t outputSize = shape.outputHeight * shape.outputWidth * shape.filters;
#pragma omp parallel for schedule(static) num_threads(shape.numThreads)
  for (int thread = 0; thread < shape.numThreads; ++thread) {
    float *sums = scratch + thread * perThread, *padded = sums + sumsSize(shape);
    std::fill_n(sums, sumsSize(shape), 0.0f);
    int64_t end = shape.batch * (thread + 1) / shape.numThreads;
    for (int64_t sample = shape.batch * thread / shape.numThreads; sample < end; ++sample) {
      const float* given = image + sample * imageSize;
      if (extents.needed) pad(shape, extents, given, padded);
      addImage(shape, extents.needed ? padded : given, (extents.needed ? extents.width : shape.width) * shape.channels,
               outputGradient + sample * outputSize, output == nullptr ? nullptr : output + sample * outputSize, sums);
    }
  }
  for (int64_t i = 0; i < sumsSize(shape); ++i) {
    float sum = 0;
    for (int thread = 0; thread < shape.numThreads; ++thread) sum += scratch[thread * perThread + i];
    int64_t bias = i - shape.numTaps() * shape.filters;
    if (bias < 0) {
      kernelGradient[i] = sum;
    } else if (biasGradient != nullptr) {
      biasGradient[bias] = sum;
    }
  }
}

}  // namespace bloomery::nn
