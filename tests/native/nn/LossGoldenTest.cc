// Every loss against PyTorch (tests/golden/generate.py), against its own differences, and at every level and size of
// team.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "base/Error.h"
#include "golden/Fixture.h"
#include "nn/Loss.h"
#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

using network::Function;

Function tailOf(const std::string& name) {
  return name == "softmax" ? Function::kSoftmax : name == "sigmoid" ? Function::kSigmoid : Function::kLinear;
}

struct LossCase {
  explicit LossCase(const Json& json)
      : spec(readLoss(json.at("loss"))),
        tail(tailOf(json.at("tail"))),
        logits(json.at("logits").get<std::vector<float>>()),
        weights(json.at("weights").get<std::vector<float>>()) {
    std::vector<int64_t> extents = json.at("shape").get<std::vector<int64_t>>();
    extents.insert(extents.begin(), static_cast<int64_t>(weights.size()));
    shape = Shape(extents);
    if (json.contains("classes")) classes = json.at("classes").get<std::vector<int32_t>>();
    if (json.contains("values")) values = json.at("values").get<std::vector<float>>();
    for (float weight : weights) weightSum += weight;
  }

  Targets targets() const {
    return {classes.empty() ? nullptr : classes.data(), values.empty() ? nullptr : values.data()};
  }
  double mean(float* gradients = nullptr, SimdLevel level = simdLevel()) {
    return computeLoss(spec, tail, {logits.data(), shape}, targets(), weights, 1 / weightSum, {gradients, shape},
                       level) /
           weightSum;
  }

  LossSpec spec;
  Function tail;
  Shape shape;
  std::vector<float> logits, weights, values;
  std::vector<int32_t> classes;
  double weightSum = 0;
};

class LossGoldenTest : public testing::Test {
 protected:
  LossGoldenTest() {
    const Json losses = golden::load("losses.json");
    for (const Json& json : losses.at("cases")) cases_.push_back(json);
  }
  std::vector<Json> cases_;
};

TEST_F(LossGoldenTest, agreesWithPyTorch) {
  ASSERT_EQ(cases_.size(), 47u);
  for (const Json& json : cases_) {
    SCOPED_TRACE(json.at("loss").dump() + " " + json.at("tail").dump() + " " + json.at("shape").dump());
    LossCase one(json);
    std::vector<float> gradients(one.logits.size(), NAN);
    EXPECT_NEAR(one.mean(gradients.data()), json.at("mean").get<double>(), 2e-6);
    golden::expectNear(gradients, json.at("gradients"), 1e-6, "gradient");
    EXPECT_EQ(one.mean(), one.mean(gradients.data()));
  }
}

TEST_F(LossGoldenTest, gradientIsTheSlopeOfTheLoss) {
  constexpr float kStep = 1.0f / 256;
  for (const Json& json : cases_) {
    SCOPED_TRACE(json.at("loss").dump() + " " + json.at("tail").dump() + " " + json.at("shape").dump());
    LossCase one(json);
    std::vector<float> gradients(one.logits.size());
    double middle = one.mean(gradients.data());
    for (size_t i = 0; i < one.logits.size(); ++i) {
      float original = one.logits[i];
      one.logits[i] = original + kStep;
      double above = (one.mean() - middle) / kStep;
      one.logits[i] = original - kStep;
      double below = (middle - one.mean()) / kStep;
      one.logits[i] = original;
      if (std::abs(above - below) > 5e-3) continue;  // a kink
      EXPECT_NEAR(gradients[i], (above + below) / 2, 2e-4) << i;
    }
  }
}

TEST_F(LossGoldenTest, everyLevelGivesTheSameBits) {
  for (const Json& json : cases_) {
    LossCase one(json);
    std::vector<float> plain(one.logits.size()), wide(one.logits.size());
    EXPECT_EQ(one.mean(plain.data(), SimdLevel::kBaseline), one.mean(wide.data(), simdLevel())) << json.dump();
    EXPECT_EQ(plain, wide) << json.dump();
  }
}

// Large enough for several threads and for more than one block of a row.
TEST(LossTeamTest, anyNumberOfThreadsGivesTheSameBits) {
  constexpr int64_t kRows = 70, kClasses = 1001;
  std::vector<float> logits = randomFloats(kRows * kClasses, 5, 6.0f), weights(kRows, 1.5f);
  std::vector<int32_t> labels;
  for (int32_t row = 0; row < kRows; ++row) labels.push_back(row * 13);
  Shape shape{kRows, kClasses};
  int before = omp_get_max_threads();
  for (const char* name : {"categorical_crossentropy", "mse", "binary_crossentropy", "mae", "huber"}) {
    std::vector<float> first(logits.size()), second(logits.size());
    double sums[2];
    for (int threads : {1, 2}) {
      omp_set_num_threads(threads);
      sums[threads - 1] =
          computeLoss(readLoss(name), Function::kSoftmax, {logits.data(), shape}, {labels.data(), nullptr}, weights,
                      0.01, {threads == 1 ? first.data() : second.data(), shape});
    }
    EXPECT_EQ(sums[0], sums[1]) << name;
    EXPECT_EQ(first, second) << name;
  }
  omp_set_num_threads(before);
}

TEST(LossExtremesTest, lossesStayFiniteForLogitsOfAnySize) {
  std::vector<float> logits = {1000.0f, -1000.0f, 0.0f, 90.0f, -90.0f, 1e30f}, gradients(6), weights = {1, 1};
  std::vector<float> values = {0, 1, 1, 1, 0, 0};
  Shape shape{2, 3};
  for (Function tail : {Function::kSigmoid, Function::kSoftmax}) {
    for (const char* name : {"categorical_crossentropy", "binary_crossentropy", "mse", "mae", "huber"}) {
      double loss = computeLoss(readLoss(name), tail, {logits.data(), shape}, {nullptr, values.data()}, weights, 0.5,
                                {gradients.data(), shape});
      EXPECT_TRUE(std::isfinite(loss)) << name;
      for (float gradient : gradients) EXPECT_TRUE(std::isfinite(gradient)) << name;
    }
  }
}

TEST(LossSpecTest, readsNamesAndOptionsAndWritesThemBack) {
  for (const char* name : {"mse", "mean_squared_error"}) EXPECT_EQ(nameOf(readLoss(name)), "mean_squared_error");
  for (const char* name : {"mae", "mean_absolute_error"}) EXPECT_EQ(nameOf(readLoss(name)), "mean_absolute_error");
  for (const char* text :
       {R"({"kind":"huber","delta":2.5})", R"({"kind":"binary_crossentropy","labelSmoothing":0.25,"fromLogits":true})",
        R"({"kind":"sparse_categorical_crossentropy","labelSmoothing":0.0,"fromLogits":false})",
        R"({"kind":"mean_squared_error"})"}) {
    EXPECT_EQ(toJson(readLoss(Json::parse(text))).dump(), text);
  }
}

std::string errorOf(const std::string& loss, Function tail, Shape shape) {
  try {
    checkFits(readLoss(Json::parse(loss)), {.name = "out", .shape = std::move(shape), .tail = tail});
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(LossSpecTest, whatDoesNotFitIsRefusedInOneSentence) {
  struct {
    std::string loss;
    Function tail;
    Shape shape;
    std::string error;
  } cases[] = {
      {R"("mean_square_error")",
       Function::kLinear,
       {1},
       "Unknown loss: mean_square_error, nearest known: mean_squared_error"},
      {R"({"kind": "huber", "delta": 0})", Function::kLinear, {1}, "Not positive: delta 0, in loss 'huber'"},
      {R"({"kind": "mse", "delta": 1})", Function::kLinear, {1}, "Unknown option: delta, known: kind, in loss 'mse'"},
      {R"({"kind": "binary_crossentropy", "labelSmoothing": 1})",
       Function::kSigmoid,
       {1},
       "Outside 0 <= labelSmoothing < 1: 1, in loss 'binary_crossentropy'"},
      {R"("categorical_crossentropy")",
       Function::kLinear,
       {3},
       "Loss categorical_crossentropy needs a softmax output: set activation=\"softmax\" on layer 'out', or fromLogits "
       "on the loss"},
      {R"("binary_crossentropy")",
       Function::kLinear,
       {1},
       "Loss binary_crossentropy needs a sigmoid output: set activation=\"sigmoid\" on layer 'out', or fromLogits on "
       "the loss"},
      {R"({"kind": "categorical_crossentropy", "fromLogits": true})",
       Function::kSoftmax,
       {3},
       "Loss categorical_crossentropy has fromLogits, but layer 'out' ends in a softmax: drop one of the two"},
      {R"("sparse_categorical_crossentropy")",
       Function::kSoftmax,
       {2, 3},
       "Output has the wrong shape for sparse_categorical_crossentropy: layer 'out' gives (2, 3), wanted (classes,): "
       "add a Flatten and a Dense"},
      {R"("categorical_crossentropy")",
       Function::kSoftmax,
       {1},
       "Loss categorical_crossentropy needs at least two classes: layer 'out' gives (1,), use binary_crossentropy with "
       "a sigmoid, or mean_squared_error for a value"},
      {R"("mse")", Function::kSoftmax, {9}, ""},
      {R"("binary_crossentropy")", Function::kSoftmax, {2}, ""},
      {R"("categorical_crossentropy")", Function::kSoftmax, {4, 3}, ""},
  };
  for (const auto& one : cases) EXPECT_EQ(errorOf(one.loss, one.tail, one.shape), one.error) << one.loss;
}

}  // namespace

}  // namespace bloomery::nn
