#include "nn/kernels/Arrays.h"

#include <algorithm>

#include "base/SimdLoops.h"

namespace bloomery::nn {

namespace {

struct AddMasked {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const float* a, const float* b,
                                                const float* relu, float* out) {
    for (int64_t i = first; i < end; ++i) {
      float sum = a[i] + b[i];
      out[i] = relu[i] > 0 ? sum : 0.0f;
    }
  }
};

struct Add {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const float* a, const float* b,
                                                float* out) {
    for (int64_t i = first; i < end; ++i) out[i] = a[i] + b[i];
  }
};

struct AddRelu {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const float* a, const float* b,
                                                float* out) {
    for (int64_t i = first; i < end; ++i) out[i] = std::max(a[i] + b[i], 0.0f);
  }
};

struct Multiply {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const float* a, const float* b,
                                                float* out) {
    for (int64_t i = first; i < end; ++i) out[i] = a[i] * b[i];
  }
};

struct Copy {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, const float* from, float* to) {
    std::copy(from + first, from + end, to + first);
  }
};

}  // namespace

void addArrays(const float* a, const float* b, const float* relu, int64_t size, float* out) {
  if (relu != nullptr) {
    runPieces<AddMasked>(simdLevel(), size, a, b, relu, out);
  } else {
    runPieces<Add>(simdLevel(), size, a, b, out);
  }
}

void addForward(const float* a, const float* b, bool relu, int64_t size, float* out) {
  if (relu) {
    runPieces<AddRelu>(simdLevel(), size, a, b, out);
  } else {
    runPieces<Add>(simdLevel(), size, a, b, out);
  }
}

void multiplyArrays(const float* a, const float* b, int64_t size, float* out) {
  runPieces<Multiply>(simdLevel(), size, a, b, out);
}

void copyArray(const float* from, int64_t size, float* to) { runPieces<Copy>(simdLevel(), size, from, to); }

}  // namespace bloomery::nn
