#include "optim/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/Error.h"
#include "base/JsonValue.h"

namespace bloomery::optim {

namespace {

// From 1 at 0 down to 0 at 1.
double cosineDown(double fraction) { return 0.5 * (1 + std::cos(std::numbers::pi * fraction)); }

double rateAt(const Constant& spec, double, int64_t) { return spec.initialLearningRate; }

double rateAt(const StepDecay& spec, double step, int64_t stepsPerEpoch) {
  return spec.initialLearningRate * std::pow(spec.factor, std::floor(step / spec.every.steps(stepsPerEpoch)));
}

double rateAt(const ExponentialDecay& spec, double step, int64_t stepsPerEpoch) {
  double exponent = step / spec.decay.steps(stepsPerEpoch);
  return spec.initialLearningRate * std::pow(spec.decayRate, spec.staircase ? std::floor(exponent) : exponent);
}

double rateAt(const PolynomialDecay& spec, double step, int64_t stepsPerEpoch) {
  double length = spec.decay.steps(stepsPerEpoch);
  double fraction = step / length;
  fraction = spec.cycle ? fraction / std::max(1.0, std::ceil(fraction)) : std::min(1.0, fraction);
  return (spec.initialLearningRate - spec.endLearningRate) * std::pow(1 - fraction, spec.power) + spec.endLearningRate;
}

double rateAt(const CosineDecay& spec, double step, int64_t stepsPerEpoch) {
  double fraction = std::min(1.0, step / spec.decay.steps(stepsPerEpoch));
  return spec.initialLearningRate * ((1 - spec.alpha) * cosineDown(fraction) + spec.alpha);
}

double rateAt(const CosineRestarts& spec, double step, int64_t stepsPerEpoch) {
  double fraction = step / spec.firstDecay.steps(stepsPerEpoch), height = 1;
  if (spec.tMul == 1) {
    height = std::pow(spec.mMul, std::floor(fraction));
    fraction -= std::floor(fraction);
  } else {
    double length = 1;
    for (; fraction >= length; length *= spec.tMul) {
      fraction -= length;
      height *= spec.mMul;
    }
    fraction /= length;
  }
  return spec.initialLearningRate * ((1 - spec.alpha) * height * cosineDown(fraction) + spec.alpha);
}

double rateAt(const Piecewise& spec, double step, int64_t stepsPerEpoch) {
  double place = spec.inEpochs ? std::floor(step / static_cast<double>(stepsPerEpoch)) + 1 : step;
  size_t i = 0;
  while (i < spec.boundaries.size() && place > static_cast<double>(spec.boundaries[i])) ++i;
  return spec.values[i];
}

double rateAt(const OneCycle& spec, double step, int64_t stepsPerEpoch) {
  double total = spec.total.steps(stepsPerEpoch), top = spec.pctStart * total - 1, last = total - 1;
  double start = spec.maxLearningRate / spec.divFactor, end = start / spec.finalDivFactor;
  auto between = [&](double from, double to, double fraction) {
    return spec.linear ? from + (to - from) * fraction : to + (from - to) * cosineDown(fraction);
  };
  if (top > 0 && step <= top) return between(start, spec.maxLearningRate, step / top);
  double down = last - std::max(top, 0.0);
  return between(spec.maxLearningRate, end, down > 0 ? std::min(1.0, (step - std::max(top, 0.0)) / down) : 1.0);
}

}  // namespace

bool watchesValidation(const ScheduleSpec& spec) {
  const auto* plateau = std::get_if<ReduceOnPlateau>(&spec.decay);
  return plateau != nullptr && plateau->onValidation;
}

bool countsEpochs(const ScheduleSpec& spec) {
  auto decayCounts = []<typename Kind>([[maybe_unused]] const Kind& decay) {
    if constexpr (std::is_same_v<Kind, StepDecay>) return decay.every.inEpochs;
    if constexpr (requires { decay.decay; }) return decay.decay.inEpochs;
    if constexpr (requires { decay.firstDecay; }) return decay.firstDecay.inEpochs;
    if constexpr (requires { decay.inEpochs; }) return decay.inEpochs;
    if constexpr (requires { decay.total; }) return decay.total.inEpochs;
    return false;
  };
  return (spec.warmup.inEpochs && spec.warmup.count > 0) || std::visit(decayCounts, spec.decay);
}

Schedule::Schedule(ScheduleSpec spec) : spec_(std::move(spec)) {
  if (const auto* plateau = std::get_if<ReduceOnPlateau>(&spec_.decay)) {
    plateau_.learningRate = plateau->initialLearningRate;
  }
}

double Schedule::at(int64_t step, int64_t stepsPerEpoch) const {
  check(step >= 0 && stepsPerEpoch > 0, "No such step: ", step, ", steps per epoch: ", stepsPerEpoch);
  auto rate = [&](double stepOfDecay) {
    return std::visit(
        [&]<typename Kind>([[maybe_unused]] const Kind& decay) {
          if constexpr (std::is_same_v<Kind, ReduceOnPlateau>) {
            return plateau_.learningRate;
          } else {
            return rateAt(decay, stepOfDecay, stepsPerEpoch);
          }
        },
        spec_.decay);
  };
  double place = static_cast<double>(step), warmup = spec_.warmup.steps(stepsPerEpoch);
  if (place >= warmup) return rate(place - warmup);
  return spec_.warmupStartRate + (rate(0) - spec_.warmupStartRate) * (place / warmup);
}

void Schedule::epochEnded(const EpochLosses& losses) {
  const auto* spec = std::get_if<ReduceOnPlateau>(&spec_.decay);
  if (spec == nullptr) return;
  check(!spec->onValidation || losses.validation.has_value(), "No validation loss to watch");
  double loss = spec->onValidation ? *losses.validation : losses.training;
  bool cooling = plateau_.cooldown > 0;
  if (cooling) {
    --plateau_.cooldown;
    plateau_.wait = 0;
    cooling = plateau_.cooldown > 0;
  }
  if (!plateau_.best || loss < *plateau_.best - spec->minDelta) {
    plateau_.best = loss;
    plateau_.wait = 0;
  } else if (!cooling && ++plateau_.wait >= spec->patience && plateau_.learningRate > spec->minLearningRate) {
    plateau_.learningRate = std::max(plateau_.learningRate * spec->factor, spec->minLearningRate);
    plateau_.cooldown = spec->cooldown;
    plateau_.wait = 0;
  }
}

Json Schedule::state() const {
  if (!std::holds_alternative<ReduceOnPlateau>(spec_.decay)) return Json::object();
  Json json = {{"learningRate", plateau_.learningRate}, {"wait", plateau_.wait}, {"cooldown", plateau_.cooldown}};
  if (plateau_.best) json["best"] = *plateau_.best;
  return json;
}

void Schedule::restore(const Json& state) {
  JsonReader reader(state, "schedule state");
  if (std::holds_alternative<ReduceOnPlateau>(spec_.decay)) {
    plateau_ = {reader.number("learningRate"), std::nullopt, reader.integer("wait"), reader.integer("cooldown")};
    if (reader.has("best")) plateau_.best = reader.number("best");
  }
  reader.finish();
}

}  // namespace bloomery::optim
