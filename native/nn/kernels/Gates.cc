#include "nn/kernels/Gates.h"

#include "nn/kernels/Items.h"
#include "nn/kernels/RowMath.h"

namespace bloomery::nn {

namespace {

// Gates lie behind each other in one array: without a word the vectoriser fears that they overlap, and gives up.

struct LstmForward {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, int64_t units, float* gates, float* state,
                                                float* output) {
    for (int64_t row = first; row < end; ++row) {
      float* __restrict own = gates + row * 4 * units;
      float* __restrict c = state + row * units;
      float* __restrict h = output + row * units;
#pragma GCC ivdep
      for (int64_t u = 0; u < units; ++u) {
        float i = sigmoid(own[u]), f = sigmoid(own[units + u]);
        float g = hyperbolicTangent(own[2 * units + u]), o = sigmoid(own[3 * units + u]);
        own[u] = i;
        own[units + u] = f;
        own[2 * units + u] = g;
        own[3 * units + u] = o;
        c[u] = f * c[u] + i * g;
        h[u] = o * hyperbolicTangent(c[u]);
      }
    }
  }
};

struct LstmBackward {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, int64_t units, const float* gates,
                                                const float* stateBefore, const float* outputGradient,
                                                float* stateGradient, float* gateGradients) {
    for (int64_t row = first; row < end; ++row) {
      const float* __restrict own = gates + row * 4 * units;
      const float* __restrict before = stateBefore + row * units;
      const float* __restrict dh = outputGradient + row * units;
      float* __restrict dc = stateGradient + row * units;
      float* __restrict out = gateGradients + row * 4 * units;
#pragma GCC ivdep
      for (int64_t u = 0; u < units; ++u) {
        float i = own[u], f = own[units + u], g = own[2 * units + u], o = own[3 * units + u];
        float t = hyperbolicTangent(f * before[u] + i * g);
        float d = dc[u] + dh[u] * o * (1 - t * t);
        out[u] = d * g * i * (1 - i);
        out[units + u] = d * before[u] * f * (1 - f);
        out[2 * units + u] = d * i * (1 - g * g);
        out[3 * units + u] = dh[u] * t * o * (1 - o);
        dc[u] = d * f;
      }
    }
  }
};

struct GruForward {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, int64_t units, float* gates,
                                                const float* recurrent, float* output) {
    for (int64_t row = first; row < end; ++row) {
      float* __restrict own = gates + row * 3 * units;
      const float* __restrict r = recurrent + row * 3 * units;
      float* __restrict h = output + row * units;
#pragma GCC ivdep
      for (int64_t u = 0; u < units; ++u) {
        float update = sigmoid(own[u] + r[u]), reset = sigmoid(own[units + u] + r[units + u]);
        float candidate = hyperbolicTangent(own[2 * units + u] + reset * r[2 * units + u]);
        own[u] = update;
        own[units + u] = reset;
        own[2 * units + u] = candidate;
        h[u] = update * h[u] + (1 - update) * candidate;
      }
    }
  }
};

struct GruBackward {
  [[gnu::always_inline]] static inline void run(int64_t first, int64_t end, int64_t units, const float* gates,
                                                const float* recurrent, const float* outputBefore,
                                                float* outputGradient, float* gateGradients,
                                                float* recurrentGradients) {
    for (int64_t row = first; row < end; ++row) {
      const float* __restrict own = gates + row * 3 * units;
      const float* __restrict r = recurrent + row * 3 * units;
      const float* __restrict before = outputBefore + row * units;
      float* __restrict dh = outputGradient + row * units;
      float* __restrict dx = gateGradients + row * 3 * units;
      float* __restrict dr = recurrentGradients + row * 3 * units;
#pragma GCC ivdep
      for (int64_t u = 0; u < units; ++u) {
        float update = own[u], reset = own[units + u], candidate = own[2 * units + u];
        float inner = dh[u] * (1 - update) * (1 - candidate * candidate);
        float dUpdate = dh[u] * (before[u] - candidate) * update * (1 - update);
        float dReset = inner * r[2 * units + u] * reset * (1 - reset);
        dx[u] = dUpdate;
        dr[u] = dUpdate;
        dx[units + u] = dReset;
        dr[units + u] = dReset;
        dx[2 * units + u] = inner;
        dr[2 * units + u] = inner * reset;
        dh[u] *= update;
      }
    }
  }
};

}  // namespace

void lstmForward(int64_t rows, int64_t units, float* gates, float* state, float* output) {
  runItems<LstmForward>(rows, rows * units * 8, units, gates, state, output);
}

void lstmBackward(int64_t rows, int64_t units, const float* gates, const float* stateBefore,
                  const float* outputGradient, float* stateGradient, float* gateGradients) {
  runItems<LstmBackward>(rows, rows * units * 8, units, gates, stateBefore, outputGradient, stateGradient,
                         gateGradients);
}

void gruForward(int64_t rows, int64_t units, float* gates, const float* recurrent, float* output) {
  runItems<GruForward>(rows, rows * units * 8, units, gates, recurrent, output);
}

void gruBackward(int64_t rows, int64_t units, const float* gates, const float* recurrent, const float* outputBefore,
                 float* outputGradient, float* gateGradients, float* recurrentGradients) {
  runItems<GruBackward>(rows, rows * units * 8, units, gates, recurrent, outputBefore, outputGradient, gateGradients,
                        recurrentGradients);
}

}  // namespace bloomery::nn
