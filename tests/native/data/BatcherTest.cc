#include "data/Batcher.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/Error.h"

namespace bloomery::data {
namespace {

// Fills a store with values that each type can hold, its extremes included, and compares with plain arithmetic.
template <typename T>
void expectConverted(DType type, double scale) {
  for (int64_t features : {1, 3, 8, 31, 784}) {
    RowStore rows({type, features});
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
    Batch batch(8, features);
    std::vector<int64_t> positions = {19, 0, 7, 7, 3};
    Batcher(rows, scale).assemble(positions, batch);
    auto floats = batch.features.all();
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
  RowStore rows({DType::kUint8, 2});
  for (uint64_t id = 0; id < 5; ++id) {
    std::memset(rows.append(id + 100, static_cast<int32_t>(id), static_cast<float>(id) * 0.75f), 0, 2);
  }
  Batch batch(4, 2);
  Batcher batcher(rows, 1);
  std::vector<int64_t> positions = {4, 2, 0};
  batcher.assemble(positions, batch);
  EXPECT_EQ(batch.numRows, 3);
  EXPECT_EQ(batch.weightSum, 4.5);
  for (size_t i = 0; i < positions.size(); ++i) {
    auto id = static_cast<uint64_t>(positions[i]);
    EXPECT_EQ(batch.rowIds[i], id + 100);
    EXPECT_EQ(batch.labels[i], positions[i]);
    EXPECT_EQ(batch.weights[i], static_cast<float>(id) * 0.75f);
  }
  batcher.assemble({}, batch);
  EXPECT_EQ(batch.numRows, 0);
  EXPECT_EQ(batch.weightSum, 0.0);
}

TEST(Batcher, refusesRowsThatAreNotThereAndBatchesThatAreTooSmall) {
  RowStore rows({DType::kUint8, 2});
  rows.append(0, 0, 1);
  Batch batch(2, 2);
  Batcher batcher(rows, 1);
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{1}, {-1}, {0, 0, 0}}) {
    EXPECT_THROW(batcher.assemble(wrong, batch), InternalError);
  }
}

}  // namespace
}  // namespace bloomery::data
