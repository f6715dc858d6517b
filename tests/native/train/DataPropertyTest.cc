// Whatever the rows, their partitions, the workers and the memory: every row is used once an epoch, and the workers'
// gradients add up to those of a single one. Every case is drawn from a seed, which the failure names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "data/Prefetcher.h"
#include "train/Workers.h"

namespace bloomery::train {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : seed_(seed) {}
  // In [low, high].
  int64_t whole(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(philox(seed_, count_++, 1)[0] % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int64_t percent) { return whole(1, 100) <= percent; }

 private:
  uint64_t seed_;
  uint64_t count_ = 0;
};

data::RowFormat drawFormat(Draw& draw) {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kUint8, DType::kInt8,
                              DType::kInt16,   DType::kInt32,   DType::kInt64};
  data::RowFormat format;
  for (int64_t i = draw.whole(1, 3); i > 0; --i) {
    // Some rows are so large that a chunk holds few of them.
    format.features.push_back(
        {kTypes[draw.whole(0, 6)], draw.chance(40) ? draw.whole(20'000, 60'000) : draw.whole(1, 9)});
  }
  for (int64_t i = draw.whole(0, 2); i > 0; --i) format.targets.push_back({draw.whole(1, 5), draw.chance(50)});
  return format;
}

// The first byte of every feature says whose it is.
void append(data::RowStore& rows, uint64_t id) {
  rows.append(id, 1.0f + static_cast<float>(id % 3));
  int64_t row = rows.numRows() - 1;
  const data::RowFormat& format = rows.format();
  for (size_t i = 0; i < format.features.size(); ++i) {
    std::memset(rows.features(row, i), 0, format.features[i].bytes());
    if (format.features[i].type == DType::kUint8) *rows.features(row, i) = static_cast<std::byte>(id % 256);
  }
  for (size_t i = 0; i < format.targets.size(); ++i) {
    if (format.targets[i].isClass) rows.setLabel(row, i, static_cast<int32_t>(id % 2) * (format.targets[i].width > 1));
    for (int64_t j = 0; !format.targets[i].isClass && j < format.targets[i].width; ++j) rows.values(row, i)[j] = 0.5f;
  }
}

void expectBatch(const data::Batch& batch, const data::RowFormat& format) {
  for (int64_t i = 0; i < batch.numRows; ++i) {
    auto place = static_cast<size_t>(i);
    uint64_t id = batch.rowIds[place];
    for (size_t input = 0; input < format.features.size(); ++input) {
      if (format.features[input].type != DType::kUint8) continue;
      ASSERT_EQ(batch.inputs[input][i * format.features[input].count], static_cast<float>(id % 256));
    }
    for (const data::Batch::Target& target : batch.targets) {
      ASSERT_EQ(target.weights[place], 1.0f + static_cast<float>(id % 3));
    }
  }
}

class EveryRowOnce : public testing::TestWithParam<uint64_t> {};

TEST_P(EveryRowOnce, anEpoch) {
  Draw draw(GetParam());
  data::RowFormat format = drawFormat(draw);
  int64_t numRows = draw.chance(15) ? draw.whole(0, 2) : draw.whole(3, 400);
  int64_t batchSize = draw.whole(1, 70), buffer = draw.chance(30) ? 1 : draw.whole(2, 500);
  bool shuffle = draw.chance(70);
  data::SpillOptions options{draw.whole(0, 6) << 20, {std::filesystem::temp_directory_path()}, {}};
  if (draw.chance(30)) options.key = readCipherKey(std::string(64, '3'), "key");
  data::SpillSpace space(options);
  data::RowStore rows(format, draw.chance(70) ? &space : nullptr);
  bool streams = draw.chance(60);
  auto ingest = [&, pauses = Draw(GetParam() + 1'000'000)]() mutable {
    for (int64_t row = 0; row < numRows; ++row) {
      append(rows, static_cast<uint64_t>(row) << 8);
      if (pauses.chance(20)) rows.publish();
      if (streams && pauses.chance(1)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    rows.finish();
  };
  std::thread thread;
  streams ? void(thread = std::thread(ingest)) : ingest();
  Cancellation cancellation;
  Trace trace;
  data::Prefetcher batches(rows, batchSize, static_cast<int>(draw.whole(1, 4)), cancellation, trace);
  for (int64_t epoch = 1; epoch <= 3; ++epoch) {
    if (epoch == 1 && streams) {
      batches.startEpoch(std::make_unique<data::StreamedRows>(rows, batchSize, buffer, GetParam()));
    } else {
      data::Order order(rows.numRows(), rows.rowsPerBlock(), GetParam(), epoch, shuffle);
      batches.startEpoch(std::make_unique<data::OrderedRows>(order, batchSize));
    }
    std::vector<int> seen(static_cast<size_t>(numRows));
    while (data::Batch* batch = batches.peek()) {
      expectBatch(*batch, format);
      for (int64_t i = 0; i < batch->numRows; ++i) ++seen[batch->rowIds[static_cast<size_t>(i)] >> 8];
      batches.pop();
    }
    EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(numRows), 1)) << "epoch " << epoch;
    if (thread.joinable()) thread.join();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EveryRowOnce, testing::Range(uint64_t{1}, uint64_t{61}));

class SummedGradients : public testing::TestWithParam<uint64_t> {};

// One step of plain SGD with learning rate 1 moves the parameters by the gradient itself.
TEST_P(SummedGradients, equalThoseOfASingleWorker) {
  Draw draw(GetParam());
  std::string folder = std::filesystem::temp_directory_path();
  auto workers = static_cast<size_t>(draw.whole(1, 4));
  std::vector<WorkerRows> rows(workers);
  WorkerRows all;
  auto weightOf = [](uint64_t id) { return static_cast<float>(id % 5) / 4; };
  for (size_t rank = 0; rank < workers; ++rank) {
    uint64_t count = draw.chance(30) && rank > 0 ? 0 : static_cast<uint64_t>(draw.whole(1, 40));
    rows[rank].training = idRange(rank * 1000 + 1, count);
    all.training.insert(all.training.end(), rows[rank].training.begin(), rows[rank].training.end());
    if (draw.chance(50)) {
      auto pauseAt = static_cast<size_t>(draw.whole(0, 40));
      rows[rank].beforeRow = [pauseAt](size_t row) {
        if (row == pauseAt) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      };
    }
  }
  std::string sections = message(R"(, "data": {"memory": 0, "folders": [")", folder, R"("]})");
  if (draw.chance(50)) {
    sections += R"(, "columns": {"label": "label", "weight": "w"})";
    for (WorkerRows& one : rows) one.weightOf = weightOf;
    all.weightOf = weightOf;
  }
  std::string network = R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.004},
      {"kind": "Flatten"}, {"kind": "Dense", "units": 7, "activation": "tanh"},
      {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
  std::string training =
      message(R"({"epochs": 1, "batchSize": 200, "optimizer": {"kind": "sgd", "learningRate": 1}, )", R"("seed": )",
              GetParam(), R"(, "shuffle": )", draw.chance(50) ? "true" : "false", "}");
  auto together = trainTogether(training, rows, network, sections);
  auto alone = trainTogether(training, {all}, network, sections);
  for (size_t i = 0; i < alone[0].parameters.size(); ++i) {
    ASSERT_NEAR(together[0].parameters[i], alone[0].parameters[i], 2e-6) << i;
  }
  for (const WorkerResult& worker : together) EXPECT_EQ(worker.samples, alone[0].samples);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SummedGradients, testing::Range(uint64_t{1}, uint64_t{31}));

}  // namespace
}  // namespace bloomery::train
