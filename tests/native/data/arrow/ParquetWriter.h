// Writes record batches as Parquet files, as other programs do.
#pragma once

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <string>

#include "base/Error.h"

namespace bloomery::data {

struct WriterOptions {
  int64_t rowsPerGroup = 1000;
  bool keepsArrowTypes = true;  // as Arrow's own writers do, and Spark does not
  bool checksums = false;       // as Spark does
};

inline void writeParquet(const std::string& path, const std::shared_ptr<arrow::RecordBatch>& batch,
                         const WriterOptions& options = {}) {
  auto table = arrow::Table::FromRecordBatches({batch}).ValueOrDie();
  auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  parquet::WriterProperties::Builder properties;
  properties.memory_pool(arrow::system_memory_pool());
  if (options.checksums) properties.enable_page_checksum();
  parquet::ArrowWriterProperties::Builder arrowProperties;
  if (options.keepsArrowTypes) arrowProperties.store_schema();
  arrow::Status status = parquet::arrow::WriteTable(*table, arrow::system_memory_pool(), file, options.rowsPerGroup,
                                                    properties.build(), arrowProperties.build());
  check(status.ok() && file->Close().ok(), "Parquet file was not written: ", path, ", ", status.ToString());
}

}  // namespace bloomery::data
