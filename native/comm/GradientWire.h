// How gradients travel between workers when they are added up: as they are, or in 16 bits, half the bytes. The sum of a
// message that is not finite in 16 bits is made again of floats; all ranks see the same sum and so do the same. Used on
// the comm thread; owns the memory that the 16 bits need, borrows the gradients.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/CommThread.h"
#include "tensor/Halves.h"

namespace bloomery::comm {

struct WireSpec {
  std::optional<HalfFormat> format = {};  // none: floats
  // Gradients are divided by the rows of a step, and so the smaller the more rows it has: in 16 bits they travel times
  // the power of two next below this, which rounds nothing.
  double globalBatch = 1;
  std::vector<size_t> exactSlices = {};  // that travel as floats always
  bool onlyTail = false;                 // what lies behind the last slice travels, and no gradient
};

class GradientWire {
 public:
  using Parts = std::vector<std::span<float>>;

  static constexpr size_t kMessageFloats = size_t{1} << 20;
  // Below, the time of a message hardly depends on its bytes.
  static constexpr size_t kFewestFloats = 4096;

  explicit GradientWire(const WireSpec& spec);

  bool halves() const { return format_.has_value(); }
  // In as many messages as it takes; few values travel as floats.
  void reduce(Communicator& communicator, std::span<float> values, Timeout timeout);
  // In one message of 16 bits, of at most kMessageFloats in all.
  void reduceMessage(Communicator& communicator, std::span<const std::span<float>> parts, Timeout timeout);
  // Messages that were added up a second time since the last call; from any thread.
  int64_t takeRepeats() { return repeats_.exchange(0); }

 private:
  std::optional<HalfFormat> format_;
  float scale_;
  std::vector<uint16_t> halves_;
  std::atomic<int64_t> repeats_ = 0;
};

// A bucket of which most travels in 16 bits, and some parts as floats.
class MixedReduction final : public Reduction {
 public:
  // `exact` lie in `bucket`, ascending.
  MixedReduction(GradientWire& wire, std::span<float> bucket, const GradientWire::Parts& exact);

  void run(Communicator& communicator, Timeout timeout) override;

 private:
  void addMessage(std::span<float> values);

  GradientWire& wire_;
  GradientWire::Parts exact_;
  std::vector<float> exactValues_;
  std::vector<GradientWire::Parts> messages_;
};

}  // namespace bloomery::comm
