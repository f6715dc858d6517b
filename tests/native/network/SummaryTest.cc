#include "network/Summary.h"

#include <gtest/gtest.h>

#include "base/JsonValue.h"
#include "network/Networks.h"

namespace bloomery::network {
namespace {

TEST(Summary, tableIsWhatKerasUsersKnow) {
  EXPECT_EQ(summaryTable(graphOf(kMnistCnn)),
            "Network: \"mnist-cnn\"\n"
            "----------------------------------------------------------\n"
            "Layer (kind)             Output shape           Parameters\n"
            "----------------------------------------------------------\n"
            "input (Input)            (None, 28, 28, 1)               0\n"
            "conv2d (Conv2D)          (None, 26, 26, 32)            320\n"
            "conv2d_1 (Conv2D)        (None, 24, 24, 64)         18,496\n"
            "max_pool2d (MaxPool2D)   (None, 12, 12, 64)              0\n"
            "dropout (Dropout)        (None, 12, 12, 64)              0\n"
            "flatten (Flatten)        (None, 9216)                    0\n"
            "dense (Dense)            (None, 128)             1,179,776\n"
            "dropout_1 (Dropout)      (None, 128)                     0\n"
            "dense_1 (Dense)          (None, 10)                  1,290\n"
            "----------------------------------------------------------\n"
            "Total parameters: 1,199,882 (4.58 MB)\n"
            "Trainable parameters: 1,199,882\n");
}

TEST(Summary, describesTheNetworkAsJson) {
  Json json = describe(graphOf(kMnistCnn));
  EXPECT_EQ(json.at("parameters"), 1199882);
  EXPECT_EQ(json.at("trainableParameters"), 1199882);
  EXPECT_EQ(json.at("layers").size(), 9u);
  EXPECT_EQ(json.at("layers")[1].dump(),
            R"({"name":"conv2d","kind":"Conv2D","output":[26,26,32],"parameters":320,"flops":389376})");
  EXPECT_EQ(json.at("input").dump(),
            R"({"name":"input","shape":[28,28,1],"dtype":"uint8","scale":0.00392156862745098,"rowBytes":784})");
  EXPECT_EQ(json.at("output").dump(), R"({"name":"dense_1","shape":[10],"tail":"softmax","classes":10})");
  EXPECT_EQ(json.at("inputs").size(), 1u);
  EXPECT_EQ(json.at("outputs").size(), 1u);
  EXPECT_EQ(json.at("summary"), summaryTable(graphOf(kMnistCnn)));
  int64_t flops = 10;  // of the softmax that belongs to the last layer
  for (const Json& layer : json.at("layers")) flops += layer.at("flops").get<int64_t>();
  EXPECT_EQ(json.at("flopsPerSample"), flops);
}

TEST(Summary, anOutputThatIsNoVectorHasNoClasses) {
  Json json = describe(graphOf(networkOf("[4, 4, 1]", R"({"kind": "ReLU"})")));
  EXPECT_EQ(json.at("output").dump(), R"({"name":"relu","shape":[4,4,1],"tail":"linear"})");
  EXPECT_EQ(json.at("parameters"), 0);
}

}  // namespace
}  // namespace bloomery::network
