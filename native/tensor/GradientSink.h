// Told by a plan's backward pass, in reverse layer order, which slice of the gradient arena is complete, so that its
// reduction may start while backward goes on. Called on the compute thread.
#pragma once

#include <cstddef>

namespace bloomery {

class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void ready(size_t sliceIndex) = 0;
};

// For whoever reduces nothing, or everything at the end.
class NoGradientSink : public GradientSink {
 public:
  void ready(size_t) override {}
};

}  // namespace bloomery
