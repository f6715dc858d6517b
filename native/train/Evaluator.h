// Loss and metrics of rows with labels, for weights that are given: what training measures on its validation rows,
// without a training. Each evaluator keeps sums, which add up over evaluators; whoever has them all makes measures of
// them. Used by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/TaskSpec.h"

namespace bloomery::train {

class Evaluator {
 public:
  // The task has "training" with losses and metrics, and label columns.
  Evaluator(const std::string& task, std::span<const std::byte> weights);
  ~Evaluator();

  // Measures the rows of one Arrow batch; both C structs are consumed.
  void add(void* arrowSchema, void* arrowArray, int partition, int64_t firstRow);
  const std::vector<double>& sums() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// From the sums of all rows: {"loss": .., "accuracy": ..}. UserError when there were none.
Json measuresOf(const std::string& task, std::span<const double> sums);

}  // namespace bloomery::train
