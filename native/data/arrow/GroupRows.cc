#include "data/arrow/GroupRows.h"

#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <utility>

namespace bloomery::data {

arrow::Result<GroupRows> GroupRows::open(parquet::arrow::FileReader& reader, int rowGroup,
                                         std::vector<Column> columns) {
  GroupRows rows;
  rows.reader_ = &reader;
  auto group = reader.parquet_reader()->RowGroup(rowGroup);
  rows.rowsLeft_ = group->metadata()->num_rows();
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<int> others;
  for (const Column& column : columns) {
    fields.push_back(column.field);
    Part part;
    int leaf = column.leaves.front();
    if (DirectColumn::canRead(*column.field, *group->metadata()->schema()->Column(leaf))) {
      int64_t numLevels = group->metadata()->ColumnChunk(leaf)->num_values();
      part.direct = DirectColumn::open(*column.field, group->Column(leaf), rows.rowsLeft_, numLevels);
    } else {
      others.insert(others.end(), column.leaves.begin(), column.leaves.end());
    }
    rows.parts_.push_back(std::move(part));
  }
  rows.schema_ = arrow::schema(std::move(fields));
  if (!others.empty()) {
    std::ranges::sort(others);
    ARROW_ASSIGN_OR_RAISE(rows.batches_, reader.GetRecordBatchReader({rowGroup}, others));
  }
  return rows;
}

// Sees to it that every column has rows that wait.
arrow::Status GroupRows::fill(int64_t rows) {
  std::shared_ptr<arrow::RecordBatch> batch;
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (part.waiting != nullptr) continue;
    if (part.direct != nullptr) {
      ARROW_ASSIGN_OR_RAISE(part.waiting, part.direct->next(rows));
      continue;
    }
    if (batch == nullptr) {
      reader_->set_batch_size(rows);
      ARROW_ASSIGN_OR_RAISE(batch, batches_->Next());
      if (batch == nullptr) return arrow::Status::Invalid("Columns differ in their number of rows");
    }
    part.waiting = batch->GetColumnByName(schema_->field(static_cast<int>(i))->name());
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> GroupRows::next(int64_t rows) {
  if (rowsLeft_ == 0) return nullptr;
  ARROW_RETURN_NOT_OK(fill(std::min(rows, rowsLeft_)));
  int64_t count = std::min(rows, rowsLeft_);
  for (const Part& part : parts_) count = std::min(count, part.waiting->length());
  if (count == 0) return arrow::Status::Invalid("Columns differ in their number of rows");
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (Part& part : parts_) {
    bool isAll = part.waiting->length() == count;
    arrays.push_back(isAll ? part.waiting : part.waiting->Slice(0, count));
    part.waiting = isAll ? nullptr : part.waiting->Slice(count);
  }
  rowsLeft_ -= count;
  return arrow::RecordBatch::Make(schema_, count, std::move(arrays));
}

}  // namespace bloomery::data
