#include "data/arrow/ParquetRows.h"

#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/Error.h"
#include "data/arrow/ArrowStructs.h"
#include "data/arrow/FolderValues.h"
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
  fs::recursive_directory_iterator entries(path, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    bool isFolder = entries->is_directory();
    if (isHidden(entries->path())) {
      if (isFolder) entries.disable_recursion_pending();
    } else if (!isFolder && entries->path().extension() == ".parquet") {
      files.push_back(entries->path().string());
    }
  }
  if (error) throw UserError(message("Cannot read folder: ", path));
  if (files.empty()) throw UserError(message("No Parquet file in folder: ", path, ", names must end in .parquet"));
  std::ranges::sort(files);
  return files;
}

struct ParquetRows::State {
  struct File {
    std::string path;
    bool forValidation;
    FolderValues values;
  };

  // Opens a file whose columns are those of the first.
  ParquetFile open(const std::string& path);
  // Takes out of the columns those that folders give.
  void settleFolderColumns();
  // The batch with the folders' columns and the indicator behind its own.
  std::shared_ptr<arrow::RecordBatch> completed(const arrow::RecordBatch& batch, const File& file) const;

  std::vector<std::string> columns;  // of the files
  std::vector<std::shared_ptr<arrow::Field>> folderColumns;
  std::string indicator;
  std::vector<File> files;
  std::shared_ptr<arrow::Schema> schema;  // of the first file, with the folders' columns and the indicator
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
    fields.insert(fields.end(), folderColumns.begin(), folderColumns.end());
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

void ParquetRows::State::settleFolderColumns() {
  std::vector<FolderValues> values;
  std::vector<std::string> paths, inFiles;
  for (const File& file : files) {
    values.push_back(file.values);
    paths.push_back(file.path);
  }
  for (const std::string& column : columns) {
    if (values.empty() || !values.front().contains(column)) {
      inFiles.push_back(column);
    } else {
      folderColumns.push_back(arrow::field(column, folderType(column, values, paths)));
    }
  }
  columns = std::move(inFiles);
}

std::shared_ptr<arrow::RecordBatch> ParquetRows::State::completed(const arrow::RecordBatch& batch,
                                                                  const File& file) const {
  std::vector<std::shared_ptr<arrow::Array>> arrays = batch.columns();
  auto add = [&](arrow::Result<std::shared_ptr<arrow::Array>> array) {
    expectOk(array.status(), file.path);
    arrays.push_back(std::move(array).ValueUnsafe());
  };
  for (const auto& field : folderColumns) {
    add(folderColumn(file.values.at(field->name()), field->type(), batch.num_rows()));
  }
  if (!indicator.empty()) {
    add(arrow::MakeArrayFromScalar(arrow::BooleanScalar(file.forValidation), batch.num_rows(),
                                   arrow::system_memory_pool()));
  }
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
      state_->files.push_back({path, source.forValidation, folderValues(source.path, path)});
    }
  }
  state_->settleFolderColumns();
  if (state_->columns.empty()) throw UserError("No column is read from the files: all are named by folders");
  for (const State::File& file : state_->files) {
    (file.forValidation ? state_->validationRows : state_->trainingRows) += state_->open(file.path).numRows();
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
  batch = state.completed(*batch, state.files[state.nextFile - 1]);
  expectOk(arrow::ExportRecordBatch(*batch, &state.exportedArray.value), file());
  return &state.exportedArray.value;
}

int ParquetRows::partition() const { return static_cast<int>(state_->nextFile) - 1; }

int64_t ParquetRows::firstRow() const { return state_->firstRow; }

int64_t ParquetRows::batchRows() const { return state_->numRows; }

const std::string& ParquetRows::file() const { return state_->files[std::max<size_t>(state_->nextFile, 1) - 1].path; }

}  // namespace bloomery::data
