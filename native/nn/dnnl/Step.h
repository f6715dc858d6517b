// The parts of a oneDNN plan: steps, in the order they run, and the edges between them. A step is planned once by the
// function for its layer kind (LayerPlans.h) and then only runs.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "nn/Plan.h"
#include "tensor/Shape.h"

namespace bloomery::nn {

struct Pass {
  const dnnl::stream& stream;
  const BatchInput& batch;  // in backward: that of the last forward
  Mode mode = Mode::kTraining;
};

class Step {
 public:
  virtual ~Step() = default;
  virtual void forward(const Pass& pass) = 0;
  // Reads the gradient of its output edge, writes those of its parameters and that of its input edge.
  virtual void backward(const Pass& pass) = 0;
  // Comes right behind it, and writes the gradient of the input edge where that takes long: the parameters' gradients
  // are on their way to the other workers meanwhile.
  virtual void backwardInput(const Pass&) {}
};

// What one step hands to the next, in the layout that the step chose; value and gradient share that layout.
struct Edge {
  Shape shape;  // of one sample, channels last, whatever the layout
  dnnl::memory value;
  dnnl::memory gradient = {};  // empty where nobody wants it: inference, and before the first parameters
  bool overwritable = false;   // the step that made the value does not need it again, or only its sign
  // The value is the output of a ReLU whose part of backward is still to be done: whoever takes the edge must zero the
  // gradient wherever the value is zero, or hand the duty on. It commutes with max pooling, where it is cheaper.
  bool reluPending = false;
  // The step that made the value only reads the gradient, so that others may read the same one.
  bool gradientIsOnlyRead = false;
  // What the taker adds to the gradient that it writes, where he was promised to someone who does: another taker's.
  dnnl::memory addend = {};
  // [batch, steps]: the indices that an Embedding which masks zeros took; steps of index 0 are to be skipped. Empty
  // where no step is.
  dnnl::memory indices = {};
};

}  // namespace bloomery::nn
