// The gradients of a step's earlier passes, which wait for those of its last. Holds memory for one more set of
// gradients where steps have several passes, else none. Lives on the compute thread; borrows the gradients.
#pragma once

#include "tensor/Arena.h"
#include "tensor/GradientRows.h"
#include "tensor/GradientSink.h"

namespace bloomery::train {

class AccumulatedGradients final : public GradientSink {
 public:
  // rows: of the gradients.
  AccumulatedGradients(bool needed, const ArenaLayout& layout, const Arena& gradients, const GradientRows& rows);

  // At the start of a step.
  void clear() { sumRows_.clearArena(); }
  // The gradients of a pass that is done.
  void add();
  // Before the last pass's backward, and behind its forward: the rows of all passes are rows of the step.
  void markRows();
  // What the last pass's slices go through on their way to `next`.
  GradientSink& before(GradientSink& next);
  void ready(size_t sliceIndex) override;

 private:
  ArenaLayout layout_;
  std::span<float> gradients_;
  const GradientRows& rows_;
  Arena sums_;
  GradientRows sumRows_;
  GradientSink* next_ = nullptr;
};

}  // namespace bloomery::train
