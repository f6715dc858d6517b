// Workers that train some steps each on their own and then average what they have learnt, for networks too slow to add
// up gradients every step. Each counts as much as the rows, by their weights, that it has trained on since the last
// time. Lives on the compute thread and uses the communicator while the comm thread is idle; borrows the memory that is
// averaged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/Communicator.h"
#include "network/Parameters.h"

namespace bloomery::train {

class LocalSteps {
 public:
  // steps: between two averagings; 1 averages never, since then gradients are added up every step.
  LocalSteps(int64_t steps, const network::ParameterTable& parameters);

  bool on() const { return steps_ > 1; }
  // Weights of the rows of this worker and of all.
  void stepDone(double ownWeight, double allWeight);
  bool isDue() const { return isPending() && numSteps_ >= steps_; }
  bool isPending() const { return on() && allWeight_ > 0; }

  // Afterwards all workers hold the same trained parameters and running statistics. averages: of the weights, or empty.
  void average(std::span<float> parameters, std::span<float> averages, comm::Communicator& communicator,
               comm::Timeout timeout);

 private:
  struct Run {
    size_t first = 0, size = 0;
    bool trainable = true;
  };

  int64_t steps_;
  std::vector<Run> runs_;  // that differ between workers: what is neither trained nor followed stays
  int64_t numSteps_ = 0;   // since the last averaging, as below
  double ownWeight_ = 0, allWeight_ = 0;
};

}  // namespace bloomery::train
