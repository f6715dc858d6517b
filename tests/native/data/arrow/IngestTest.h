// What the tests of ArrowIngest share: batches handed over as the JVM does it, values read back from the store, and a
// fixture that wants all of Arrow's memory back.
#pragma once

#include <arrow/api.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/Error.h"
#include "data/Formats.h"
#include "data/arrow/ArrowIngest.h"
#include "data/arrow/Batches.h"

namespace bloomery::data {

// Hands a batch over as the JVM does; whatever happens, both structs must be released afterwards.
inline void handOver(ArrowIngest& ingest, const arrow::RecordBatch& batch, int partition = 3, int64_t firstRow = 4710) {
  ArrowArray array;
  ArrowSchema schema;
  ASSERT_TRUE(arrow::ExportRecordBatch(batch, &array, &schema).ok());
  auto expectReleased = [&] {
    EXPECT_EQ(schema.release, nullptr);
    EXPECT_EQ(array.release, nullptr);
  };
  try {
    ingest.schema(&schema);
  } catch (...) {
    array.release(&array);
    expectReleased();
    throw;
  }
  try {
    ingest.ingest(&array, partition, firstRow);
  } catch (...) {
    expectReleased();
    throw;
  }
  expectReleased();
}

// Class indices, as the stores of these tests keep them.
inline std::vector<TargetRule> rulesOf(const RowFormat& format) {
  std::vector<TargetRule> rules;
  for (const TargetFormat& target : format.targets) rules.push_back({.shape = {target.width}});
  return rules;
}

inline std::string errorOf(const std::vector<Column>& columns, const IngestColumns& names, const RowFormat& format) {
  RowStore training(format), validation(format);
  ArrowIngest ingest(names, rulesOf(format), &training, &validation);
  try {
    handOver(ingest, *batchOf(columns));
    return "";
  } catch (const UserError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("not a UserError: ") + error.what();
  }
}

inline const std::string kNullAdvice = "; drop such rows, or set the column's nulls to \"zero\" or \"mean\"";
inline const std::string kLengthAdvice = "; give the Input another shape, or the column padding and truncating";

inline std::shared_ptr<arrow::DataType> vectorType() {
  return arrow::struct_({arrow::field("type", arrow::int8()), arrow::field("size", arrow::int32()),
                         arrow::field("indices", arrow::list(arrow::int32())),
                         arrow::field("values", arrow::list(arrow::float64()))});
}

inline std::shared_ptr<arrow::DataType> imageType() {
  return arrow::struct_({arrow::field("origin", arrow::utf8()), arrow::field("height", arrow::int32()),
                         arrow::field("width", arrow::int32()), arrow::field("nChannels", arrow::int32()),
                         arrow::field("mode", arrow::int32()), arrow::field("data", arrow::binary())});
}

inline std::vector<double> featuresOf(const RowStore& rows, int64_t row) {
  std::vector<double> values;
  const std::byte* bytes = rows.features(row);
  for (int64_t i = 0; i < rows.format().features[0].count; ++i) {
    auto read = [&]<typename T>(T value) {
      std::memcpy(&value, bytes + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      values.push_back(static_cast<double>(value));
    };
    switch (rows.format().features[0].type) {
      case DType::kFloat32:
        read(float{});
        break;
      case DType::kFloat64:
        read(double{});
        break;
      case DType::kUint8:
        read(uint8_t{});
        break;
      case DType::kInt8:
        read(int8_t{});
        break;
      case DType::kInt16:
        read(int16_t{});
        break;
      case DType::kInt32:
        read(int32_t{});
        break;
      case DType::kInt64:
        read(int64_t{});
        break;
    }
  }
  return values;
}

class IngestTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(arrowBytesAllocated(), 0); }
};

}  // namespace bloomery::data
