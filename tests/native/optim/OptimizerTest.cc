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

// Keras 3's definitions, one element at a time in double.
struct Definition {
  double parameter, a = 0, b = 0;  // a, b: the state
  int step = 0;

  void apply(const Sgd& spec, double gradient) {
    a = spec.momentum * a - spec.learningRate * gradient;
    if (spec.momentum == 0) {
      parameter -= spec.learningRate * gradient;
    } else {
      parameter += spec.nesterov ? spec.momentum * a - spec.learningRate * gradient : a;
    }
  }
  void apply(const Adam& spec, double gradient) {
    ++step;
    a += (gradient - a) * (1 - spec.beta1);
    b += (gradient * gradient - b) * (1 - spec.beta2);
    double alpha = spec.learningRate * std::sqrt(1 - std::pow(spec.beta2, step)) / (1 - std::pow(spec.beta1, step));
    parameter -= alpha * a / (std::sqrt(b) + spec.epsilon);
  }
  void apply(const Adadelta& spec, double gradient) {
    a = spec.rho * a + (1 - spec.rho) * gradient * gradient;
    double delta = -std::sqrt(b + spec.epsilon) * gradient / std::sqrt(a + spec.epsilon);
    b = spec.rho * b + (1 - spec.rho) * delta * delta;
    parameter += spec.learningRate * delta;
  }
};

const OptimizerSpec kSpecs[] = {
    Sgd{.learningRate = 0.1},
    Sgd{.learningRate = 0.1, .momentum = 0.9},
    Sgd{.learningRate = 0.1, .momentum = 0.9, .nesterov = true},
    Adam{.learningRate = 0.01},
    Adam{.learningRate = 0.01, .epsilon = 0.1},  // large enough to tell where it is added
    Adadelta{},
    Adadelta{.learningRate = 0.5, .rho = 0.9, .epsilon = 0.01},
};

class OptimizerTest : public testing::TestWithParam<OptimizerSpec> {};

// Parameters after ten steps of random gradients: in each step the same ones, moved on by one.
std::vector<float> run(const OptimizerSpec& spec, size_t size, size_t split, SimdLevel level) {
  std::vector<float> parameters = randomFloats(size, 1), gradients = randomFloats(size, 2);
  auto optimizer = makeOptimizer(spec, size, level);
  for (int step = 0; step < 10; ++step) {
    optimizer->beginStep(learningRateOf(spec));
    std::span<float> all(parameters);
    optimizer->update(split, all.subspan(split), std::span<const float>(gradients).subspan(split));
    if (split > 0) optimizer->update(0, all.first(split), std::span<const float>(gradients).first(split));
    std::rotate(gradients.begin(), gradients.begin() + 1, gradients.end());
  }
  return parameters;
}

TEST_P(OptimizerTest, followsTheDefinition) {
  constexpr size_t kSize = 101;
  std::vector<float> actual = run(GetParam(), kSize, 0, simdLevel()), start = randomFloats(kSize, 1);
  std::vector<float> gradients = randomFloats(kSize, 2);
  for (size_t i = 0; i < kSize; ++i) {
    Definition definition{start[i]};
    for (size_t step = 0; step < 10; ++step) {
      double gradient = gradients[(i + step) % kSize];
      std::visit([&](const auto& spec) { definition.apply(spec, gradient); }, GetParam());
    }
    EXPECT_NEAR(actual[i], definition.parameter, 2e-6) << i;
  }
}

TEST_P(OptimizerTest, levelRangesAndThreadsGiveTheSameBits) {
  constexpr size_t kSize = 100003;  // long enough to be split over threads
  std::vector<float> expected = run(GetParam(), kSize, 0, SimdLevel::kBaseline);
  EXPECT_EQ(run(GetParam(), kSize, 64, SimdLevel::kBaseline), expected);
  int before = omp_get_max_threads();
  omp_set_num_threads(3);
  EXPECT_EQ(run(GetParam(), kSize, 0, SimdLevel::kBaseline), expected);
  omp_set_num_threads(before);
  if (simdLevel() == SimdLevel::kAvx2) {
    EXPECT_EQ(run(GetParam(), kSize, 16, SimdLevel::kAvx2), expected);
  }
}

TEST_P(OptimizerTest, zeroGradientChangesNothing) {
  std::vector<float> parameters = randomFloats(50, 1), start = parameters, gradients(50, 0.0f);
  auto optimizer = makeOptimizer(GetParam(), 50);
  for (int step = 0; step < 3; ++step) {
    optimizer->beginStep(learningRateOf(GetParam()));
    optimizer->update(0, parameters, gradients);
  }
  EXPECT_EQ(parameters, start);
}

TEST_P(OptimizerTest, learningRateOfTheStepCounts) {
  std::vector<float> slow = randomFloats(50, 1), fast = slow, start = slow, gradients = randomFloats(50, 2);
  auto update = [&](std::vector<float>& parameters, double learningRate) {
    auto optimizer = makeOptimizer(GetParam(), 50);
    optimizer->beginStep(learningRate);
    optimizer->update(0, parameters, gradients);
  };
  update(slow, 0.01);
  update(fast, 0.04);
  for (size_t i = 0; i < 50; ++i) EXPECT_NEAR(fast[i] - start[i], 4 * (slow[i] - start[i]), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(kinds, OptimizerTest, testing::ValuesIn(kSpecs), [](const auto& instance) {
  return std::visit([](const auto& spec) { return std::string(spec.kKind); }, instance.param) +
         std::to_string(instance.index);
});

}  // namespace

}  // namespace bloomery::optim
