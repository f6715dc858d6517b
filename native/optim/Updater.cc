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

Updater::Updater(const UpdateSpec& spec, const ArenaLayout& layout, std::vector<ParameterRule> rules, SimdLevel level,
                 const GradientRows* rows)
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
  // The norm of all gradients and the averages go over everything anyway.
  bool rests = rows != nullptr && optimizer_->restsWithoutGradient() && !spec.clipNorm && !spec.emaMomentum;
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (!rules_[i].trainable) continue;
    size_t first = slices_[i].offset, end = i + 1 < slices_.size() ? slices_[i + 1].offset : layout.numFloats();
    TouchedRows* touched = rests && !regularises(rules_[i]) ? rows->find(i) : nullptr;
    bool continues = touched == nullptr && !runs_.empty() && runs_.back().touched == nullptr &&
                     runs_.back().first + runs_.back().size == first && runs_.back().decays == rules_[i].decays;
    if (continues) {
      runs_.back().size += end - first;
    } else {
      runs_.push_back({first, end - first, rules_[i].decays, touched});
    }
  }
}

double Updater::step(std::span<float> parameters, std::span<float> gradients, int64_t stepsPerEpoch,
                     double gradientScale) {
  begin(stepsPerEpoch, gradientScale);
  double loss = update(parameters, gradients, 0, parameters.size());
  end();
  return loss;
}

void Updater::begin(int64_t stepsPerEpoch, double gradientScale) {
  gradientScale_ = static_cast<float>(gradientScale);
  optimizer_->beginStep(learningRate(stepsPerEpoch), numSteps_);
}

double Updater::update(std::span<float> parameters, std::span<float> gradients, size_t first, size_t size) {
  check(updatesInParts() || size >= parameters.size(), "The norm of all gradients needs all of them: ", size, " of ",
        parameters.size());
  auto gradientsOf = [&](const Run& run) { return gradients.subspan(run.first, run.size); };
  if (gradientScale_ != 1) {
    forRuns(first, size, [&](const Run& run) { scale(level_, gradientsOf(run), gradientScale_); });
  }
  double loss = regularises_ ? regularisePart(parameters, gradients, first, size) : 0.0;
  if (spec_.clipValue) {
    forRuns(first, size,
            [&](const Run& run) { clamp(level_, gradientsOf(run), static_cast<float>(*spec_.clipValue)); });
  }
  if (spec_.clipNorm) clipNorm(gradients);
  forRuns(first, size, [&](const Run& run) {
    optimizer_->update(run.first, parameters.subspan(run.first, run.size), gradientsOf(run), run.decays);
    if (spec_.emaMomentum) average(run, parameters);
  });
  return loss;
}

template <typename Act>
void Updater::forRuns(size_t first, size_t size, Act act) const {
  for (const Run& run : runs_) {
    size_t from = std::max(run.first, first), till = std::min(run.first + run.size, first + size);
    if (from >= till) continue;
    if (run.touched == nullptr) {
      act(Run{from, till - from, run.decays});
    } else {
      run.touched->forStretches(
          [&](size_t offset, size_t length) { act(Run{run.first + offset, length, run.decays}); });
    }
  }
}

double Updater::regularisePart(std::span<const float> parameters, std::span<float> gradients, size_t first,
                               size_t size) {
  double loss = 0;
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (!regularises(rules_[i]) || slices_[i].offset < first || slices_[i].offset >= first + size) continue;
    TwoSums sizes =
        regularise(sums_, part(parameters, slices_[i]), part(gradients, slices_[i]), rules_[i].l1, rules_[i].l2);
    loss += lossOf(rules_[i], sizes);
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

void Updater::clipNorm(std::span<float> gradients) {
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
void Updater::average(const Run& run, std::span<const float> parameters) {
  auto from = parameters.subspan(run.first, run.size);
  auto to = averages_.all().subspan(run.first, run.size);
  if (numSteps_ == 0) {
    std::ranges::copy(from, to.begin());
  } else {
    moveAverage(level_, to, from, static_cast<float>(1 - *spec_.emaMomentum));
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
