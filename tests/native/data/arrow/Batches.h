// Record batches written as JSON, column by column.
#pragma once

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include <memory>
#include <string>
#include <vector>

namespace bloomery::data {

struct Column {
  std::string name;
  std::shared_ptr<arrow::DataType> type;
  std::string json;
};

inline std::shared_ptr<arrow::RecordBatch> batchOf(const std::vector<Column>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const Column& column : columns) {
    fields.push_back(arrow::field(column.name, column.type));
    arrays.push_back(arrow::json::ArrayFromJSONString(column.type, column.json).ValueOrDie());
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), arrays.empty() ? 0 : arrays[0]->length(), arrays);
}

}  // namespace bloomery::data
