// Means and variances that Normalization layers take from the rows of training: each worker measures its own, and all
// of them merge what all found. Every row counts once, whatever its weight; validation rows do not.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/Communicator.h"
#include "data/Batch.h"
#include "network/Graph.h"
#include "tensor/Arena.h"

namespace bloomery::train {

struct LoopContext;

// Of numbers that came so far: Chan's rule merges two sets of them without the cancellation of sums of squares. Numbers
// that are all the same have a variance of exactly 0.
struct Moments {
  double count = 0, mean = 0, squares = 0;  // squares: of the distances to the mean, summed up

  void merge(const Moments& other);
  double variance() const { return squares / count; }
};

// Of this worker's rows.
class InputStatistics {
 public:
  explicit InputStatistics(const network::Graph& graph);

  void add(const data::Batch& batch);
  // Merges those of all workers, by rank, so that all of them get the same bits, and writes them to the parameters.
  // UserError when they are no numbers.
  void settle(comm::Communicator& communicator, comm::Timeout timeout, const Arena& parameters) const;

 private:
  struct InputMoments {
    size_t input = 0;
    std::vector<Moments> elements = {};           // of each value of a row
    std::vector<double> sums = {}, squares = {};  // of one batch
  };
  // One for each statistic of the layer, from all values of a row that it is for.
  std::vector<Moments> momentsOf(const network::Node& node, const network::Normalization& layer) const;

  const network::Graph& graph_;
  std::vector<InputMoments> inputs_;
};

// On every worker, when all have all their rows and before the first step: fills in the statistics of all Normalization
// layers that take them from the rows. Workers with many rows show the others that they are alive meanwhile.
void measureInputs(const LoopContext& context, comm::Timeout timeout, comm::Timeout patience);

}  // namespace bloomery::train
