#include "nn/Profile.h"

#include <gtest/gtest.h>

#include "network/Networks.h"

namespace bloomery::nn {
namespace {

const std::string kNetwork = network::networkOf("[4]", R"({"kind": "Dense", "name": "first", "units": 8},
    {"kind": "LayerNormalization", "name": "norm", "trainable": false}, {"kind": "Dense", "name": "last", "units": 2})");

TEST(Profile, workIsWhatALayerCannotDoWithout) {
  network::Graph graph = network::graphOf(kNetwork);
  Profile profile;
  profile.open(graph, 10, true);
  const LayerTimes &first = profile.layers[1], &norm = profile.layers[2], &last = profile.layers[3];
  // 10 rows of 4 values and 40 parameters in, 10 rows of 8 values out.
  EXPECT_EQ(first.forward.bytes, 4.0 * (40 + 80 + 40));
  // The first layer hands no gradient on: one matrix product, as in forward.
  EXPECT_EQ(first.backward.bytes, 4.0 * (80 + 40 + 40));
  EXPECT_EQ(first.backward.operations, first.forward.operations);
  // A frozen one hands on, and has no gradients of its own.
  EXPECT_EQ(norm.backward.bytes, 4.0 * (80 + 80 + 16));
  EXPECT_EQ(last.backward.bytes, 4.0 * (20 + 2 * (80 + 18)));
  EXPECT_EQ(last.backward.operations, 2 * last.forward.operations);
  EXPECT_EQ(last.forwardSpan, "last forward");
}

TEST(Profile, anInferencePlanHasNoBackward) {
  Profile profile;
  profile.open(network::graphOf(kNetwork), 10, false);
  for (const LayerTimes& layer : profile.layers) EXPECT_EQ(layer.backward.bytes, 0.0);
}

}  // namespace
}  // namespace bloomery::nn
