#include "nn/kernels/BatchNorm.h"

#include <algorithm>

#include "nn/kernels/Items.h"
#include "nn/kernels/Lanes.h"

namespace bloomery::nn {

namespace {

// Pixels whose sums are floats; beyond them doubles go on.
constexpr int64_t kRun = 64;

// One row's and one block's values, from a given channel on.
struct Strip {
  const float* values;
  const float* gradients;  // null for moments
  const float* center;     // of the channels
  ReluBehind relu;         // of the channels
  int64_t spatial, stride;
};

// Adds the strip's two sums of eight channels: moments: of value - center and its square; else: of the gradient and of
// gradient * (value - center).
template <bool kMoments, bool kMasked>
[[gnu::always_inline]] inline void addLanes(const Strip& strip, double* sums, double* others) {
  Lanes center, scale = {}, shift = {};
  BLOOMERY_LOAD(center, strip.center);
  if constexpr (kMasked) {
    BLOOMERY_LOAD(scale, strip.relu.scale);
    BLOOMERY_LOAD(shift, strip.relu.shift);
  }
  for (int64_t start = 0; start < strip.spatial; start += kRun) {
    Lanes sum = {}, other = {};
    int64_t stop = std::min(strip.spatial, start + kRun);
    for (int64_t pixel = start; pixel < stop; ++pixel) {
      Lanes value, gradient;
      BLOOMERY_LOAD(value, strip.values + pixel * strip.stride);
      Lanes distance = value - center;
      if constexpr (kMoments) {
        sum += distance;
        other += distance * distance;
      } else {
        BLOOMERY_LOAD(gradient, strip.gradients + pixel * strip.stride);
        if constexpr (kMasked) gradient = BLOOMERY_WHERE_POSITIVE(gradient, value * scale + shift);
        sum += gradient;
        other += gradient * distance;
      }
    }
    for (int64_t i = 0; i < kLanes; ++i) {
      sums[i] += sum[i];
      others[i] += other[i];
    }
  }
}

// The same for one channel.
inline void addOne(const Strip& strip, int64_t lane, double& sum, double& other) {
  for (int64_t pixel = 0; pixel < strip.spatial; ++pixel) {
    int64_t at = pixel * strip.stride + lane;
    float value = strip.values[at], distance = value - strip.center[lane];
    float factor = strip.gradients == nullptr ? distance : strip.gradients[at];
    if (strip.relu.scale != nullptr && !(value * strip.relu.scale[lane] + strip.relu.shift[lane] > 0)) factor = 0;
    sum += factor;
    other += double{factor} * distance;
  }
}

// Partial sums of rows [first, end): [row, 2, channels].
struct RowSums {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const BatchNormShape* shape,
                                                const float* values, const float* gradients, const ReluBehind* relu,
                                                const float* center, double* sums) {
    int64_t channels = shape->channels(), block = shape->block;
    for (int64_t row = first; row < end; ++row) {
      double* own = sums + row * channels * 2;
      std::fill_n(own, channels * 2, 0.0);
      for (int64_t channel = 0; channel < channels; channel += std::min(kLanes, block)) {
        int64_t at = row * shape->rowSize() + channel / block * shape->spatial * block + channel % block;
        bool masked = relu->scale != nullptr;
        Strip strip{values + at,      gradients == nullptr ? nullptr : gradients + at,
                    center + channel, masked ? ReluBehind{relu->scale + channel, relu->shift + channel} : ReluBehind{},
                    shape->spatial,   block};
        int64_t lanes = std::min(kLanes, block - channel % block);
        if (lanes < kLanes) {
          for (int64_t i = 0; i < lanes; ++i) addOne(strip, i, own[channel + i], own[channels + channel + i]);
        } else if (gradients == nullptr) {
          addLanes<true, false>(strip, own + channel, own + channels + channel);
        } else if (!masked) {
          addLanes<false, false>(strip, own + channel, own + channels + channel);
        } else {
          addLanes<false, true>(strip, own + channel, own + channels + channel);
        }
      }
    }
  }
};

// What is done to every value: out = factor * a + value * b + c, and the like.
struct Pass {
  const float* values;
  const float* gradients;  // null: forward
  const float* addend;     // null: none
  const float *a, *b, *c;  // forward: a scales, c shifts
  bool cuts;               // forward: a ReLU is behind
  ReluBehind relu;         // backward
  float* out;
};

// The factors of eight channels.
struct Factors {
  Lanes a = {}, b = {}, c = {}, scale = {}, shift = {};
};

template <bool kForward, bool kMasked>
[[gnu::always_inline]] inline void loadFactors(const Pass& pass, int64_t channel, Factors& factors) {
  BLOOMERY_LOAD(factors.a, pass.a + channel);
  BLOOMERY_LOAD(factors.c, pass.c + channel);
  if constexpr (!kForward) BLOOMERY_LOAD(factors.b, pass.b + channel);
  if constexpr (!kForward && kMasked) {
    BLOOMERY_LOAD(factors.scale, pass.relu.scale + channel);
    BLOOMERY_LOAD(factors.shift, pass.relu.shift + channel);
  }
}

template <bool kForward, bool kMasked>
[[gnu::always_inline]] inline void passLanes(const Pass& pass, int64_t at, const Factors& factors) {
  Lanes value, gradient, addend;
  BLOOMERY_LOAD(value, pass.values + at);
  if constexpr (kForward) {
    value = value * factors.a + factors.c;
    if constexpr (kMasked) value = BLOOMERY_WHERE_POSITIVE(value, value);
  } else {
    BLOOMERY_LOAD(gradient, pass.gradients + at);
    if constexpr (kMasked) gradient = BLOOMERY_WHERE_POSITIVE(gradient, value * factors.scale + factors.shift);
    value = gradient * factors.a + (value * factors.b + factors.c);
    if (pass.addend != nullptr) {
      BLOOMERY_LOAD(addend, pass.addend + at);
      value += addend;
    }
  }
  BLOOMERY_STORE(value, pass.out + at);
}

inline void passOne(const Pass& pass, int64_t at, int64_t channel) {
  float value = pass.values[at];
  if (pass.gradients == nullptr) {
    value = value * pass.a[channel] + pass.c[channel];
    pass.out[at] = pass.cuts && !(value > 0) ? 0.0f : value;
  } else {
    bool isCut = pass.relu.scale != nullptr && !(value * pass.relu.scale[channel] + pass.relu.shift[channel] > 0);
    float gradient = isCut ? 0.0f : pass.gradients[at];
    value = gradient * pass.a[channel] + (value * pass.b[channel] + pass.c[channel]);
    pass.out[at] = pass.addend == nullptr ? value : value + pass.addend[at];
  }
}

// kVectors > 0: blocks of so many vectors, whose factors stay in registers.
template <bool kForward, bool kMasked, int kVectors>
[[gnu::always_inline]] inline void passBlock(const BatchNormShape& shape, const Pass& pass, int64_t first,
                                             int64_t channel) {
  if constexpr (kVectors > 0) {
    Factors factors[kVectors];
    for (int i = 0; i < kVectors; ++i) loadFactors<kForward, kMasked>(pass, channel + i * kLanes, factors[i]);
    for (int64_t pixel = 0; pixel < shape.spatial; ++pixel) {
      for (int i = 0; i < kVectors; ++i) {
        passLanes<kForward, kMasked>(pass, first + (pixel * kVectors + i) * kLanes, factors[i]);
      }
    }
  } else {
    int64_t whole = shape.block / kLanes * kLanes;
    for (int64_t pixel = 0; pixel < shape.spatial; ++pixel) {
      int64_t at = first + pixel * shape.block;
      for (int64_t i = 0; i < whole; i += kLanes) {
        Factors factors;
        loadFactors<kForward, kMasked>(pass, channel + i, factors);
        passLanes<kForward, kMasked>(pass, at + i, factors);
      }
      for (int64_t i = whole; i < shape.block; ++i) passOne(pass, at + i, channel + i);
    }
  }
}

template <bool kForward, bool kMasked>
struct BlockPass {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const BatchNormShape* shape,
                                                const Pass* pass) {
    for (int64_t item = first; item < end; ++item) {
      int64_t at = item * shape->spatial * shape->block, channel = item % shape->blocks * shape->block;
      if (shape->block == 2 * kLanes) {
        passBlock<kForward, kMasked, 2>(*shape, *pass, at, channel);
      } else if (shape->block == kLanes) {
        passBlock<kForward, kMasked, 1>(*shape, *pass, at, channel);
      } else {
        passBlock<kForward, kMasked, 0>(*shape, *pass, at, channel);
      }
    }
  }
};

// The rows' partial sums together, always in the same order.
template <typename Use>
void addUp(const double* sums, int64_t numRows, int64_t channels, Use use) {
  for (int64_t channel = 0; channel < channels; ++channel) {
    double sum = 0, other = 0;
    for (int64_t row = 0; row < numRows; ++row) {
      sum += sums[row * channels * 2 + channel];
      other += sums[row * channels * 2 + channels + channel];
    }
    use(channel, sum, other);
  }
}

}  // namespace

void batchMoments(const BatchNormShape& shape, const float* values, int64_t numRows, float* mean, float* variance,
                  double* scratch) {
  // Sums around the first value of each channel, so that squares of a large mean do not drown the variance.
  for (int64_t channel = 0; channel < shape.channels(); ++channel) {
    mean[channel] = values[channel / shape.block * shape.spatial * shape.block + channel % shape.block];
  }
  ReluBehind noRelu;
  runItems<RowSums>(numRows, numRows * shape.rowSize(), &shape, values, static_cast<const float*>(nullptr),
                    static_cast<const ReluBehind*>(&noRelu), static_cast<const float*>(mean), scratch);
  double count = static_cast<double>(numRows * shape.spatial);
  addUp(scratch, numRows, shape.channels(), [&](int64_t channel, double sum, double squares) {
    double center = sum / count;
    mean[channel] = static_cast<float>(mean[channel] + center);
    variance[channel] = static_cast<float>(std::max(squares / count - center * center, 0.0));
  });
}

void batchNormalize(const BatchNormShape& shape, const float* values, int64_t numRows, const float* scale,
                    const float* shift, bool relu, float* out) {
  Pass pass{values, nullptr, nullptr, scale, nullptr, shift, relu, {}, out};
  int64_t items = numRows * shape.blocks, work = numRows * shape.rowSize();
  if (relu) {
    runItems<BlockPass<true, true>>(items, work, &shape, static_cast<const Pass*>(&pass));
  } else {
    runItems<BlockPass<true, false>>(items, work, &shape, static_cast<const Pass*>(&pass));
  }
}

void batchNormSums(const BatchNormShape& shape, const float* values, const float* gradients, const ReluBehind& relu,
                   int64_t numRows, const float* mean, float* sums, float* sumsWithValues, double* scratch) {
  runItems<RowSums>(numRows, numRows * shape.rowSize(), &shape, values, gradients, &relu, mean, scratch);
  addUp(scratch, numRows, shape.channels(), [&](int64_t channel, double sum, double withValues) {
    sums[channel] = static_cast<float>(sum);
    sumsWithValues[channel] = static_cast<float>(withValues);
  });
}

void batchNormInputGradient(const BatchNormShape& shape, const float* values, const float* gradients,
                            const ReluBehind& relu, const float* addend, int64_t numRows, const float* a,
                            const float* b, const float* c, float* out) {
  Pass pass{values, gradients, addend, a, b, c, false, relu, out};
  int64_t items = numRows * shape.blocks, work = numRows * shape.rowSize();
  if (relu.scale != nullptr) {
    runItems<BlockPass<false, true>>(items, work, &shape, static_cast<const Pass*>(&pass));
  } else {
    runItems<BlockPass<false, false>>(items, work, &shape, static_cast<const Pass*>(&pass));
  }
}

}  // namespace bloomery::nn
