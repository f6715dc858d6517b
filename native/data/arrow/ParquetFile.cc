#include "data/arrow/ParquetFile.h"

#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/Error.h"
#include "base/Names.h"
#include "data/LocalFile.h"
#include "data/arrow/RecyclingPool.h"

namespace bloomery::data {

namespace {

// A batch of about this size keeps reading quick and memory small, whatever a row weighs.
constexpr int64_t kBatchBytes = 4 << 20;
constexpr int64_t kMaxBatchRows = 1 << 16;

// Column chunks this close to each other are read as one, up to this size: a read may go to another machine.
constexpr arrow::io::CacheOptions kCoalescing{/*hole_size_limit=*/64 << 10, /*range_size_limit=*/16 << 20,
                                              /*lazy=*/true};

// What is held of each column chunk of a file of this machine, where a read costs little.
constexpr int64_t kPieceBytes = 1 << 20;

std::string firstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

parquet::ReaderProperties readerProperties(ReadSize size) {
  parquet::ReaderProperties properties(recyclingPool());
  properties.set_page_checksum_verification(true);
  if (size == ReadSize::kPieces) {
    properties.enable_buffered_stream();
    properties.set_buffer_size(kPieceBytes);
  }
  return properties;
}

// Ranges are read when the first of their columns is needed, and by the thread that needs it.
parquet::ArrowReaderProperties arrowProperties(const parquet::SchemaDescriptor& schema, ReadSize size,
                                               const std::vector<std::string>& encodedTexts) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(size == ReadSize::kChunks);
  properties.set_cache_options(kCoalescing);
  properties.set_io_context(arrow::io::IOContext(recyclingPool()));
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    bool isWanted = std::ranges::find(encodedTexts, schema.GetColumnRoot(leaf)->name()) != encodedTexts.end();
    if (isWanted)
      properties.set_read_dictionary(leaf, schema.Column(leaf)->physical_type() == parquet::Type::BYTE_ARRAY);
  }
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
    source_->rethrowFailure();
    if (result.status().IsOutOfMemory()) throw ResourceError(message("Out of memory while reading file ", name_));
    throw unreadable(result.status().message());
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw ResourceError(message("Out of memory while reading file ", name_));
  } catch (const std::exception& error) {
    source_->rethrowFailure();
    throw unreadable(error.what());
  }
}

ParquetFile ParquetFile::open(const std::string& path) {
  return ParquetFile(std::make_shared<LocalFile>(path), ReadSize::kPieces);
}

ParquetFile::ParquetFile(std::shared_ptr<ByteSource> source, ReadSize size,
                         const std::vector<std::string>& encodedTexts)
    : name_(source->name()), source_(std::make_shared<SourceFile>(std::move(source))) {
  reader_ = guarded([&]() -> arrow::Result<std::unique_ptr<parquet::arrow::FileReader>> {
    auto file = parquet::ParquetFileReader::Open(source_, readerProperties(size));
    auto properties = arrowProperties(*file->metadata()->schema(), size, encodedTexts);
    return parquet::arrow::FileReader::Make(recyclingPool(), std::move(file), properties);
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
    fields.push_back(schema_->field(found[0]));
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

int64_t ParquetFile::firstRowOf(int rowGroup) const {
  const parquet::FileMetaData& metadata = *reader_->parquet_reader()->metadata();
  int64_t first = 0;
  for (int group = 0; group < rowGroup; ++group) first += metadata.RowGroup(group)->num_rows();
  return first;
}

int64_t ParquetFile::rowsOfBatch(const std::vector<int>& leaves, int rowGroup) const {
  auto group = reader_->parquet_reader()->metadata()->RowGroup(rowGroup);
  int64_t bytes = 0;
  for (int leaf : leaves) bytes += group->ColumnChunk(leaf)->total_uncompressed_size();
  int64_t rowBytes = std::max<int64_t>(bytes / std::max<int64_t>(group->num_rows(), 1), 1);
  return std::clamp<int64_t>(kBatchBytes / rowBytes, 1, kMaxBatchRows);
}

void ParquetFile::start(const std::vector<std::string>& columns) {
  fields(columns);
  columns_ = columns;
  batches_.reset();
  nextGroup_ = 0;
  endGroup_ = numRowGroups();
}

void ParquetFile::start(const std::vector<std::string>& columns, int rowGroup) {
  if (rowGroup < 0 || rowGroup >= numRowGroups()) {
    throw UserError(message("File has changed: no row group ", rowGroup, " of ", numRowGroups(), ", file ", name_));
  }
  start(columns);
  nextGroup_ = rowGroup;
  endGroup_ = rowGroup + 1;
}

// One group at a time: what was read of the one before is let go.
void ParquetFile::open(int rowGroup) {
  batches_ = guarded([&]() -> arrow::Result<std::unique_ptr<arrow::RecordBatchReader>> {
    std::vector<int> leaves = leavesOf(columns_);
    reader_->set_batch_size(rowsOfBatch(leaves, rowGroup));
    return reader_->GetRecordBatchReader({rowGroup}, leaves);
  });
}

std::shared_ptr<arrow::RecordBatch> ParquetFile::next() {
  check(!columns_.empty(), "Rows of a Parquet file were asked for before its columns were chosen");
  std::shared_ptr<arrow::RecordBatch> batch;
  while (batch == nullptr && (batches_ != nullptr || nextGroup_ < endGroup_)) {
    if (batches_ == nullptr) open(nextGroup_++);
    batch = guarded([&] { return batches_->Next(); });
    if (batch == nullptr) batches_.reset();
  }
  if (batch == nullptr) return nullptr;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const std::string& column : columns_) arrays.push_back(batch->GetColumnByName(column));
  return arrow::RecordBatch::Make(arrow::schema(fields(columns_)), batch->num_rows(), std::move(arrays));
}

}  // namespace bloomery::data
