#include "nn/kernels/Winograd.h"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "base/Simd.h"

namespace bloomery::nn {

namespace {

constexpr int64_t kLine = 16;  // floats of a cache line

int64_t divideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

// All images of one side of the convolution.
struct Images {
  int64_t height, width, channels, block;

  WinogradStrides strides(int64_t lanes) const {
    return {width * block, block, block > lanes ? lanes : height * width * block};
  }
  // Of a pixel that may lie outside.
  int64_t offset(int64_t sample, int64_t channel, int64_t y, int64_t x) const {
    int64_t image = sample * channels + channel / block * block;
    return image * height * width + channel % block + (y * width + x) * block;
  }
  // The part of a square that lies inside.
  WinogradWindow window(int64_t y, int64_t x, int64_t size) const {
    auto end = [&](int64_t first, int64_t extent) { return std::clamp<int64_t>(extent - first, 0, size); };
    return {std::max<int64_t>(-y, 0), end(y, height), std::max<int64_t>(-x, 0), end(x, width)};
  }
};

struct Tile {
  int64_t sample, y, x;  // of the first pixel of the output
};

// A convolution cut into tiles, and its channels into vectors and panels of two vectors.
struct Layout {
  explicit Layout(const WinogradConvolution& shape)
      : pieces(shape.lanes() == 16 ? winogradPiecesAvx512() : winogradPiecesAvx2()),
        lanes(pieces.lanes),
        input{shape.height, shape.width, shape.channels, shape.block},
        output{shape.outputHeight, shape.outputWidth, shape.filters, shape.outputBlock},
        paddingTop(shape.paddingTop),
        paddingLeft(shape.paddingLeft),
        rows(divideUp(shape.outputHeight, kTile)),
        columns(divideUp(shape.outputWidth, kTile)),
        numTiles(shape.batch * rows * columns),
        panelWidth(2 * lanes),
        numPanels(divideUp(shape.filters, panelWidth)) {}

  Tile tile(int64_t index) const {
    return {index / (rows * columns), index / columns % rows * kTile, index % columns * kTile};
  }
  // Two, or one at the end.
  int vectorsOf(int64_t panel) const { return output.channels - panel * panelWidth > lanes ? 2 : 1; }

  void transformInput(const float* images, const Tile& tile, float* to, int64_t stride, int64_t vectorStride) const {
    int64_t y = tile.y - paddingTop, x = tile.x - paddingLeft;
    pieces.input(images + input.offset(tile.sample, 0, y, x), input.strides(lanes), input.window(y, x, kInputTile),
                 input.channels / lanes, to, stride, vectorStride);
  }

  const WinogradPieces& pieces;
  int64_t lanes;
  Images input, output;
  int64_t paddingTop, paddingLeft;
  int64_t rows, columns, numTiles;  // columns and rows of tiles in an image; tiles of all images
  int64_t panelWidth, numPanels;    // of filters
};

// The tiles that a thread has in hand at a time.
struct Groups {
  Groups(const WinogradConvolution& shape, const Layout& layout) {
    // The tiles' values at the points stay in the second cache; but there are enough of them to make up for reading
    // the kernel's.
    constexpr int64_t kBytes = 1 << 19, kFewest = 70;
    int64_t bytes = kPoints * shape.channels * static_cast<int64_t>(sizeof(float));
    int64_t most = std::max(kFewest, kBytes / bytes);
    count = divideUp(divideUp(layout.numTiles, most), shape.numThreads) * shape.numThreads;
    most = divideUp(layout.numTiles, count);
    inputStride = most * shape.channels + kLine;
    productStride = most * layout.panelWidth + kLine;
  }
  int64_t count;
  // Of the points: a line more than needed, so that not all of them fall on the same place of the cache.
  int64_t inputStride, productStride;
};

// The transformed kernel stays in the cache as a whole. A larger one is better made row by row, again for each group.
bool keepsKernel(const WinogradConvolution& shape) {
  constexpr int64_t kBytes = 10 << 20;
  return kPoints * shape.channels * shape.filters * static_cast<int64_t>(sizeof(float)) <= kBytes;
}

class Convolver {
 public:
  explicit Convolver(const WinogradConvolution& shape)
      : shape_(shape), layout_(shape), groups_(shape, layout_), keepsKernel_(keepsKernel(shape)) {}

  int64_t scratchSize() const { return sharedSize() + shape_.numThreads * threadSize(); }

  void run(const float* images, const float* kernel, bool flipped, const WinogradEnding& ending, float* output,
           float* scratch) const {
    if (keepsKernel_) {
#pragma omp parallel for schedule(static) num_threads(shape_.numThreads)
      for (int64_t panel = 0; panel < layout_.numPanels; ++panel) {
        float *taps = scratch + panel * panelSize(), *points = taps + tapsSize();
        gatherKernel(kernel, flipped, panel, taps);
        for (int64_t row = 0; row < kInputTile; ++row) transformKernel(taps, panel, row, points + row * rowSize());
      }
    }
#pragma omp parallel for schedule(static) num_threads(shape_.numThreads)
    for (int thread = 0; thread < shape_.numThreads; ++thread) {
      float* own = scratch + sharedSize() + thread * threadSize();
      float *inputs = own + (keepsKernel_ ? 0 : panelSize()), *products = inputs + kPoints * groups_.inputStride;
      int64_t end = groups_.count * (thread + 1) / shape_.numThreads;
      for (int64_t group = groups_.count * thread / shape_.numThreads; group < end; ++group) {
        int64_t first = layout_.numTiles * group / groups_.count;
        int64_t count = layout_.numTiles * (group + 1) / groups_.count - first;
        if (count == 0) continue;
        Rows rows(count, layout_.pieces.maxTiles);
        transformInputs(images, first, rows, inputs);
        for (int64_t panel = 0; panel < layout_.numPanels; ++panel) {
          float *taps = keepsKernel_ ? scratch + panel * panelSize() : own, *points = taps + tapsSize();
          if (!keepsKernel_) gatherKernel(kernel, flipped, panel, taps);
          for (int64_t row = 0; row < kInputTile; ++row) {
            if (!keepsKernel_) transformKernel(taps, panel, row, points);
            multiply(inputs, keepsKernel_ ? points + row * rowSize() : points, rows, panel, row, products);
          }
          writeOutputs(products, ending, first, count, panel, output);
        }
      }
    }
  }

 private:
  // Tiles are multiplied in rows as long as the registers allow, all of about the same length.
  struct Rows {
    Rows(int64_t numTiles, int64_t most) : count(numTiles), length(divideUp(count, divideUp(count, most))) {}
    int64_t lengthAt(int64_t first) const { return std::min(length, count - first); }
    int64_t count, length;
  };

  // Of a panel of the kernel: its taps, and its values at a row of points or at all of them.
  int64_t tapsSize() const { return kTaps * shape_.channels * layout_.panelWidth; }
  int64_t rowSize() const { return kInputTile * shape_.channels * layout_.panelWidth; }
  int64_t panelSize() const { return tapsSize() + (keepsKernel_ ? kInputTile : 1) * rowSize(); }
  int64_t sharedSize() const { return keepsKernel_ ? layout_.numPanels * panelSize() : 0; }
  int64_t threadSize() const {
    return kPoints * (groups_.inputStride + groups_.productStride) + (keepsKernel_ ? 0 : panelSize());
  }

  void gatherKernel(const float* kernel, bool flipped, int64_t panel, float* taps) const {
    int64_t channels = shape_.channels, filters = shape_.filters;
    if (flipped) std::swap(channels, filters);
    layout_.pieces.gatherKernel(kernel, channels, filters, flipped, panel * layout_.panelWidth,
                                layout_.vectorsOf(panel), taps);
  }

  void transformKernel(const float* taps, int64_t panel, int64_t row, float* to) const {
    layout_.pieces.kernel(taps, shape_.channels * layout_.vectorsOf(panel) * layout_.lanes, row, to);
  }

  // inputs: [points, rows, channels / lanes, tiles of the row, lanes]
  void transformInputs(const float* images, int64_t first, const Rows& rows, float* inputs) const {
    for (int64_t row = 0; row < rows.count; row += rows.length) {
      int64_t length = rows.lengthAt(row);
      for (int64_t i = 0; i < length; ++i) {
        layout_.transformInput(images, layout_.tile(first + row + i),
                               inputs + row * shape_.channels + i * layout_.lanes, groups_.inputStride,
                               length * layout_.lanes);
      }
    }
  }

  // products: [points, tiles, filters of the panel]
  void multiply(const float* inputs, const float* kernel, const Rows& rows, int64_t panel, int64_t pointRow,
                float* products) const {
    int numVectors = layout_.vectorsOf(panel);
    int64_t width = numVectors * layout_.lanes;
    for (int64_t i = 0; i < kInputTile; ++i) {
      int64_t point = pointRow * kInputTile + i;
      for (int64_t row = 0; row < rows.count; row += rows.length) {
        layout_.pieces.product(rows.lengthAt(row), numVectors,
                               inputs + point * groups_.inputStride + row * shape_.channels,
                               kernel + i * shape_.channels * width, shape_.channels,
                               products + point * groups_.productStride + row * width);
      }
    }
  }

  void writeOutputs(const float* products, const WinogradEnding& ending, int64_t first, int64_t count, int64_t panel,
                    float* output) const {
    int64_t lanes = layout_.lanes, numVectors = layout_.vectorsOf(panel);
    const Images& images = layout_.output;
    WinogradStrides strides = images.strides(lanes);
    for (int64_t i = 0; i < count; ++i) {
      Tile tile = layout_.tile(first + i);
      WinogradWindow window = images.window(tile.y, tile.x, kTile);
      for (int64_t vector = 0; vector < numVectors; ++vector) {
        int64_t filter = panel * layout_.panelWidth + vector * lanes;
        WinogradEnding own{ending.scale == nullptr ? nullptr : ending.scale + filter,
                           ending.shift == nullptr ? nullptr : ending.shift + filter, ending.relu};
        layout_.pieces.output(products + (i * numVectors + vector) * lanes, groups_.productStride, own,
                              output + images.offset(tile.sample, filter, tile.y, tile.x), strides, window);
      }
    }
  }

  WinogradConvolution shape_;
  Layout layout_;
  Groups groups_;
  bool keepsKernel_;
};

// The kernel's gradient is summed up group by group. All threads transform tiles of the same group and then take their
// share of the kernel, so that nothing has to be added up in the end.
class KernelGradient {
 public:
  explicit KernelGradient(const WinogradConvolution& shape) : shape_(shape), layout_(shape) {
    // As many tiles as stay in the cache: the fewer groups, the less often the sums are transformed and added.
    constexpr int64_t kBytes = 2 << 20, kFewest = 64, kMost = 512;
    int64_t bytes = kPoints * (shape.channels + shape.filters) * static_cast<int64_t>(sizeof(float));
    numGroups_ = std::max<int64_t>(divideUp(layout_.numTiles, std::clamp(kBytes / bytes, kFewest, kMost)), 1);
    // An odd number, so that not all points fall on the same place of the cache.
    numSlots_ = divideUp(layout_.numTiles, numGroups_) | 1;
  }

  int64_t scratchSize() const { return numSlots_ * (kPoints * (shape_.channels + shape_.filters) + shape_.filters); }

  void run(const float* images, const float* outputGradient, float* kernelGradient, float* biasGradient,
           float* scratch) const {
    int64_t lanes = layout_.lanes, width = layout_.panelWidth, size = kPoints * numSlots_;
    float *inputs = scratch, *gradients = inputs + size * shape_.channels;
    float* sums = gradients + size * shape_.filters;  // [tiles, filters]
    if (biasGradient != nullptr) std::fill_n(biasGradient, shape_.filters, 0.0f);
    for (int64_t group = 0; group < numGroups_; ++group) {
      int64_t first = layout_.numTiles * group / numGroups_;
      int64_t count = layout_.numTiles * (group + 1) / numGroups_ - first;
#pragma omp parallel for schedule(static) num_threads(shape_.numThreads)
      for (int64_t i = 0; i < count; ++i) {
        Tile tile = layout_.tile(first + i);
        layout_.transformInput(images, tile, inputs + i * lanes, numSlots_ * lanes, size * lanes);
        transformGradient(outputGradient, tile, i, gradients, sums + i * shape_.filters);
      }
      for (int64_t i = 0; i < count && biasGradient != nullptr; ++i) {
        const float* ofTile = sums + i * shape_.filters;
        for (int64_t filter = 0; filter < shape_.filters; ++filter) biasGradient[filter] += ofTile[filter];
      }
#pragma omp parallel for schedule(static) num_threads(shape_.numThreads) collapse(2)
      for (int64_t panel = 0; panel < layout_.numPanels; ++panel) {
        for (int64_t channel = 0; channel < shape_.channels; channel += lanes) {
          layout_.pieces.kernelGradient(count, numSlots_, layout_.vectorsOf(panel), inputs + channel * size,
                                        gradients + panel * width * size, group > 0, shape_.channels, shape_.filters,
                                        kernelGradient + channel * shape_.filters + panel * width);
        }
      }
    }
  }

 private:
  // gradients: [panels, points, slots, filters of the panel]
  void transformGradient(const float* outputGradient, const Tile& tile, int64_t slot, float* gradients,
                         float* sums) const {
    const Images& images = layout_.output;
    WinogradStrides strides = images.strides(layout_.lanes);
    WinogradWindow window = images.window(tile.y, tile.x, kTile);
    for (int64_t filter = 0; filter < shape_.filters; filter += layout_.lanes) {
      int64_t panel = filter / layout_.panelWidth, first = panel * layout_.panelWidth;
      int64_t width = layout_.vectorsOf(panel) * layout_.lanes;
      float* to = gradients + first * kPoints * numSlots_ + slot * width + filter - first;
      layout_.pieces.outputGradient(outputGradient + images.offset(tile.sample, filter, tile.y, tile.x), strides,
                                    window, to, numSlots_ * width, sums + filter);
    }
  }

  WinogradConvolution shape_;
  Layout layout_;
  int64_t numGroups_, numSlots_;
};

}  // namespace

int64_t WinogradConvolution::lanes() const {
  if (simdLevel() != SimdLevel::kAvx2 || block == 0 || outputBlock == 0) return 0;
  if (block % 16 == 0 && outputBlock % 16 == 0 && usesAvx512()) return 16;
  return block % 8 == 0 && outputBlock % 8 == 0 ? 8 : 0;
}

bool WinogradConvolution::pays() const {
  if (std::min(channels, filters) < 16) return false;
  int64_t numTiles = divideUp(outputHeight, kTile) * divideUp(outputWidth, kTile);
  return lanes() > 0 && outputHeight * outputWidth * kTaps * 2 > numTiles * kPoints * 3;
}

WinogradConvolution WinogradConvolution::backward() const {
  WinogradConvolution result = *this;
  std::swap(result.height, result.outputHeight);
  std::swap(result.width, result.outputWidth);
  std::swap(result.channels, result.filters);
  std::swap(result.block, result.outputBlock);
  result.paddingTop = 2 - paddingTop;
  result.paddingLeft = 2 - paddingLeft;
  return result;
}

int64_t WinogradConvolution::scratchSize() const { return Convolver(*this).scratchSize(); }

int64_t WinogradConvolution::gradientScratchSize() const { return KernelGradient(*this).scratchSize(); }

void winogradConvolve(const WinogradConvolution& shape, const float* image, const float* kernel, bool flipped,
                      const WinogradEnding& ending, float* output, float* scratch) {
  Convolver(shape).run(image, kernel, flipped, ending, output, scratch);
}

void winogradKernelGradient(const WinogradConvolution& shape, const float* image, const float* outputGradient,
                            float* kernelGradient, float* biasGradient, float* scratch) {
  KernelGradient(shape).run(image, outputGradient, kernelGradient, biasGradient, scratch);
}

}  // namespace bloomery::nn
