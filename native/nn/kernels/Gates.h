// The element-wise part of one step of LSTM and GRU cells, forward and backward. Gates lie side by side in Keras's
// order: i f c o, and z r h. Matrix products are somebody else's.
#pragma once

#include <cstdint>

namespace bloomery::nn {

// gates [rows, 4 units]: in: sums of both products and bias, out: after the functions. state, output: [rows, units],
// updated from the step before to this one.
void lstmForward(int64_t rows, int64_t units, float* gates, float* state, float* output);

// stateBefore: [rows, units] of the step before; outputGradient: of this step's output, all of it; stateGradient: in:
// of this step's state from the step behind, out: of the state before. gateGradients: [rows, 4 units] before the
// functions.
void lstmBackward(int64_t rows, int64_t units, const float* gates, const float* stateBefore,
                  const float* outputGradient, float* stateGradient, float* gateGradients);

// gates [rows, 3 units]: in: the input's product and bias, out: after the functions. recurrent: [rows, 3 units], the
// product of the output before and its bias. output: [rows, units], updated.
void gruForward(int64_t rows, int64_t units, float* gates, const float* recurrent, float* output);

// outputGradient: in: of this step's output, out: the part that goes straight to the output before.
void gruBackward(int64_t rows, int64_t units, const float* gates, const float* recurrent, const float* outputBefore,
                 float* outputGradient, float* gateGradients, float* recurrentGradients);

}  // namespace bloomery::nn
