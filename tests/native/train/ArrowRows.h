// The rows of Workers.h as Arrow batches, handed over as C structs, as the JVM does.
#pragma once

#include <arrow/api.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>

#include "train/Workers.h"

namespace bloomery::train {

class ArrowRows {
 public:
  explicit ArrowRows(const std::vector<uint64_t>& ids) {
    data::RowStore rows({{{DType::kUint8, 36}}, {{3, true}}});
    arrow::BinaryBuilder images(arrow::system_memory_pool());
    arrow::Int32Builder labels(arrow::system_memory_pool());
    for (uint64_t id : ids) {
      appendRow(rows, id);
      int64_t last = rows.numRows() - 1;
      check(images.Append(reinterpret_cast<const uint8_t*>(rows.features(last)), 36).ok(), "append");
      check(labels.Append(rows.label(last)).ok(), "append");
    }
    auto schema = arrow::schema({arrow::field("image", arrow::binary()), arrow::field("label", arrow::int32())});
    batch_ = arrow::RecordBatch::Make(schema, static_cast<int64_t>(ids.size()),
                                      {images.Finish().ValueOrDie(), labels.Finish().ValueOrDie()});
    check(arrow::ExportRecordBatch(*batch_, &array_, &schema_).ok(), "export");
  }

  void* array() { return &array_; }
  void* schema() { return &schema_; }
  bool released() const { return array_.release == nullptr && schema_.release == nullptr; }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
  ArrowArray array_;
  ArrowSchema schema_;
};

inline const char* kImageColumns = R"(, "columns": {"features": "image", "label": "label"})";

}  // namespace bloomery::train
