#include "optim/Optimizer.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/Random.h"

namespace bloomery::optim {

namespace {

std::vector<float> randomFloats(size_t size, uint64_t key) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = 2 * uniformFloat(philox(key, i, 0)[0]) - 1;
  return values;
}

double rateOf(const OptimizerSpec& spec) { return std::get<Constant>(scheduleOf(spec).decay).initialLearningRate; }

double decayOf(const OptimizerSpec& spec) {
  return std::visit([](const auto& any) { return any.weightDecay; }, spec);
}

// Keras 3's definitions in double: how far each element of one parameter goes in a step.
struct Definition {
  struct State {
    double a = 0, b = 0, c = 0;
  };
  std::vector<State> states;
  int step = 0;

  explicit Definition(const OptimizerSpec& spec, size_t size) : states(size) {
    if (const auto* adagrad = std::get_if<Adagrad>(&spec)) {
      for (State& state : states) state.a = adagrad->initialAccumulatorValue;
    }
  }

  void apply(const OptimizerSpec& spec, std::vector<double>& parameters, const std::vector<double>& gradients) {
    ++step;
    double rate = rateOf(spec);
    for (double& parameter : parameters) parameter -= parameter * decayOf(spec) * rate;
    std::vector<double> moves(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      moves[i] = std::visit([&](const auto& any) { return move(any, rate, states[i], gradients[i]); }, spec);
    }
    double trust = 1;
    if (std::holds_alternative<Lamb>(spec)) {
      double length = norm(parameters), moved = norm(moves);
      trust = length > 0 && moved > 0 ? rate * length / moved : rate;
    }
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i] -= trust * moves[i];
  }

  static double norm(const std::vector<double>& values) {
    double squares = 0;
    for (double value : values) squares += value * value;
    return std::sqrt(squares);
  }

  double move(const Sgd& spec, double rate, State& state, double gradient) const {
    state.a = spec.momentum * state.a - rate * gradient;
    if (spec.momentum == 0) return rate * gradient;
    return -(spec.nesterov ? spec.momentum * state.a - rate * gradient : state.a);
  }
  double move(const Adam& spec, double rate, State& state, double gradient) const {
    state.a += (gradient - state.a) * (1 - spec.beta1);
    state.b += (gradient * gradient - state.b) * (1 - spec.beta2);
    double alpha = rate * std::sqrt(1 - std::pow(spec.beta2, step)) / (1 - std::pow(spec.beta1, step));
    return alpha * state.a / (std::sqrt(state.b) + spec.epsilon);
  }
  double move(const AdamW& spec, double rate, State& state, double gradient) const {
    return move(Adam{.beta1 = spec.beta1, .beta2 = spec.beta2, .epsilon = spec.epsilon}, rate, state, gradient);
  }
  double move(const Adadelta& spec, double rate, State& state, double gradient) const {
    state.a = spec.rho * state.a + (1 - spec.rho) * gradient * gradient;
    double delta = std::sqrt(state.b + spec.epsilon) * gradient / std::sqrt(state.a + spec.epsilon);
    state.b = spec.rho * state.b + (1 - spec.rho) * delta * delta;
    return rate * delta;
  }
  double move(const Adagrad& spec, double rate, State& state, double gradient) const {
    state.a += gradient * gradient;
    return rate * gradient / std::sqrt(state.a + spec.epsilon);
  }
  double move(const RmsProp& spec, double rate, State& state, double gradient) const {
    state.a = spec.rho * state.a + (1 - spec.rho) * gradient * gradient;
    state.b = spec.rho * state.b + (1 - spec.rho) * gradient;
    double spread = state.a - (spec.centered ? state.b * state.b : 0);
    double increment = rate * gradient / std::sqrt(spread + spec.epsilon);
    state.c = spec.momentum * state.c + increment;
    return state.c;
  }
  // The direction; its length is apply's.
  double move(const Lamb& spec, double, State& state, double gradient) const {
    state.a += (gradient - state.a) * (1 - spec.beta1);
    state.b += (gradient * gradient - state.b) * (1 - spec.beta2);
    double variance = state.b / (1 - std::pow(spec.beta2, step));
    return state.a / (1 - std::pow(spec.beta1, step)) / (std::sqrt(variance) + spec.epsilon);
  }
};

const OptimizerSpec kSpecs[] = {
    Sgd{.learningRate = 0.1},
    Sgd{.learningRate = 0.1, .weightDecay = 0.5},
    Sgd{.learningRate = 0.1, .momentum = 0.9, .weightDecay = 0.01},
    Sgd{.learningRate = 0.1, .momentum = 0.9, .nesterov = true, .weightDecay = 0.01},
    Adam{.learningRate = 0.01},
    Adam{.learningRate = 0.01, .epsilon = 0.1},  // large enough to tell where it is added
    Adam{.learningRate = 0.01, .weightDecay = 0.1},
    AdamW{.learningRate = 0.01},
    Adadelta{},
    Adadelta{.learningRate = 0.5, .rho = 0.9, .epsilon = 0.01, .weightDecay = 0.1},
    Adagrad{.learningRate = 0.1},
    Adagrad{.learningRate = 0.1, .initialAccumulatorValue = 0.5, .epsilon = 0.2, .weightDecay = 0.1},
    RmsProp{.learningRate = 0.01},
    RmsProp{.learningRate = 0.01, .rho = 0.8, .momentum = 0.9, .epsilon = 0.1, .weightDecay = 0.1},
    RmsProp{.learningRate = 0.01, .epsilon = 0.01, .centered = true},
    RmsProp{.learningRate = 0.01, .momentum = 0.5, .epsilon = 0.01, .centered = true},
    Lamb{.learningRate = 0.01},
    Lamb{.learningRate = 0.1, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 0.1, .weightDecay = 0.1},
};

class OptimizerTest : public testing::TestWithParam<OptimizerSpec> {};

// Two parameters, the second as long as is asked for.
ArenaLayout twoSlices(size_t second) {
  ArenaLayout layout;
  layout.add("first", Shape{60});
  layout.add("second", Shape{static_cast<int64_t>(second)});
  return layout;
}

// Parameters after ten steps of random gradients: in each step the same ones, moved on by one. `split`: in two ranges.
std::vector<float> run(const OptimizerSpec& spec, const ArenaLayout& layout, bool split, SimdLevel level) {
  size_t size = layout.numFloats(), middle = split ? layout.slices()[1].offset : 0;
  std::vector<float> parameters = randomFloats(size, 1), gradients = randomFloats(size, 2);
  auto optimizer = makeOptimizer(spec, layout, level);
  for (int64_t step = 0; step < 10; ++step) {
    optimizer->beginStep(rateOf(spec), step);
    std::span<float> all(parameters);
    optimizer->update(middle, all.subspan(middle), std::span<const float>(gradients).subspan(middle), true);
    if (split) optimizer->update(0, all.first(middle), std::span<const float>(gradients).first(middle), true);
    std::rotate(gradients.begin(), gradients.begin() + 1, gradients.end());
  }
  return parameters;
}

TEST_P(OptimizerTest, followsTheDefinition) {
  ArenaLayout layout = twoSlices(37);
  std::vector<float> actual = run(GetParam(), layout, false, simdLevel()), start = randomFloats(layout.numFloats(), 1);
  std::vector<float> gradients = randomFloats(layout.numFloats(), 2);
  for (const Slice& slice : layout.slices()) {
    auto first = start.begin() + static_cast<ptrdiff_t>(slice.offset);
    std::vector<double> parameters(first, first + static_cast<ptrdiff_t>(slice.size)), now(slice.size);
    Definition definition(GetParam(), slice.size);
    for (size_t step = 0; step < 10; ++step) {
      for (size_t i = 0; i < slice.size; ++i) now[i] = gradients[(slice.offset + i + step) % gradients.size()];
      definition.apply(GetParam(), parameters, now);
    }
    for (size_t i = 0; i < slice.size; ++i) {
      EXPECT_NEAR(actual[slice.offset + i], parameters[i], 3e-6) << slice.name << "[" << i << "]";
    }
  }
}

TEST_P(OptimizerTest, levelRangesAndThreadsGiveTheSameBits) {
  ArenaLayout layout = twoSlices(100003);  // long enough to be split over threads
  std::vector<float> expected = run(GetParam(), layout, false, SimdLevel::kBaseline);
  EXPECT_EQ(run(GetParam(), layout, true, SimdLevel::kBaseline), expected);
  int before = omp_get_max_threads();
  for (int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(run(GetParam(), layout, false, SimdLevel::kBaseline), expected) << threads;
  }
  omp_set_num_threads(before);
  if (simdLevel() == SimdLevel::kAvx2) {
    EXPECT_EQ(run(GetParam(), layout, true, SimdLevel::kAvx2), expected);
  }
}

TEST_P(OptimizerTest, zeroGradientChangesNothingButByDecay) {
  ArenaLayout layout = twoSlices(40);
  size_t size = layout.numFloats();
  for (bool decays : {false, true}) {
    std::vector<float> parameters = randomFloats(size, 1), start = parameters, gradients(size, 0.0f);
    auto optimizer = makeOptimizer(GetParam(), layout);
    for (int64_t step = 0; step < 3; ++step) {
      optimizer->beginStep(rateOf(GetParam()), step);
      optimizer->update(0, parameters, gradients, decays);
    }
    EXPECT_EQ(parameters == start, !decays || decayOf(GetParam()) == 0);
  }
}

TEST_P(OptimizerTest, learningRateOfTheStepCounts) {
  ArenaLayout layout = twoSlices(40);
  size_t size = layout.numFloats();
  std::vector<float> slow = randomFloats(size, 1), fast = slow, start = slow, gradients = randomFloats(size, 2);
  auto update = [&](std::vector<float>& parameters, double learningRate) {
    auto optimizer = makeOptimizer(GetParam(), layout);
    optimizer->beginStep(learningRate, 0);
    optimizer->update(0, parameters, gradients, false);
  };
  update(slow, 0.01);
  update(fast, 0.04);
  for (size_t i = 0; i < size; ++i) EXPECT_NEAR(fast[i] - start[i], 4 * (slow[i] - start[i]), 1e-6);
}

TEST_P(OptimizerTest, tinyAndHugeGradientsStayFinite) {
  ArenaLayout layout = twoSlices(40);
  std::vector<float> parameters = randomFloats(layout.numFloats(), 1), gradients(layout.numFloats());
  constexpr float kGradients[] = {0.0f, 1e-30f, -1e-20f, 1e15f, -1e15f};
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = kGradients[i % 5];
  auto optimizer = makeOptimizer(GetParam(), layout);
  for (int64_t step = 0; step < 5; ++step) {
    optimizer->beginStep(rateOf(GetParam()), step);
    optimizer->update(0, parameters, gradients, true);
    std::rotate(gradients.begin(), gradients.begin() + 1, gradients.end());
  }
  for (float parameter : parameters) EXPECT_TRUE(std::isfinite(parameter));
}

TEST_P(OptimizerTest, stateIsAllThatAStepNeeds) {
  ArenaLayout layout = twoSlices(40);
  size_t size = layout.numFloats();
  auto step = [&](Optimizer& optimizer, std::vector<float>& parameters, int64_t number) {
    std::vector<float> gradients = randomFloats(size, static_cast<uint64_t>(number));
    optimizer.beginStep(rateOf(GetParam()), number);
    optimizer.update(0, parameters, gradients, true);
  };
  std::vector<float> parameters = randomFloats(size, 9);
  auto first = makeOptimizer(GetParam(), layout), second = makeOptimizer(GetParam(), layout);
  for (int64_t number : {0, 1, 2}) step(*first, parameters, number);
  EXPECT_EQ(first->state().size(), numStateArenas(GetParam()));
  for (size_t i = 0; i < first->state().size(); ++i) {
    EXPECT_EQ(first->state()[i].name, second->state()[i].name);
    std::ranges::copy(first->state()[i].values, second->state()[i].values.begin());
  }
  std::vector<float> restored = parameters;
  step(*first, parameters, 3);
  step(*second, restored, 3);
  EXPECT_EQ(restored, parameters);
}

INSTANTIATE_TEST_SUITE_P(kinds, OptimizerTest, testing::ValuesIn(kSpecs), [](const auto& instance) {
  return std::visit([](const auto& spec) { return std::string(spec.kKind); }, instance.param) +
         std::to_string(instance.index);
});

TEST(LambTest, parameterOrDirectionOfZeroTakesAPlainStep) {
  ArenaLayout layout = twoSlices(40);
  std::vector<float> parameters(layout.numFloats(), 0.0f), gradients(layout.numFloats(), 0.5f);
  auto optimizer = makeOptimizer(Lamb{}, layout);
  optimizer->beginStep(0.25, 0);
  optimizer->update(0, parameters, gradients, true);
  for (size_t i = 0; i < 60; ++i) EXPECT_NEAR(parameters[i], -0.25, 1e-6);
}

}  // namespace

}  // namespace bloomery::optim
