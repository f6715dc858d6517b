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
// A batch has at most so many times the rows of the one before.
constexpr int64_t kBatchGrowth = 8;
// The first rows, where they are waited for: about as many as a training's first step wants, in so small batches.
constexpr int64_t kFirstRows = 4096, kFewRows = 256;

// Column chunks this close to each other are read as one, up to this size: a read may go to another machine.
constexpr arrow::io::CacheOptions kCoalescing{/*hole_size_limit=*/64 << 10, /*range_size_limit=*/16 << 20,
                                              /*lazy=*/true};

// A piece of a column chunk is never smaller, however many columns there are: each costs a read.
constexpr int64_t kMinPieceBytes = 64 << 10;
// Of a file of this machine, where a read costs little: what was read is still in the processor's cache when it is
// decoded.
constexpr int64_t kLocalReadBytes = 4 << 20, kLocalPieceBytes = 256 << 10;

std::string firstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

parquet::ReaderProperties readerProperties(int64_t pieceBytes) {
  parquet::ReaderProperties properties(recyclingPool());
  properties.set_page_checksum_verification(true);
  if (pieceBytes > 0) {
    properties.enable_buffered_stream();
    properties.set_buffer_size(pieceBytes);
  }
  return properties;
}

parquet::ArrowReaderProperties arrowProperties(const parquet::SchemaDescriptor& schema,
                                               const std::vector<std::string>& encodedTexts) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);  // for all columns at once, see open
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    bool isWanted = std::ranges::find(encodedTexts, schema.GetColumnRoot(leaf)->name()) != encodedTexts.end();
    if (isWanted)
      properties.set_read_dictionary(leaf, schema.Column(leaf)->physical_type() == parquet::Type::BYTE_ARRAY);
  }
  return properties;
}

// Bytes that a value takes in memory, or 0 where they differ.
int widthOf(const parquet::ColumnDescriptor& leaf) {
  switch (leaf.physical_type()) {
    case parquet::Type::BOOLEAN:
      return 1;
    case parquet::Type::INT32:
    case parquet::Type::FLOAT:
      return 4;
    case parquet::Type::INT64:
    case parquet::Type::INT96:  // becomes a timestamp
    case parquet::Type::DOUBLE:
      return 8;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return leaf.type_length();
    default:
      return 0;
  }
}

int64_t bytesOf(const arrow::ArrayData& data) {
  int64_t bytes = 0;
  for (const auto& buffer : data.buffers) bytes += buffer == nullptr ? 0 : buffer->size();
  for (const auto& child : data.child_data) bytes += bytesOf(*child);
  return bytes;
}

}  // namespace

int64_t bytesOf(const arrow::RecordBatch& batch) {
  int64_t bytes = 0;
  for (const auto& column : batch.column_data()) bytes += bytesOf(*column);
  return bytes;
}

// Whatever comes out of the Parquet library becomes an error of ours that names the file.
template <typename Read>
auto ParquetFile::guarded(Read read) const -> decltype(read().ValueUnsafe()) {
  auto unreadable = [&](const std::string& why) {
    return UserError(
        message("Not a readable Parquet file; write it again or remove it: ", name_, ": ", firstLine(why)));
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
  return ParquetFile(std::make_shared<LocalFile>(path), kLocalReadBytes);
}

ParquetFile::ParquetFile(std::shared_ptr<ByteSource> source, int64_t readBytes, std::vector<std::string> encodedTexts)
    : recycling_(keepRecycling()),
      name_(source->name()),
      source_(std::make_shared<SourceFile>(std::move(source))),
      readBytes_(readBytes),
      encodedTexts_(std::move(encodedTexts)) {
  makeReader(0);
  schema_ = guarded([&]() -> arrow::Result<std::shared_ptr<arrow::Schema>> {
    std::shared_ptr<arrow::Schema> schema;
    ARROW_RETURN_NOT_OK(reader_->GetSchema(&schema));
    return schema;
  });
  numRows_ = metadata_->num_rows();
  firstRows_ = guarded([&]() -> arrow::Result<std::vector<int64_t>> {
    std::vector<int64_t> rows = {0};
    for (int group = 1; group < numRowGroups(); ++group) {
      rows.push_back(rows.back() + metadata_->RowGroup(group - 1)->num_rows());
    }
    return rows;
  });
}

// The footer is read the first time only.
void ParquetFile::makeReader(int64_t pieceBytes) {
  reader_ = guarded([&]() -> arrow::Result<std::unique_ptr<parquet::arrow::FileReader>> {
    auto file = parquet::ParquetFileReader::Open(source_, readerProperties(pieceBytes), metadata_);
    metadata_ = file->metadata();
    auto properties = arrowProperties(*metadata_->schema(), encodedTexts_);
    return parquet::arrow::FileReader::Make(recyclingPool(), std::move(file), properties);
  });
  pieceBytes_ = pieceBytes;
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
std::vector<int> ParquetFile::leavesOf(const std::string& column) const {
  const parquet::SchemaDescriptor& schema = *metadata_->schema();
  std::vector<int> leaves;
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    if (schema.GetColumnRoot(leaf)->name() == column) leaves.push_back(leaf);
  }
  return leaves;
}

// 0 where all chunks together may be held and are read at once; else short ones whole, and as much of each of the
// others as is left.
int64_t ParquetFile::pieceBytes(const std::vector<int>& leaves, int rowGroup) const {
  if (source_->isLocal()) {
    return std::clamp(readBytes_ / static_cast<int64_t>(leaves.size()), kMinPieceBytes, kLocalPieceBytes);
  }
  auto group = metadata_->RowGroup(rowGroup);
  std::vector<int64_t> chunks;
  for (int leaf : leaves) chunks.push_back(std::max<int64_t>(group->ColumnChunk(leaf)->total_compressed_size(), 0));
  std::ranges::sort(chunks);
  int64_t left = readBytes_;
  for (size_t i = 0; i < chunks.size(); ++i) {
    int64_t share = left / static_cast<int64_t>(chunks.size() - i);
    if (chunks[i] > share) return std::max(share, kMinPieceBytes);
    left -= chunks[i];
  }
  return 0;
}

// As the footer tells of the size of a row; where values of any length lie in a dictionary, none is larger than that.
// So the first rows of such columns may be few, and the next batch is made by them.
int64_t ParquetFile::firstBatchRows(const std::vector<int>& leaves, int rowGroup) const {
  auto group = metadata_->RowGroup(rowGroup);
  double bytes = 0;  // a damaged footer may tell any number
  for (int leaf : leaves) {
    auto chunk = group->ColumnChunk(leaf);
    double inFile = static_cast<double>(chunk->total_uncompressed_size());
    double width = widthOf(*metadata_->schema()->Column(leaf));
    if (width == 0 && chunk->has_dictionary_page()) width = inFile;
    bytes += std::max(inFile, static_cast<double>(chunk->num_values()) * width);
  }
  double rowBytes = bytes / static_cast<double>(std::max<int64_t>(group->num_rows(), 1));
  double rows = static_cast<double>(kBatchBytes) / std::max(rowBytes, 1.0);
  return static_cast<int64_t>(std::clamp(rows, 1.0, static_cast<double>(kMaxBatchRows)));
}

// From what the last rows took.
void ParquetFile::settleBatchRows(const arrow::RecordBatch& last) {
  int64_t rows = std::max<int64_t>(last.num_rows(), 1);
  int64_t rowBytes = std::max<int64_t>(bytesOf(last) / rows, 1);
  int64_t most = std::min(kBatchGrowth * rows, kMaxBatchRows);
  rowsByFew_ = std::max<int64_t>(rowsByFew_ - last.num_rows(), 0);
  setBatchRows(std::clamp<int64_t>(kBatchBytes / rowBytes, 1, most));
}

void ParquetFile::setBatchRows(int64_t rows) { batchRows_ = rowsByFew_ > 0 ? std::min(rows, kFewRows) : rows; }

void ParquetFile::beginWithFewRows() { rowsByFew_ = kFirstRows; }

void ParquetFile::start(const std::vector<std::string>& columns) {
  fields(columns);
  columns_ = columns;
  rows_.reset();
  rowsByFew_ = 0;
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

// One group at a time: what was read of the one before is let go. Ranges are read when the first of their columns is
// needed, and by the thread that needs it.
void ParquetFile::open(int rowGroup) {
  std::vector<GroupRows::Column> columns;
  std::vector<int> leaves;
  for (const auto& field : fields(columns_)) {
    columns.push_back({field, leavesOf(field->name())});
    leaves.insert(leaves.end(), columns.back().leaves.begin(), columns.back().leaves.end());
  }
  int64_t piece = guarded([&]() -> arrow::Result<int64_t> { return pieceBytes(leaves, rowGroup); });
  if (piece != pieceBytes_) makeReader(piece);
  rows_ = guarded([&]() -> arrow::Result<GroupRows> {
    if (piece == 0) {
      reader_->parquet_reader()->PreBuffer({rowGroup}, leaves, arrow::io::IOContext(recyclingPool()), kCoalescing);
    }
    setBatchRows(firstBatchRows(leaves, rowGroup));
    return GroupRows::open(*reader_, rowGroup, std::move(columns));
  });
}

std::shared_ptr<arrow::RecordBatch> ParquetFile::next() {
  check(!columns_.empty(), "Rows of a Parquet file were asked for before its columns were chosen");
  std::shared_ptr<arrow::RecordBatch> batch;
  while (batch == nullptr && (rows_ || nextGroup_ < endGroup_)) {
    if (!rows_) open(nextGroup_++);
    batch = guarded([&] { return rows_->next(batchRows_); });
    if (batch == nullptr) rows_.reset();
  }
  if (batch != nullptr) settleBatchRows(*batch);
  return batch;
}

}  // namespace bloomery::data
