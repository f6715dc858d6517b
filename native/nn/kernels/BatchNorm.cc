#include "nn/kernels/BatchNorm.h"

#include <algorithm>

#include "nn/kernels/Levels.h"

namespace bloomery::nn {

namespace {

constexpr int64_t kLanes = 8;  // channels at a time; blocks are walked in groups of so many

// Sums over the pixels of one row and one block, in floats per short run and doubles beyond it.
constexpr int64_t kRun = 64;

// Partial sums of rows [first, end): of the values less the first value of the channel, and of their squares.
struct RowMoments {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const BatchNormShape* shape,
                                                const float* values, double* sums) {
    int64_t channels = shape->channels(), block = shape->block;
    for (int64_t row = first; row < end; ++row) {
      double* own = sums + row * channels * 2;
      std::fill_n(own, channels * 2, 0.0);
      for (int64_t b = 0; b < shape->blocks; ++b) {
        const float* data = values + row * shape->rowSize() + b * shape->spatial * block;
        const float* shift = values + b * shape->spatial * block;
        for (int64_t lane = 0; lane < block; lane += kLanes) {
          int64_t lanes = std::min(kLanes, block - lane);
          if (lanes == kLanes) {
            addRun<kLanes>(data + lane, shift + lane, shape->spatial, block, kLanes, own + b * block + lane,
                           own + channels + b * block + lane);
          } else {
            addRun<0>(data + lane, shift + lane, shape->spatial, block, lanes, own + b * block + lane,
                      own + channels + b * block + lane);
          }
        }
      }
    }
  }

  template <int64_t kFixed>
  [[gnu::always_inline]] static inline void addRun(const float* data, const float* shift, int64_t spatial,
                                                   int64_t stride, int64_t given, double* sums, double* squares) {
    const int64_t lanes = kFixed > 0 ? kFixed : given;
    for (int64_t start = 0; start < spatial; start += kRun) {
      float sum[kLanes] = {}, square[kLanes] = {}, origin[kLanes] = {};
      for (int64_t i = 0; i < lanes; ++i) origin[i] = shift[i];
      int64_t stop = std::min(spatial, start + kRun);
      for (int64_t pixel = start; pixel < stop; ++pixel) {
        for (int64_t i = 0; i < lanes; ++i) {
          float value = data[pixel * stride + i] - origin[i];
          sum[i] += value;
          square[i] += value * value;
        }
      }
      for (int64_t i = 0; i < lanes; ++i) {
        sums[i] += sum[i];
        squares[i] += square[i];
      }
    }
  }
};

struct Normalize {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const BatchNormShape* shape,
                                                const float* values, const float* scale, const float* shift, bool relu,
                                                float* out) {
    int64_t block = shape->block, size = shape->spatial * block;
    for (int64_t item = first; item < end; ++item) {
      const float* ownScale = scale + item % shape->blocks * block;
      const float* ownShift = shift + item % shape->blocks * block;
      const float* from = values + item * size;
      float* to = out + item * size;
      float floor = relu ? 0.0f : -__FLT_MAX__;
      for (int64_t pixel = 0; pixel < shape->spatial; ++pixel) {
        for (int64_t i = 0; i < block; ++i) {
          float value = from[pixel * block + i] * ownScale[i] + ownShift[i];
          to[pixel * block + i] = value < floor ? floor : value;
        }
      }
    }
  }
};

// Partial sums of rows [first, end).
struct RowSums {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const BatchNormShape* shape,
                                                const float* values, const float* gradients, const float* output,
                                                const float* mean, double* sums) {
    int64_t channels = shape->channels(), block = shape->block;
    for (int64_t row = first; row < end; ++row) {
      double* own = sums + row * channels * 2;
      std::fill_n(own, channels * 2, 0.0);
      for (int64_t b = 0; b < shape->blocks; ++b) {
        int64_t at = row * shape->rowSize() + b * shape->spatial * block;
        for (int64_t lane = 0; lane < block; lane += kLanes) {
          int64_t lanes = std::min(kLanes, block - lane), channel = b * block + lane;
          const float* masks = output == nullptr ? nullptr : output + at + lane;
          if (lanes == kLanes) {
            addRun<kLanes>(values + at + lane, gradients + at + lane, masks, mean + channel, shape->spatial, block,
                           kLanes, own + channel, own + channels + channel);
          } else {
            addRun<0>(values + at + lane, gradients + at + lane, masks, mean + channel, shape->spatial, block, lanes,
                      own + channel, own + channels + channel);
          }
        }
      }
    }
  }

  template <int64_t kFixed>
  [[gnu::always_inline]] static inline void addRun(const float* values, const float* gradients, const float* output,
                                                   const float* mean, int64_t spatial, int64_t stride, int64_t given,
                                                   double* sums, double* sumsWithValues) {
    const int64_t lanes = kFixed > 0 ? kFixed : given;
    for (int64_t start = 0; start < spatial; start += kRun) {
      float sum[kLanes] = {}, withValue[kLanes] = {}, center[kLanes] = {};
      for (int64_t i = 0; i < lanes; ++i) center[i] = mean[i];
      int64_t stop = std::min(spatial, start + kRun);
      for (int64_t pixel = start; pixel < stop; ++pixel) {
        for (int64_t i = 0; i < lanes; ++i) {
          float gradient = gradients[pixel * stride + i];
          if (output != nullptr) gradient = output[pixel * stride + i] > 0 ? gradient : 0.0f;
          sum[i] += gradient;
          withValue[i] += gradient * (values[pixel * stride + i] - center[i]);
        }
      }
      for (int64_t i = 0; i < lanes; ++i) {
        sums[i] += sum[i];
        sumsWithValues[i] += withValue[i];
      }
    }
  }
};

struct InputGradient {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const BatchNormShape* shape,
                                                const float* values, const float* gradients, const float* output,
                                                const float* a, const float* b, const float* c, float* out) {
    int64_t block = shape->block, size = shape->spatial * block;
    for (int64_t item = first; item < end; ++item) {
      int64_t channel = item % shape->blocks * block;
      for (int64_t pixel = 0; pixel < shape->spatial; ++pixel) {
        int64_t at = item * size + pixel * block;
        if (output == nullptr) {
          for (int64_t i = 0; i < block; ++i) {
            out[at + i] = gradients[at + i] * a[channel + i] + (values[at + i] * b[channel + i] + c[channel + i]);
          }
        } else {
          for (int64_t i = 0; i < block; ++i) {
            float gradient = output[at + i] > 0 ? gradients[at + i] : 0.0f;
            out[at + i] = gradient * a[channel + i] + (values[at + i] * b[channel + i] + c[channel + i]);
          }
        }
      }
    }
  }
};

}  // namespace

void batchMoments(const BatchNormShape& shape, const float* values, int64_t numRows, float* mean, float* variance,
                  double* scratch) {
  int64_t channels = shape.channels(), block = shape.block;
  runItems<RowMoments>(numRows, numRows * shape.rowSize(), &shape, values, scratch);
  double count = static_cast<double>(numRows * shape.spatial);
  for (int64_t channel = 0; channel < channels; ++channel) {
    double sum = 0, squares = 0;
    for (int64_t row = 0; row < numRows; ++row) {
      sum += scratch[row * channels * 2 + channel];
      squares += scratch[row * channels * 2 + channels + channel];
    }
    double origin = values[channel / block * shape.spatial * block + channel % block], center = sum / count;
    mean[channel] = static_cast<float>(origin + center);
    variance[channel] = static_cast<float>(std::max(squares / count - center * center, 0.0));
  }
}

void batchNormalize(const BatchNormShape& shape, const float* values, int64_t numRows, const float* scale,
                    const float* shift, bool relu, float* out) {
  runItems<Normalize>(numRows * shape.blocks, numRows * shape.rowSize(), &shape, values, scale, shift, relu, out);
}

void batchNormSums(const BatchNormShape& shape, const float* values, const float* gradients, const float* output,
                   int64_t numRows, const float* mean, float* sums, float* sumsWithValues, double* scratch) {
  int64_t channels = shape.channels();
  runItems<RowSums>(numRows, numRows * shape.rowSize(), &shape, values, gradients, output, mean, scratch);
  for (int64_t channel = 0; channel < channels; ++channel) {
    double sum = 0, withValues = 0;
    for (int64_t row = 0; row < numRows; ++row) {
      sum += scratch[row * channels * 2 + channel];
      withValues += scratch[row * channels * 2 + channels + channel];
    }
    sums[channel] = static_cast<float>(sum);
    sumsWithValues[channel] = static_cast<float>(withValues);
  }
}

void batchNormInputGradient(const BatchNormShape& shape, const float* values, const float* gradients,
                            const float* output, int64_t numRows, const float* a, const float* b, const float* c,
                            float* out) {
  runItems<InputGradient>(numRows * shape.blocks, numRows * shape.rowSize(), &shape, values, gradients, output, a, b, c,
                          out);
}

}  // namespace bloomery::nn
