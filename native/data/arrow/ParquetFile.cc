#include "data/arrow/ParquetFile.h"

#include <arrow/io/file.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "base/Error.h"
#include "base/Names.h"
#include "data/arrow/VectorColumn.h"

namespace bloomery::data {

namespace {

// A batch of about this size keeps reading quick and memory small, whatever a row weighs.
constexpr int64_t kBatchBytes = 16 << 20;
constexpr int64_t kMaxBatchRows = 1 << 16;

std::string firstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

parquet::ReaderProperties readerProperties() {
  parquet::ReaderProperties properties(arrow::system_memory_pool());
  properties.set_page_checksum_verification(true);
  return properties;
}

// Without reading ahead, which would hold all of the file and use threads of Arrow's.
parquet::ArrowReaderProperties arrowProperties() {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  return properties;
}

}  // namespace

// Whatever comes out of the Parquet library becomes an error of ours that names the file.
template <typename Read>
auto ParquetFile::guarded(Read read) const -> decltype(read().ValueUnsafe()) {
  auto unreadable = [&](const std::string& why) {
    return UserError(message("Not a readable Parquet file: ", name_, ": ", firstLine(why)));
  };
  try {
    auto result = read();
    if (result.ok()) return std::move(result).ValueUnsafe();
    if (result.status().IsOutOfMemory()) throw ResourceError(message("Out of memory while reading file ", name_));
    throw unreadable(result.status().message());
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw ResourceError(message("Out of memory while reading file ", name_));
  } catch (const std::exception& error) {
    throw unreadable(error.what());
  }
}

ParquetFile ParquetFile::open(const std::string& path) {
  auto source = arrow::io::ReadableFile::Open(path, arrow::system_memory_pool());
  if (!source.ok()) throw UserError(message("Cannot read file: ", path));
  return ParquetFile(path, std::move(source).ValueUnsafe());
}

ParquetFile::ParquetFile(std::string name, std::shared_ptr<arrow::io::RandomAccessFile> source)
    : name_(std::move(name)) {
  reader_ = guarded([&]() -> arrow::Result<std::unique_ptr<parquet::arrow::FileReader>> {
    auto file = parquet::ParquetFileReader::Open(std::move(source), readerProperties());
    return parquet::arrow::FileReader::Make(arrow::system_memory_pool(), std::move(file), arrowProperties());
  });
  schema_ = guarded([&]() -> arrow::Result<std::shared_ptr<arrow::Schema>> {
    std::shared_ptr<arrow::Schema> schema;
    ARROW_RETURN_NOT_OK(reader_->GetSchema(&schema));
    return schema;
  });
  numRows_ = reader_->parquet_reader()->metadata()->num_rows();
}

std::vector<std::shared_ptr<arrow::Field>> ParquetFile::fields(const std::vector<std::string>& columns) const {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const std::string& column : columns) {
    std::vector<int> found = schema_->GetAllFieldIndices(column);
    if (found.empty())
      throw UserError(message(unknownName("column", column, schema_->field_names()), ", file ", name_));
    if (found.size() > 1) throw UserError(message("Two columns have the same name: ", column, ", file ", name_));
    std::shared_ptr<arrow::Field> field = schema_->field(found[0]);
    fields.push_back(isVector(*field->type()) ? field->WithType(vectorArrayType()) : field);
  }
  return fields;
}

// Parquet counts the leaves of nested columns one by one.
std::vector<int> ParquetFile::leavesOf(const std::vector<std::string>& columns) const {
  const parquet::SchemaDescriptor& schema = *reader_->parquet_reader()->metadata()->schema();
  std::vector<int> leaves;
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    if (std::ranges::find(columns, schema.GetColumnRoot(leaf)->name()) != columns.end()) leaves.push_back(leaf);
  }
  return leaves;
}

int64_t ParquetFile::rowsOfBatch(const std::vector<int>& leaves) const {
  const parquet::FileMetaData& metadata = *reader_->parquet_reader()->metadata();
  int64_t bytes = 0;
  for (int group = 0; group < metadata.num_row_groups(); ++group) {
    for (int leaf : leaves) bytes += metadata.RowGroup(group)->ColumnChunk(leaf)->total_uncompressed_size();
  }
  int64_t rowBytes = std::max<int64_t>(bytes / std::max<int64_t>(numRows_, 1), 1);
  return std::clamp<int64_t>(kBatchBytes / rowBytes, 1, kMaxBatchRows);
}

void ParquetFile::start(const std::vector<std::string>& columns) {
  fields(columns);
  columns_ = columns;
  batches_ = guarded([&]() -> arrow::Result<std::unique_ptr<arrow::RecordBatchReader>> {
    std::vector<int> leaves = leavesOf(columns);
    std::vector<int> groups(static_cast<size_t>(reader_->num_row_groups()));
    std::iota(groups.begin(), groups.end(), 0);
    reader_->set_batch_size(rowsOfBatch(leaves));
    return reader_->GetRecordBatchReader(groups, leaves);
  });
}

std::shared_ptr<arrow::RecordBatch> ParquetFile::next() {
  check(batches_ != nullptr, "Rows of a Parquet file were asked for before its columns were chosen");
  auto batch = guarded([&] { return batches_->Next(); });
  if (batch == nullptr) return nullptr;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const std::string& column : columns_) {
    std::shared_ptr<arrow::Array> array = batch->GetColumnByName(column);
    arrays.push_back(isVector(*array->type()) ? guarded([&] { return vectorsToArrays(*array); }) : array);
  }
  return arrow::RecordBatch::Make(arrow::schema(fields(columns_)), batch->num_rows(), std::move(arrays));
}

}  // namespace bloomery::data
