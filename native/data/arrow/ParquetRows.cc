#include "data/arrow/ParquetRows.h"

#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/Error.h"
#include "data/arrow/ArrowStructs.h"
#include "data/arrow/ParquetFile.h"
#include "data/arrow/PlainLayout.h"

namespace bloomery::data {

namespace {

namespace fs = std::filesystem;

void expectOk(const arrow::Status& status, const std::string& file) {
  if (status.IsOutOfMemory()) throw ResourceError(message("Out of memory while reading file ", file));
  check(status.ok(), "Rows of a file cannot be exported: ", status.message(), ", file ", file);
}

bool isHidden(const fs::path& path) {
  std::string name = path.filename().string();
  return name.starts_with('.') || name.starts_with('_');
}

}  // namespace

std::vector<std::string> parquetFiles(const std::string& path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw UserError(message("File or folder does not exist: ", path));
  if (!fs::is_directory(status)) return {path};
  std::vector<std::string> files;
  fs::directory_iterator entries(path, error);
  if (error) throw UserError(message("Cannot read folder: ", path));
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().extension() == ".parquet" && !isHidden(entry.path()) && entry.is_regular_file(error)) {
      files.push_back(entry.path().string());
    }
  }
  if (files.empty()) throw UserError(message("No Parquet file in folder: ", path, ", names must end in .parquet"));
  std::ranges::sort(files);
  return files;
}

struct ParquetRows::State {
  struct File {
    std::string path;
    bool forValidation;
  };

  // Opens a file whose columns are those of the first.
  ParquetFile open(const std::string& path);
  // The batch with the indicator as its last column.
  std::shared_ptr<arrow::RecordBatch> marked(const arrow::RecordBatch& batch, const File& file) const;

  std::vector<std::string> columns;
  std::string indicator;
  std::vector<File> files;
  std::shared_ptr<arrow::Schema> schema;  // of the first file, with the indicator
  int64_t trainingRows = 0, validationRows = 0;

  size_t nextFile = 0;                 // one behind the file being read
  std::optional<ParquetFile> current;  // one at a time: a folder may have more files than a process may open
  int64_t firstRow = 0, numRows = 0;
  Exported<ArrowSchema> exportedSchema;
  Exported<ArrowArray> exportedArray;
};

ParquetFile ParquetRows::State::open(const std::string& path) {
  ParquetFile file = ParquetFile::open(path);
  std::vector<std::shared_ptr<arrow::Field>> fields = file.fields(columns);
  if (schema == nullptr) {
    if (!indicator.empty()) fields.push_back(arrow::field(indicator, arrow::boolean()));
    schema = arrow::schema(std::move(fields));
    return file;
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    const arrow::DataType &first = *schema->field(static_cast<int>(i))->type(), &type = *fields[i]->type();
    if (sameLayout(first, type)) continue;
    throw UserError(message("Files differ in the type of column '", columns[i], "': ", first.ToString(), " in ",
                            files.front().path, ", ", type.ToString(), " in ", path));
  }
  return file;
}

std::shared_ptr<arrow::RecordBatch> ParquetRows::State::marked(const arrow::RecordBatch& batch,
                                                               const File& file) const {
  arrow::BooleanBuilder marks(arrow::system_memory_pool());
  expectOk(marks.AppendValues(std::vector<bool>(static_cast<size_t>(batch.num_rows()), file.forValidation)), file.path);
  std::shared_ptr<arrow::Array> all;
  expectOk(marks.Finish(&all), file.path);
  std::vector<std::shared_ptr<arrow::Array>> arrays = batch.columns();
  arrays.push_back(std::move(all));
  return arrow::RecordBatch::Make(schema, batch.num_rows(), std::move(arrays));
}

ParquetRows::ParquetRows(const std::vector<ParquetSource>& sources, const std::vector<std::string>& columns,
                         std::string indicator)
    : state_(std::make_unique<State>()) {
  for (const std::string& column : columns) {
    if (std::ranges::find(state_->columns, column) == state_->columns.end()) state_->columns.push_back(column);
  }
  state_->indicator = std::move(indicator);
  for (const ParquetSource& source : sources) {
    for (const std::string& path : parquetFiles(source.path)) {
      (source.forValidation ? state_->validationRows : state_->trainingRows) += state_->open(path).numRows();
      state_->files.push_back({path, source.forValidation});
    }
  }
}

ParquetRows::~ParquetRows() = default;

int64_t ParquetRows::numRows(bool forValidation) const {
  return forValidation ? state_->validationRows : state_->trainingRows;
}

size_t ParquetRows::numFiles() const { return state_->files.size(); }

void* ParquetRows::schema() {
  check(state_->schema != nullptr, "No file to read");
  state_->exportedSchema.release();
  expectOk(arrow::ExportSchema(*state_->schema, &state_->exportedSchema.value), state_->files.front().path);
  return &state_->exportedSchema.value;
}

void* ParquetRows::next() {
  State& state = *state_;
  state.exportedArray.release();
  state.firstRow += std::exchange(state.numRows, 0);
  std::shared_ptr<arrow::RecordBatch> batch;
  while (state.current.has_value() || state.nextFile < state.files.size()) {
    if (!state.current) {
      state.current.emplace(state.open(state.files[state.nextFile++].path));
      state.current->start(state.columns);
      state.firstRow = 0;
    }
    batch = state.current->next();
    if (batch != nullptr) break;
    state.current.reset();
  }
  if (batch == nullptr) return nullptr;
  state.numRows = batch->num_rows();
  if (!state.indicator.empty()) batch = state.marked(*batch, state.files[state.nextFile - 1]);
  expectOk(arrow::ExportRecordBatch(*batch, &state.exportedArray.value), file());
  return &state.exportedArray.value;
}

int ParquetRows::partition() const { return static_cast<int>(state_->nextFile) - 1; }

int64_t ParquetRows::firstRow() const { return state_->firstRow; }

const std::string& ParquetRows::file() const { return state_->files[std::max<size_t>(state_->nextFile, 1) - 1].path; }

}  // namespace bloomery::data
