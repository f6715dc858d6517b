#include "optim/Updater.h"

#include <algorithm>
#include <cmath>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "optim/Gradients.h"

namespace bloomery::optim {

namespace {

template <typename T>
std::span<T> part(std::span<T> arena, const Slice& slice) {
  return arena.subspan(slice.offset, slice.size);
}

double lossOf(const ParameterRule& rule, const TwoSums& size) {
  return static_cast<double>(rule.l1) * size.first + static_cast<double>(rule.l2) * size.second;
}

bool regularises(const ParameterRule& rule) { return rule.trainable && (rule.l1 != 0 || rule.l2 != 0); }

}  // namespace

std::vector<ParameterRule> rulesOf(const network::ParameterTable& parameters) {
  std::vector<ParameterRule> rules;
  for (const network::Parameter& parameter : parameters.parameters()) {
    rules.push_back({parameter.regularizer.l1, parameter.regularizer.l2, parameter.trainable});
  }
  return rules;
}

Updater::Updater(const UpdateSpec& spec, const ArenaLayout& layout, std::vector<ParameterRule> rules, SimdLevel level)
    : spec_(spec),
      level_(level),
      slices_(layout.slices()),
      rules_(std::move(rules)),
      schedule_(scheduleOf(spec.optimizer)),
      optimizer_(makeOptimizer(spec.optimizer, layout, level)),
      sums_(layout, level),
      averages_(spec.emaMomentum ? layout.numFloats() : 0) {
  if (rules_.empty()) rules_.resize(slices_.size());
  check(rules_.size() == slices_.size(), "Not one rule per parameter: ", rules_.size(),
        ", parameters: ", slices_.size());
  regularises_ = std::ranges::any_of(rules_, regularises);
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (!rules_[i].trainable) continue;
    size_t first = slices_[i].offset, end = i + 1 < slices_.size() ? slices_[i + 1].offset : layout.numFloats();
    bool continues =
        !runs_.empty() && runs_.back().first + runs_.back().size == first && runs_.back().decays == rules_[i].decays;
    if (continues) {
      runs_.back().size += end - first;
    } else {
      runs_.push_back({first, end - first, rules_[i].decays});
    }
  }
}

double Updater::step(std::span<float> parameters, std::span<float> gradients, int64_t stepsPerEpoch,
                     double gradientScale) {
  if (gradientScale != 1) {
    for (const Run& run : runs_) {
      scale(level_, gradients.subspan(run.first, run.size), static_cast<float>(gradientScale));
    }
  }
  double loss = regularises_ ? regulariseAll(parameters, gradients) : 0.0;
  clip(gradients);
  optimizer_->beginStep(learningRate(stepsPerEpoch), numSteps_);
  for (const Run& run : runs_) {
    optimizer_->update(run.first, parameters.subspan(run.first, run.size), gradients.subspan(run.first, run.size),
                       run.decays);
  }
  if (spec_.emaMomentum) average(parameters);
  ++numSteps_;
  return loss;
}

double Updater::regulariseAll(std::span<const float> parameters, std::span<float> gradients) {
  double loss = 0;
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (!regularises(rules_[i])) continue;
    TwoSums size =
        regularise(sums_, part(parameters, slices_[i]), part(gradients, slices_[i]), rules_[i].l1, rules_[i].l2);
    loss += lossOf(rules_[i], size);
  }
  return loss;
}

double Updater::regularisationLoss(std::span<const float> parameters) {
  double loss = 0;
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (regularises(rules_[i])) loss += lossOf(rules_[i], sizeOf(sums_, part(parameters, slices_[i])));
  }
  return loss;
}

void Updater::clip(std::span<float> gradients) {
  if (spec_.clipValue) {
    for (const Run& run : runs_) {
      clamp(level_, gradients.subspan(run.first, run.size), static_cast<float>(*spec_.clipValue));
    }
  }
  if (!spec_.clipNorm) return;
  double squares = 0;
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (rules_[i].trainable) squares += sumOfSquares(sums_, part(std::span<const float>(gradients), slices_[i]));
  }
  double norm = std::sqrt(squares);
  if (norm <= *spec_.clipNorm) return;
  for (const Run& run : runs_) {
    scale(level_, gradients.subspan(run.first, run.size), static_cast<float>(*spec_.clipNorm / norm));
  }
}

// The first average is the parameters themselves.
void Updater::average(std::span<const float> parameters) {
  for (const Run& run : runs_) {
    auto from = parameters.subspan(run.first, run.size);
    auto to = averages_.all().subspan(run.first, run.size);
    if (numSteps_ == 0) {
      std::ranges::copy(from, to.begin());
    } else {
      moveAverage(level_, to, from, static_cast<float>(1 - *spec_.emaMomentum));
    }
  }
}

void Updater::swapAverages(std::span<float> parameters) {
  if (!spec_.emaMomentum || numSteps_ == 0) return;
  for (const Run& run : runs_) {
    std::ranges::swap_ranges(parameters.subspan(run.first, run.size), averages_.all().subspan(run.first, run.size));
  }
}

std::vector<StateArena> Updater::arenas() {
  std::vector<StateArena> arenas = optimizer_->state();
  if (spec_.emaMomentum) arenas.push_back({"average", averages_.all()});
  return arenas;
}

Json Updater::counters() const { return {{"steps", numSteps_}, {"schedule", schedule_.state()}}; }

void Updater::restore(const Json& counters) {
  JsonReader reader(counters, "updater state");
  numSteps_ = reader.integer("steps");
  schedule_.restore(reader.value("schedule"));
  reader.finish();
}

}  // namespace bloomery::optim
