// Training on rows of which memory holds a part: how much memory there is changes nothing.
#include <gtest/gtest.h>

#include <filesystem>

#include "train/Workers.h"

namespace bloomery::train {
namespace {

// About ten rows a chunk.
std::string largeNetwork() {
  return R"({"layers": [{"kind": "Input", "shape": [100000], "dtype": "uint8", "scale": 0.001},
             {"kind": "Dense", "units": 8, "activation": "relu"}, {"kind": "Dropout", "rate": 0.25},
             {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
}

std::string dataSection(const std::string& memory, bool encrypted) {
  std::string folder = std::filesystem::temp_directory_path();
  return message(R"(, "data": {"shuffleBuffer": 25, "memory": )", memory, R"(, "folders": [")", folder, "\"]",
                 encrypted ? message(R"(, "encryptionKey": ")", std::string(64, 'a'), "\"") : "", "}");
}

struct Budget {
  const char* name;
  const char* memory;
  bool encrypted;
  bool slow;
};

class SpilledTraining : public testing::TestWithParam<Budget> {};

TEST_P(SpilledTraining, givesTheBitsOfTrainingInMemory) {
  std::string training =
      R"({"epochs": 3, "batchSize": 8, "optimizer": {"kind": "sgd", "learningRate": 0.001}, "seed": 3})";
  std::vector<WorkerRows> rows = {{idRange(0, 75), idRange(900, 25)}, {idRange(100, 41)}};
  auto inMemory = trainTogether(training, rows, largeNetwork(), R"(, "data": {"shuffleBuffer": 25})");
  if (GetParam().slow) {
    rows[0].beforeRow = [](size_t row) {
      if (row % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    };
    rows[1].beforeRow = [](size_t) {};
  }
  auto spilled = trainTogether(training, rows, largeNetwork(), dataSection(GetParam().memory, GetParam().encrypted));
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(spilled[rank].parameters, inMemory[rank].parameters);
    EXPECT_EQ(spilled[rank].losses, inMemory[rank].losses);
  }
  EXPECT_EQ(spilled[0].lastEpoch.at("validation"), inMemory[0].lastEpoch.at("validation"));
}

INSTANTIATE_TEST_SUITE_P(Budgets, SpilledTraining,
                         testing::Values(Budget{"none", "0", false, false},
                                         Budget{"threeMebibytes", "3145728", false, true},
                                         Budget{"encrypted", "5242880", true, true},
                                         Budget{"enough", "1000000000", false, false}),
                         [](const auto& test) { return test.param.name; });

TEST(SpilledTraining, wrongSettingsAreUserErrors) {
  auto failureOf = [](const std::string& section) -> std::string {
    try {
      TaskSpec::parse(taskJson("{}", 0, 1, section));
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(failureOf(R"(, "data": {"memory": -1})"), "Negative: dataMemory -1, give bytes from 0");
  EXPECT_EQ(failureOf(R"(, "data": {"encryptionKey": "abc"})"), "Not 64 hexadecimal digits: data.encryptionKey");
  EXPECT_NE(failureOf(R"(, "data": {"memry": 1})").find("nearest known: memory"), std::string::npos);
}

}  // namespace
}  // namespace bloomery::train
