// Plans that touch only some rows of a table's gradient leave the same bits there as those that write it whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "nn/TestNetwork.h"

namespace bloomery::nn {

namespace {

constexpr int64_t kBatch = 6;

struct Case {
  const char* name;
  const char* layers;
};

// One plan for several batches, with the rows of its tables told apart or not.
class Steps {
 public:
  Steps(const std::string& layers, bool sparse)
      : network_(layers, kBatch),
        rows_(network_.gradients, network_.layout, sparse ? tables() : std::vector<size_t>()) {
    PlanOptions options = network_.options(kBatch);
    options.rows = &rows_;
    plan_ = makeDnnlPlan(network_.graph, network_.parameters, &network_.gradients, options);
  }

  void forward(uint64_t seed, int64_t numRows = kBatch, Mode mode = Mode::kTraining) {
    for (size_t i = 0; i < network_.inputs.size(); ++i) {
      std::vector<float> random = randomFloats(static_cast<int64_t>(network_.inputs[i].size()), seed * 100 + i);
      float limit = static_cast<float>(network_.graph.indexLimit(i));
      std::ranges::transform(random, network_.inputs[i].begin(),
                             [&](float value) { return std::floor((value + 1) / 2 * limit); });
    }
    BatchInput batch = network_.batch();
    batch.rowIds = batch.rowIds.first(static_cast<size_t>(numRows));
    batch.numRows = numRows;
    plan_->forward(batch, mode);
    auto count = static_cast<size_t>(numRows);
    softmaxCrossEntropy(plan_->logits(), std::span(network_.labels).first(count),
                        std::span(network_.weights).first(count), 3.0, plan_->logitGradients());
  }

  std::vector<float> backward() {
    NoGradientSink sink;
    plan_->backward(sink);
    return {network_.gradients.all().begin(), network_.gradients.all().end()};
  }

  TouchedRows* rows() { return rows_.find(tables().front()); }

 private:
  std::vector<size_t> tables() const {
    std::vector<size_t> slices;
    for (size_t i = 0; i < network_.layout.slices().size(); ++i) {
      if (network_.graph.parameters().parameters()[i].gathered) slices.push_back(i);
    }
    return slices;
  }

  TestNetwork network_;
  GradientRows rows_;
  std::unique_ptr<Plan> plan_;
};

class SparseGradientTest : public testing::TestWithParam<Case> {};

TEST_P(SparseGradientTest, severalStepsGiveTheBitsOfWholeTables) {
  Steps sparse(GetParam().layers, true), dense(GetParam().layers, false);
  for (uint64_t step = 0; step < 6; ++step) {
    int64_t numRows = step == 2 ? 1 : step == 4 ? 0 : kBatch;
    for (Steps* steps : {&sparse, &dense}) steps->forward(step, numRows);
    ASSERT_FALSE(sparse.rows()->all());
    EXPECT_EQ(sparse.rows()->count() > 0, numRows > 0);
    EXPECT_EQ(sparse.backward(), dense.backward()) << "step " << step;
  }
}

TEST_P(SparseGradientTest, evaluationInBetweenChangesNothing) {
  Steps sparse(GetParam().layers, true), dense(GetParam().layers, false);
  for (uint64_t step = 0; step < 3; ++step) {
    for (Steps* steps : {&sparse, &dense}) steps->forward(step);
    EXPECT_EQ(sparse.backward(), dense.backward());
    for (Steps* steps : {&sparse, &dense}) steps->forward(step + 50, kBatch, Mode::kInference);
  }
}

// As a reduction with other workers does.
TEST_P(SparseGradientTest, rowsThatOthersWroteAreClearedToo) {
  Steps sparse(GetParam().layers, true), dense(GetParam().layers, false);
  for (uint64_t step = 0; step < 3; ++step) {
    for (Steps* steps : {&sparse, &dense}) steps->forward(step);
    EXPECT_EQ(sparse.backward(), dense.backward());
    int64_t row = static_cast<int64_t>(399 - step);
    sparse.rows()->mark(row);
    std::ranges::fill(sparse.rows()->row(row), 3.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, SparseGradientTest,
                         testing::Values(Case{"plain", R"([{'kind': 'Input', 'shape': [5], 'dtype': 'int32'},
          {'kind': 'Embedding', 'inputDim': 400, 'outputDim': 70}, {'kind': 'Flatten'}, {'kind': 'Dense', 'units': 3}])"},
                                         Case{"masked", R"([{'kind': 'Input', 'shape': [5], 'dtype': 'int32'},
          {'kind': 'Embedding', 'inputDim': 400, 'outputDim': 4, 'maskZero': true},
          {'kind': 'LSTM', 'units': 3}, {'kind': 'Dense', 'units': 3}])"},
                                         Case{"usedTwice",
                                              R"([{'kind': 'Input', 'name': 'a', 'shape': [5], 'dtype': 'int32'},
          {'kind': 'Input', 'name': 'b', 'shape': [5], 'dtype': 'int32'},
          {'kind': 'Embedding', 'name': 'words', 'inputDim': 400, 'outputDim': 4, 'inputs': ['a']},
          {'kind': 'Dense', 'name': 'between', 'units': 4, 'activation': 'tanh', 'inputs': ['words']},
          {'kind': 'Embedding', 'name': 'again', 'sharedWith': 'words', 'inputDim': 400, 'outputDim': 4, 'inputs': ['b']},
          {'kind': 'Add', 'inputs': ['between', 'again']}, {'kind': 'Flatten'}, {'kind': 'Dense', 'units': 3}])"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace

}  // namespace bloomery::nn
