#include "data/Batcher.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/Error.h"
#include "data/Formats.h"

namespace bloomery::data {
namespace {

// Fills a store with values that each type can hold, its extremes included, and compares with plain arithmetic.
template <typename T>
void expectConverted(DType type, double scale) {
  for (int64_t features : {1, 3, 8, 31, 784}) {
    RowStore rows(oneClass(type, features, {}, 10, scale));
    std::vector<std::vector<T>> values;
    for (uint64_t id = 0; id < 20; ++id) {
      std::vector<T> row(static_cast<size_t>(features));
      for (size_t i = 0; i < row.size(); ++i)
        row[i] = static_cast<T>(static_cast<int>((id * 37 + i * 11) % 256) - (T(-1) < T(0) ? 128 : 0));
      row.front() = std::numeric_limits<T>::max();
      row.back() = std::numeric_limits<T>::lowest();
      std::memcpy(rows.append(id, 0, 1), row.data(), row.size() * sizeof(T));
      values.push_back(row);
    }
    Batch batch(8, rows.format());
    std::vector<int64_t> positions = {19, 0, 7, 7, 3};
    Batcher(rows).assemble(positions, batch);
    auto floats = batch.features[0].all();
    for (size_t i = 0; i < positions.size(); ++i) {
      for (size_t j = 0; j < static_cast<size_t>(features); ++j) {
        float wanted = static_cast<float>(values[static_cast<size_t>(positions[i])][j]) * static_cast<float>(scale);
        ASSERT_EQ(floats[i * static_cast<size_t>(features) + j], wanted)
            << nameOf(type) << " row " << i << " value " << j;
      }
    }
  }
}

TEST(Batcher, convertsEveryTypeToScaledFloats) {
  for (double scale : {1.0, 1.0 / 255, -2.5}) {
    expectConverted<float>(DType::kFloat32, scale);
    expectConverted<double>(DType::kFloat64, scale);
    expectConverted<uint8_t>(DType::kUint8, scale);
    expectConverted<int8_t>(DType::kInt8, scale);
    expectConverted<int16_t>(DType::kInt16, scale);
    expectConverted<int32_t>(DType::kInt32, scale);
    expectConverted<int64_t>(DType::kInt64, scale);
  }
}

TEST(Batcher, bringsLabelsWeightsAndRowIds) {
  RowStore rows(oneClass(DType::kUint8, 2));
  for (uint64_t id = 0; id < 5; ++id) {
    std::memset(rows.append(id + 100, static_cast<int32_t>(id), static_cast<float>(id) * 0.75f), 0, 2);
  }
  Batch batch(4, rows.format());
  Batcher batcher(rows);
  std::vector<int64_t> positions = {4, 2, 0};
  batcher.assemble(positions, batch);
  EXPECT_EQ(batch.numRows, 3);
  EXPECT_EQ(batch.targets[0].weightSum, 4.5);
  for (size_t i = 0; i < positions.size(); ++i) {
    auto id = static_cast<uint64_t>(positions[i]);
    EXPECT_EQ(batch.rowIds[i], id + 100);
    EXPECT_EQ(batch.targets[0].classes[i], positions[i]);
    EXPECT_EQ(batch.targets[0].weights[i], static_cast<float>(id) * 0.75f);
  }
  batcher.assemble({}, batch);
  EXPECT_EQ(batch.numRows, 0);
  EXPECT_EQ(batch.targets[0].weightSum, 0.0);
}

TEST(Batcher, refusesRowsThatAreNotThereAndBatchesThatAreTooSmall) {
  RowStore rows(oneClass(DType::kUint8, 2));
  rows.append(0, 0, 1);
  Batch batch(2, rows.format());
  Batcher batcher(rows);
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{1}, {-1}, {0, 0, 0}}) {
    EXPECT_THROW(batcher.assemble(wrong, batch), InternalError);
  }
}

TEST(Batcher, bringsEveryInputAndEveryKindOfTarget) {
  RowStore rows({{{DType::kFloat32, 2, {}, 0.5}, {DType::kInt32, 3, {}, 1, 100}}, {{4, true}, {2, false}, {1, false}}});
  for (int32_t row = 0; row < 5; ++row) {
    rows.append(static_cast<uint64_t>(row), 1.0f + static_cast<float>(row));
    float floats[] = {static_cast<float>(row), -1};
    int32_t indices[] = {row, 99, 0};
    std::memcpy(rows.features(row, 0), floats, sizeof(floats));
    std::memcpy(rows.features(row, 1), indices, sizeof(indices));
    rows.setLabel(row, 0, row % 4);
    rows.values(row, 1)[0] = static_cast<float>(row) / 10;
    rows.values(row, 1)[1] = 0.25f;
    rows.values(row, 2)[0] = static_cast<float>(row % 2);
  }
  Batch batch(3, rows.format());
  // The vectors' classes: row 3 has 0.3 and 0.25, so class 0; row 1 class 1.
  Batcher(rows, {{1, 1, 1, 10}, {5, 7}, {2, 3}}).assemble(std::vector<int64_t>{3, 1}, batch);
  EXPECT_EQ(batch.inputs.size(), 2u);
  EXPECT_EQ(batch.inputs[0][0], 1.5f);
  EXPECT_EQ(batch.inputs[0][3], -0.5f);
  EXPECT_EQ(batch.inputs[1][0], 3.0f);
  EXPECT_EQ(batch.inputs[1][4], 99.0f);
  EXPECT_TRUE(batch.targets[0].isClass);
  EXPECT_EQ(batch.targets[0].classes[0], 3);
  EXPECT_FALSE(batch.targets[1].isClass);
  EXPECT_EQ(batch.targets[1].values[0], 0.3f);
  EXPECT_EQ(batch.targets[1].values[3], 0.25f);
  EXPECT_EQ(batch.targets[2].values[1], 1.0f);
  EXPECT_EQ(batch.targets[0].weights[0], 40.0f);
  EXPECT_EQ(batch.targets[0].weightSum, 42.0);
  EXPECT_EQ(batch.targets[1].weights[0], 20.0f);
  EXPECT_EQ(batch.targets[1].weights[1], 14.0f);
  EXPECT_EQ(batch.targets[2].weightSum, 4.0 * 3 + 2.0 * 3);
}

}  // namespace
}  // namespace bloomery::data
