// Whether a training ends before its last epoch, and which epoch was the best: by one of the measures of an epoch,
// which are the same on all workers, so that all decide alike without asking each other. Keeps a copy of the best
// weights where they are wanted. Used on the compute thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/Json.h"
#include "tensor/Arena.h"
#include "train/Objective.h"

namespace bloomery::train {

// The keys earlyStoppingPatience, earlyStoppingMinDelta, monitor and restoreBestWeights of the training JSON.
struct StoppingSpec {
  std::optional<int64_t> patience;  // epochs without a better value; none: all epochs are trained
  double minDelta = 0;              // a value is better when it is by more than this
  std::string monitor;              // "loss", "validation_accuracy"; empty when nothing is watched
  bool restoresBest = false;

  bool on() const { return patience || restoresBest; }
  bool onValidation() const;

  // validates: some rows are, so that their loss is what is watched by default. UserError when `monitor` is none of the
  // measures of these heads.
  static StoppingSpec read(JsonReader& training, const std::vector<Head>& heads, bool validates);
  // Nothing when nothing is watched.
  void write(Json& training) const;
};

class EarlyStopping {
 public:
  // numFloats: of the parameters.
  EarlyStopping(const StoppingSpec& spec, const std::vector<Head>& heads, size_t numFloats);

  // True when these are the best so far and their weights are to be kept.
  bool epochEnded(int64_t epoch, const Measures& training, const std::optional<Measures>& validation);
  void keep(std::span<const float> parameters);
  // Somebody else wants no further epoch.
  void stop(std::string reason) { reason_ = std::move(reason); }

  bool stops() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }  // a sentence, empty while training goes on
  // The best weights, if any were kept.
  void restoreBest(std::span<float> parameters) const;

  // All that a checkpoint has to keep.
  std::span<float> bestWeights() const { return best_.all(); }  // empty where they are not wanted
  Json counters() const;
  void restore(const Json& counters);

 private:
  StoppingSpec spec_;
  std::optional<size_t> metric_;  // index in Measures::metrics; none: the loss
  bool largerIsBetter_ = false;
  Arena best_;
  std::optional<double> bestValue_;
  int64_t bestEpoch_ = 0;
  std::string reason_;
};

}  // namespace bloomery::train
