// A network whose output no longer depends on its input, and what the user is told of it.
#include <gtest/gtest.h>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

// `dead`: weights and bias of the ReLU before the last layer start, and stay, where it is never active.
std::string networkWith(const std::string& hidden, const std::string& last) {
  return R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.00392156862745098},
    {"kind": "Rescaling", "scale": -1.0}, {"kind": "Flatten"}, {"kind": "Dense", "units": 4, "activation": "relu")" +
         hidden + R"(}, {"kind": "Dense", "name": "price", "units": 1)" + last + "}]}";
}

const std::string kDead = R"(, "kernelInitializer": "ones")";  // of inputs that are all negative
const std::string kTraining = R"({"epochs": 3, "batchSize": 4, "loss": "mse", "optimizer": {"kind": "sgd"}})";

std::string warningOf(const char* rows) {
  return message("Output is the same for every row of a batch: layer 'price', all ", rows,
                 " rows of epoch 1. Perhaps no unit of a ReLU before it is active any more: lower the learning rate, "
                 "take leaky_relu, or end in a linear layer");
}

TEST(ConstantOutput, isToldOnceByTheFirstWorker) {
  struct {
    const char* name;
    std::string hidden, last;
  } cases[] = {{"hidden ReLU", kDead, ""},
               {"last ReLU", "", R"(, "activation": "relu", "kernelInitializer": "zeros")"}};
  for (const auto& one : cases) {
    auto workers = trainTogether(kTraining, {{idRange(0, 12)}, {idRange(50, 6)}}, networkWith(one.hidden, one.last));
    EXPECT_EQ(workers[0].log, std::vector<std::string>{warningOf("training")}) << one.name;
    EXPECT_TRUE(workers[1].log.empty()) << one.name;
  }
}

TEST(ConstantOutput, isNotToldWhenAnyRowOfAnyWorkerDiffers) {
  EXPECT_TRUE(trainTogether(kTraining, {{idRange(0, 12), idRange(100, 5)}}, networkWith("", ""))[0].log.empty());
  // The first worker's rows are one and the same.
  std::vector<uint64_t> same(8, 3);
  EXPECT_TRUE(trainTogether(kTraining, {{same}, {idRange(50, 6)}}, networkWith("", ""))[0].log.empty());
  EXPECT_EQ(trainTogether(kTraining, {{same}, {same}}, networkWith("", ""))[0].log.size(), 1u);
}

TEST(ConstantOutput, isToldOfValidationRowsToo) {
  std::vector<uint64_t> same(8, 3);
  auto workers = trainTogether(kTraining, {{idRange(0, 12), same}}, networkWith("", ""));
  EXPECT_EQ(workers[0].log, std::vector<std::string>{warningOf("validation")});
}

TEST(ConstantOutput, ofSingleRowsIsNoWonder) {
  auto workers =
      trainTogether(R"({"epochs": 2, "batchSize": 1, "loss": "mse"})", {{idRange(0, 4)}}, networkWith(kDead, ""));
  EXPECT_TRUE(workers[0].log.empty());
}

}  // namespace
}  // namespace bloomery::train
