// 20 training steps of every reference network against PyTorch's losses (tests/golden/reference_networks.py, which has
// the same formulas for parameters, inputs and labels).
#include <gtest/gtest.h>

#include <cmath>

#include "golden/Fixture.h"
#include "nn/Loss.h"
#include "nn/Plan.h"
#include "optim/Updater.h"

namespace bloomery::train {
namespace {

constexpr int64_t kBatch = 8;

uint32_t crc32(const std::string& text) {
  uint32_t crc = ~0u;
  for (char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0u);
  }
  return ~crc;
}

// Values in [0, 1): a hash of their number, the name and the step.
std::vector<float> uniform(const std::string& name, int64_t size, int64_t step = 0) {
  std::vector<float> values(static_cast<size_t>(size));
  uint32_t key = crc32(name) + static_cast<uint32_t>(step) * 40503u;
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = (static_cast<uint32_t>(i) * 2654435761u) ^ key;
    for (uint32_t factor : {0x85EBCA6Bu, 0xC2B2AE35u}) bits = (bits ^ (bits >> 16)) * factor;
    bits ^= bits >> 16;
    values[i] = static_cast<float>(bits >> 8) * 0x1p-24f;
  }
  return values;
}

bool isKernel(const network::Parameter& parameter) {
  return parameter.name.ends_with("kernel") || parameter.name.ends_with("/embeddings");
}

void initialize(const network::Graph& graph, const Arena& arena) {
  ArenaLayout layout = graph.parameters().layout();
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    const network::Parameter& parameter = graph.parameters().parameters()[i];
    std::span<float> values = arena.view(layout.slices()[i]).span();
    if (!isKernel(parameter)) {
      bool ones = parameter.initializer == network::Initializer::kOnes;
      std::fill(values.begin(), values.end(), ones ? 1.0f : 0.0f);
      continue;
    }
    int64_t fanIn = parameter.shape.numElements() / parameter.shape.extents().back();
    double scale = parameter.name.ends_with("/embeddings") ? 0.05 : std::sqrt(6.0 / static_cast<double>(fanIn));
    std::vector<float> drawn = uniform(parameter.name, parameter.shape.numElements());
    for (size_t k = 0; k < values.size(); ++k) values[k] = (2 * drawn[k] - 1) * static_cast<float>(scale);
  }
}

// Tokens are filled up with zeros at the end.
std::vector<float> featuresOf(const network::Graph& graph, size_t input, int64_t step) {
  const std::string& name = graph.nodes()[graph.inputs()[input]].name;
  const Shape& shape = graph.input(input).shape;
  std::vector<float> values = uniform(name, kBatch * shape.numElements(), step);
  int64_t limit = graph.indexLimit(input);
  if (limit == 0) return values;
  std::vector<float> lengths = uniform(name + "/length", kBatch, step);
  for (int64_t i = 0; i < kBatch * shape[0]; ++i) {
    float& value = values[static_cast<size_t>(i)];
    int64_t length =
        1 + static_cast<int64_t>(lengths[static_cast<size_t>(i / shape[0])] * static_cast<float>(shape[0]));
    value = i % shape[0] < length ? std::floor(1 + std::floor(value * static_cast<float>(limit - 1))) : 0.0f;
  }
  return values;
}

class ReferenceNetwork {
 public:
  explicit ReferenceNetwork(const Json& json)
      : graph_(network::Graph::fromJson(
            withoutDropout(golden::load("networks/" + json.at("network").get<std::string>() + ".json")))),
        layout_(graph_.parameters().layout()),
        parameters_(layout_),
        gradients_(layout_),
        plan_(nn::makeDnnlPlan(graph_, parameters_, &gradients_, {kBatch, true, 0})),
        updater_(optim::UpdateSpec{optim::readOptimizer(json.at("optimizer")), {}, {}, {}}, layout_,
                 optim::rulesOf(graph_.parameters())),
        classes_(json.at("loss") != "mse"),
        loss_(nn::readLoss(classes_ && json.at("loss") != "mse of softmax" ? Json("categorical_crossentropy")
                                                                           : Json("mse"))) {
    initialize(graph_, parameters_);
  }

  double step(int64_t number) {
    std::vector<std::vector<float>> inputs;
    std::vector<const float*> pointers;
    for (size_t i = 0; i < graph_.inputs().size(); ++i) inputs.push_back(featuresOf(graph_, i, number));
    for (const auto& input : inputs) pointers.push_back(input.data());
    std::vector<uint64_t> rowIds(kBatch);
    plan_->forward({pointers, rowIds, kBatch, 1}, nn::Mode::kTraining);
    int64_t size = graph_.outputShape().numElements();
    std::vector<int32_t> labels;
    for (float value : uniform("label", kBatch, number)) {
      labels.push_back(static_cast<int32_t>(value * static_cast<float>(size)));
    }
    std::vector<float> targets = uniform("target", kBatch * size, number), weights(kBatch, 1.0f);
    nn::Targets given{classes_ ? labels.data() : nullptr, classes_ ? nullptr : targets.data()};
    double loss = nn::computeLoss(loss_, graph_.outputs()[0].tail, plan_->logits(), given, weights, 1.0 / kBatch,
                                  plan_->logitGradients()) /
                  kBatch;
    NoGradientSink sink;
    plan_->backward(sink);
    return loss + updater_.step(parameters_.all(), gradients_.all(), 1);
  }

 private:
  static Json withoutDropout(Json json) {
    for (Json& layer : json.at("layers")) {
      if (layer.at("kind") == "Dropout") layer["rate"] = 0.0;
    }
    return json;
  }

  network::Graph graph_;
  ArenaLayout layout_;
  Arena parameters_, gradients_;
  std::unique_ptr<nn::Plan> plan_;
  optim::Updater updater_;
  bool classes_;
  nn::LossSpec loss_;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kSteps = 3;  // each touches all the memory that any of them does, and takes seconds here
#else
constexpr int64_t kSteps = 20;
#endif

class ReferenceNetworksTest : public testing::TestWithParam<size_t> {};

TEST_P(ReferenceNetworksTest, followPyTorchsLosses) {
  const Json runs = golden::load("reference_networks.json");
  ASSERT_EQ(runs.size(), 6u);
  const Json& json = runs[GetParam()];
  SCOPED_TRACE(json.at("network").dump());
  ReferenceNetwork network(json);
  const Json& losses = json.at("losses");
  ASSERT_EQ(losses.size(), 20u);
  for (int64_t number = 0; number < kSteps; ++number) {
    double wanted = losses[static_cast<size_t>(number)].get<double>();
    EXPECT_NEAR(network.step(number), wanted, 1e-3 * std::abs(wanted)) << "step " << number + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(networks, ReferenceNetworksTest, testing::Range<size_t>(0, 6));

}  // namespace
}  // namespace bloomery::train
