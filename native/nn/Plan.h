// A network made ready to run for one batch size: every primitive, buffer and weight layout is chosen once, and then
// forward and backward only run, without allocating. A plan owns its activations, never the parameters or gradients.
// It is used by one thread at a time; threads of its own come from the OpenMP team of the calling thread, whose size
// (omp_set_num_threads) must be the same when the plan is made and when it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "network/Graph.h"
#include "nn/Profile.h"
#include "tensor/Arena.h"
#include "tensor/GradientRows.h"
#include "tensor/GradientSink.h"
#include "tensor/Reducer.h"
#include "tensor/TensorView.h"

namespace bloomery::nn {

// What one pass works on; borrowed from whoever assembled the batch, until backward (or the next forward) has returned.
struct BatchInput {
  // One for each input of the graph: [batch, its shape], channels last, scaled; rows beyond numRows are ignored.
  std::span<const float* const> inputs;
  std::span<const uint64_t> rowIds;  // [numRows] behind everything random
  int64_t numRows = 0;               // valid rows, at most the plan's batch size
  int64_t epoch = 0;
  double rowShare = 1;  // of all workers' rows in this step: what this batch's running statistics weigh
};

enum class Mode { kTraining, kInference };

class Plan {
 public:
  virtual ~Plan() = default;

  // Must see parameters changed by the optimizer since the last call. Dropout is active in training mode only and
  // derives from (seed, epoch, layer name, row id, element), so that it does not depend on rank or position.
  virtual void forward(const BatchInput& batch, Mode mode) = 0;

  // [batch, output shape] of the last forward, before a final softmax or sigmoid (network::Output::tail). Stays until
  // the next forward.
  virtual const TensorView& logits(size_t output = 0) const = 0;

  // [batch, output shape]: where the loss writes its gradient with respect to the logits, before backward. Rows beyond
  // numRows must be zero.
  virtual const TensorView& logitGradients(size_t output = 0) const = 0;

  // Overwrites every slice of the gradient arena that is trained with the gradient of the last forward (training mode).
  // The slice of a running statistic gets the batch's statistic, times rowShare.
  virtual void backward(GradientSink& sink) = 0;

  // What the plan itself holds: activations, their gradients, scratch memory.
  virtual size_t memoryBytes() const = 0;
};

// Parameters that change no more, in the layouts that plans want them in: each is made once, for all plans that are
// given it. Made by a device (Device::fixParameters), owned by whoever has the parameters; for any thread.
class FixedParameters {
 public:
  virtual ~FixedParameters() = default;
};

struct PlanOptions {
  int64_t batchSize = 1;
  bool training = true;  // false: no gradient memory, no dropout, backward is not allowed
  uint64_t seed = 0;
  Profile* profile = nullptr;  // to be filled, or null
  Reducer* reducer = nullptr;  // for synchronised statistics; null: this worker's batch alone
  // Of the gradient arena. In its slices the plan touches only the rows that it marks, from a forward pass in training
  // mode on; between two such passes others may mark and write rows, too. Null: every slice is written whole.
  GradientRows* rows = nullptr;
  // The parameters have their last values when the plan is made. Null: they may change between passes.
  FixedParameters* fixed = nullptr;
};

// `parameters` (and `gradients`, unused for inference) are laid out by graph.parameters().layout() and must outlive
// the plan, as must the graph.
std::unique_ptr<Plan> makeDnnlPlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                                   const PlanOptions& options);

std::unique_ptr<FixedParameters> makeDnnlFixedParameters();

// The same with plain loops: the oracle of the tests.
std::unique_ptr<Plan> makeReferencePlan(const network::Graph& graph, const Arena& parameters, const Arena* gradients,
                                        const PlanOptions& options);

// memoryBytes() of the oneDNN plan, planned on this machine but not allocated.
size_t estimateActivationBytes(const network::Graph& graph, int64_t batchSize, bool training);

}  // namespace bloomery::nn
