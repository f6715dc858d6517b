// Where the time of training steps goes on the compute thread: the layers of the plan, and what is no layer. Filled by
// a training loop that is given one, at the end of each epoch but for the layers; read when training is over.
#pragma once

#include <cstdint>

#include "nn/Profile.h"

namespace bloomery::train {

struct StepProfile {
  nn::Profile plan;
  bool tracesLayers = false;  // the trainer's trace gets spans of the layers, too
  int64_t steps = 0;
  double lossSeconds = 0;       // losses and metrics
  double updateSeconds = 0;     // regularisers, clipping, optimizer
  double allreduceSeconds = 0;  // waited for
  double waitSeconds = 0;       // for batches
  double seconds = 0;           // of all steps
};

}  // namespace bloomery::train
