// What the training loop calls once per step, after the reduction: regularisers, clipping, the optimizer at the
// schedule's learning rate, and the average of the weights. Every worker does the same with the same gradients and so
// keeps the same parameters. Lives on the compute thread and allocates nothing after it is made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/Simd.h"
#include "network/Parameters.h"
#include "optim/Optimizer.h"
#include "optim/Schedule.h"
#include "optim/Sums.h"
#include "tensor/GradientRows.h"

namespace bloomery::optim {

// How one parameter of the network is treated.
struct ParameterRule {
  float l1 = 0, l2 = 0;   // l1 * sum |w| + l2 * sum w^2 is added to the loss
  bool trainable = true;  // false: untouched, and no part of norms, penalties and averages
  bool decays = true;     // by the optimizer's weightDecay
};

// As the network declares them, in its order.
std::vector<ParameterRule> rulesOf(const network::ParameterTable& parameters);

struct UpdateSpec {
  OptimizerSpec optimizer = Adam{};
  std::optional<double> clipNorm;     // of all gradients together
  std::optional<double> clipValue;    // of each gradient
  std::optional<double> emaMomentum;  // none: no average is kept

  // The keys optimizer, clipNorm, clipValue and emaMomentum of the training JSON.
  static UpdateSpec read(JsonReader& training);
  void write(Json& training) const;
};

// Arenas of the parameters' size: the optimizer's and the average.
size_t numStateArenas(const UpdateSpec& spec);

class Updater {
 public:
  // rules: one per slice of the layout, in its order; empty: the default for all. rows: of the gradients that `update`
  // will get, or null. Rows that are not marked are left out of everything where that changes nothing: where the
  // optimizer rests without a gradient, and nobody wants the norm of all gradients or an average of the weights. (A row
  // that is left out keeps a subnormal number or a negative zero, of which an update makes zero.)
  Updater(const UpdateSpec& spec, const ArenaLayout& layout, std::vector<ParameterRule> rules,
          SimdLevel level = simdLevel(), const GradientRows* rows = nullptr);

  // Updates the parameters; the gradients are multiplied by gradientScale first and end up as the optimizer saw them.
  // Returns the regularisation loss of the parameters as they were before.
  double step(std::span<float> parameters, std::span<float> gradients, int64_t stepsPerEpoch, double gradientScale = 1);

  // The same in parts, each as soon as its gradients are there: begin, `update` for parts that together are the arena
  // and do not cut a slice in two, end. Gives the same bits. Not possible when the norm of all gradients is clipped.
  bool updatesInParts() const { return !spec_.clipNorm; }
  void begin(int64_t stepsPerEpoch, double gradientScale = 1);
  double update(std::span<float> parameters, std::span<float> gradients, size_t first, size_t size);
  void end() { ++numSteps_; }

  // The schedule's rate for the next step.
  double learningRate(int64_t stepsPerEpoch) const { return schedule_.at(numSteps_, stepsPerEpoch); }
  int64_t numSteps() const { return numSteps_; }

  // The sum of all regularisers: what the reported loss has beside the data's.
  double regularisationLoss(std::span<const float> parameters);
  void epochEnded(const EpochLosses& losses) { schedule_.epochEnded(losses); }
  // Exchanges the trainable parameters and their averages: to evaluate or keep the averages, and once more to train
  // on. Without emaMomentum and before the first step there is nothing to exchange.
  void swapAverages(std::span<float> parameters);
  std::span<float> averages() const { return averages_.all(); }  // empty without emaMomentum

  // All that a training must keep to go on as if it had never stopped, beside the parameters: the arenas may be written
  // to, the counters go to `restore`.
  std::vector<StateArena> arenas();
  Json counters() const;
  void restore(const Json& counters);

 private:
  // Neighbouring trainable slices, with the padding behind them, that are treated alike.
  struct Run {
    size_t first = 0, size = 0;
    bool decays = true;
    TouchedRows* touched = nullptr;  // of a single slice, of which the rest may be left out
  };

  // Calls act(run) for the part of every run that lies in [first, first + size), and of that the rows that count.
  template <typename Act>
  void forRuns(size_t first, size_t size, Act act) const;
  double regularisePart(std::span<const float> parameters, std::span<float> gradients, size_t first, size_t size);
  void clipNorm(std::span<float> gradients);
  void average(const Run& run, std::span<const float> parameters);

  UpdateSpec spec_;
  SimdLevel level_;
  std::vector<Slice> slices_;
  std::vector<ParameterRule> rules_;
  std::vector<Run> runs_;
  bool regularises_ = false;
  Schedule schedule_;
  std::unique_ptr<Optimizer> optimizer_;
  SliceSums sums_;
  Arena averages_;
  int64_t numSteps_ = 0;
  float gradientScale_ = 1;  // of the step under way
};

}  // namespace bloomery::optim
