#include "base/Names.h"

#include <gtest/gtest.h>

namespace bloomery {
namespace {

const std::vector<std::string> kOptimizers = {"sgd", "adam", "adadelta"};
const std::vector<std::string> kKinds = {"Conv2D", "Dense", "MaxPool2D", "Dropout", "Flatten"};

TEST(Names, findsTheNearest) {
  struct {
    std::string name;
    std::vector<std::string> candidates;
    const char* nearest;
  } cases[] = {
      {"adamm", kOptimizers, "adam"},
      {"Adam", kOptimizers, "adam"},
      {"adda", kOptimizers, "adam"},
      {"ada_delta", kOptimizers, "adadelta"},
      {"rmsprop", kOptimizers, ""},
      {"", kOptimizers, ""},
      {"sdg", kOptimizers, "sgd"},
      {"conv2d", kKinds, "Conv2D"},
      {"Conv2d", kKinds, "Conv2D"},
      {"max_pool_2d", kKinds, "MaxPool2D"},
      {"MaxPooling2D", kKinds, "MaxPool2D"},
      {"Dens", kKinds, "Dense"},
      {"LSTM", kKinds, ""},
      {"droput", kKinds, "Dropout"},
      {"anything", {}, ""},
      {"x" + std::string(1'000'000, 'y'), {"x" + std::string(1'000'001, 'y')}, ""},  // would take hours to compare
      {"adamm", {"adam", std::string(1'000'000, 'a')}, "adam"},
  };
  for (const auto& one : cases) EXPECT_EQ(nearestName(one.name, one.candidates), one.nearest) << one.name;
}

TEST(Names, unknownNameSuggestsOneOrListsAll) {
  EXPECT_EQ(unknownName("optimizer", "adamm", kOptimizers), "Unknown optimizer: adamm, nearest known: adam");
  EXPECT_EQ(unknownName("optimizer", "rmsprop", kOptimizers), "Unknown optimizer: rmsprop, known: adadelta, adam, sgd");
  EXPECT_EQ(unknownName("column", "x", {}), "Unknown column: x, known: ");
}

}  // namespace
}  // namespace bloomery
