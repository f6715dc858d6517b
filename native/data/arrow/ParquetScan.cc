#include "data/arrow/ParquetScan.h"

#include <arrow/api.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "base/Error.h"
#include "base/NamedThread.h"
#include "data/arrow/ArrowResult.h"
#include "data/arrow/ArrowStructs.h"
#include "data/arrow/ListLevels.h"
#include "data/arrow/ParquetFile.h"
#include "data/arrow/PlainLayout.h"

namespace bloomery::data {

namespace {

// What is decoded and waits is bounded: so many bytes of each row group, and so many groups for each thread.
constexpr int64_t kBytesAhead = 8 << 20;
constexpr size_t kGroupsAhead = 2;

struct File {
  std::shared_ptr<ByteSource> source;
  int index = 0;
  int64_t number = 0;  // of those added
  std::vector<std::shared_ptr<arrow::Scalar>> constants;
  int64_t numLeft = 0;   // row groups that were added and not handed out in full; for the thread that uses the scan
  bool isWhole = false;  // no more row groups of it will come
};

struct Decoded {
  std::shared_ptr<arrow::RecordBatch> batch;
  int64_t firstRow = 0;
  int64_t bytes = 0;
};

// A row group: the unit that one thread decodes.
struct Piece {
  std::shared_ptr<File> file;  // shared by the pieces of one file
  int rowGroup = 0;
  bool isFirst = false;  // of all
  bool isLast = false;   // of those of its file that were added
  std::deque<Decoded> ready;
  int64_t readyBytes = 0;
  bool done = false;
  std::exception_ptr failure;
};

// The first value, in memory of its own.
std::shared_ptr<arrow::Scalar> ownedScalar(const arrow::Array& array) {
  auto scalar = valueOf(array.GetScalar(0), "Constant cannot be read");
  if (!scalar->is_valid || scalar->type->id() != arrow::Type::STRING) return scalar;
  return std::make_shared<arrow::StringScalar>(static_cast<const arrow::StringScalar&>(*scalar).value->ToString());
}

}  // namespace

struct ParquetScan::State {
  void readAll();
  void read(Piece& piece, ParquetFile& file);
  std::unique_ptr<ParquetFile> open(const File& from) const;
  std::shared_ptr<arrow::RecordBatch> shaped(const arrow::RecordBatch& batch, const File& file) const;
  bool hand(Piece& piece, Decoded decoded);
  void completeLast();
  void dropDone();

  std::vector<std::string> columns;       // of the files
  std::vector<std::string> encodedTexts;  // of these
  std::shared_ptr<arrow::Schema> schema;  // those, and the constants behind them
  std::shared_ptr<arrow::Schema> constantSchema;
  int64_t readBytes = 0;  // by each thread

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Piece>> pieces;  // not handed out in full; the first is being handed out
  size_t numTaken = 0, maxTaken = 0;          // of these, by threads
  bool stopped = false;

  // Only the thread that uses the scan looks at these.
  bool finished = false;  // nothing more will come
  int64_t numAdded = 0, numPieces = 0;
  std::deque<std::shared_ptr<File>> files;  // that are not done, in their order
  std::shared_ptr<File> current;
  int64_t firstRow = 0, numRows = 0;
  Exported<ArrowArray> exported;

  std::vector<std::thread> threads;
};

ParquetScan::ParquetScan(void* fileColumns, void* constantColumns, int numThreads, int64_t readBytes)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.readBytes = readBytes;
  state.schema = importSchema(fileColumns);
  state.constantSchema = constantColumns == nullptr ? arrow::schema({}) : importSchema(constantColumns);
  state.columns = state.schema->field_names();
  for (const auto& field : state.schema->fields()) {
    if (valueTypeOf(*field->type()).id() == arrow::Type::DICTIONARY) state.encodedTexts.push_back(field->name());
  }
  std::vector<std::shared_ptr<arrow::Field>> fields = state.schema->fields();
  for (const auto& field : state.constantSchema->fields()) fields.push_back(field);
  state.schema = arrow::schema(std::move(fields));
  state.schema->fingerprint();  // what types are compared by is made once, here rather than by the threads
  check(!state.columns.empty() && numThreads > 0, "Nothing to read, or no thread to read with");
  state.maxTaken = kGroupsAhead * static_cast<size_t>(numThreads);
  for (int i = 0; i < numThreads; ++i) {
    state.threads.push_back(namedThread("bloomery-scan", [&state] { state.readAll(); }));
  }
}

ParquetScan::~ParquetScan() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopped = true;
  }
  for (const auto& file : state_->files) file->source->cancel();
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

void ParquetScan::add(std::shared_ptr<ByteSource> source, int index, const std::vector<int>& rowGroups,
                      void* constants) {
  State& state = *state_;
  auto file = std::make_shared<File>();
  file->source = std::move(source);
  file->index = index;
  if (constants != nullptr) {
    // Copied here, so that whoever lent the batch gets it back on this thread.
    auto batch = importBatch(constants, state.constantSchema);
    check(batch->num_rows() == 1, "Wrong number of rows with constants: ", batch->num_rows());
    for (const auto& column : batch->columns()) {
      file->constants.push_back(ownedScalar(*column));
    }
  }
  check(static_cast<int>(file->constants.size()) == state.constantSchema->num_fields(),
        "Wrong number of constants: ", file->constants.size());
  file->number = state.numAdded++;
  state.completeLast();
  state.files.push_back(std::move(file));
  addMore(rowGroups);
  state.dropDone();
}

void ParquetScan::addMore(const std::vector<int>& rowGroups) {
  State& state = *state_;
  check(!state.files.empty(), "Row groups were added before their file");
  const std::shared_ptr<File>& file = state.files.back();
  check(!rowGroups.empty(), "No row groups to read of file ", file->source->name());
  check(!state.finished, "A file was added after the last one: ", file->source->name());
  {
    std::lock_guard lock(state.mutex);
    if (!state.pieces.empty() && state.pieces.back()->file == file) state.pieces.back()->isLast = false;
    for (int group : rowGroups) {
      auto piece = std::make_shared<Piece>();
      piece->file = file;
      piece->rowGroup = group;
      piece->isFirst = state.numPieces++ == 0;
      state.pieces.push_back(std::move(piece));
    }
    state.pieces.back()->isLast = true;
  }
  file->numLeft += static_cast<int64_t>(rowGroups.size());
  state.changed.notify_all();
}

void ParquetScan::finish() {
  State& state = *state_;
  state.finished = true;
  state.completeLast();
  state.dropDone();
}

// The file that was added last gets no more row groups.
void ParquetScan::State::completeLast() {
  std::lock_guard lock(mutex);
  if (!files.empty()) files.back()->isWhole = true;
}

// Nothing more is read from these; the last one may get more row groups.
void ParquetScan::State::dropDone() {
  while (!files.empty() && files.front()->numLeft == 0 && (finished || files.size() > 1)) files.pop_front();
}

// The body of a thread: takes one row group after the other. A file is opened again only when the next group is of
// another one.
void ParquetScan::State::readAll() {
  std::shared_ptr<void> prepared;  // to read from sources, which are of one kind
  std::unique_ptr<ParquetFile> file;
  int64_t number = -1;
  while (true) {
    std::shared_ptr<Piece> piece;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return stopped || numTaken < std::min(pieces.size(), maxTaken); });
      if (stopped) return;
      piece = pieces[numTaken++];
    }
    std::exception_ptr failure;
    try {
      if (prepared == nullptr) prepared = piece->file->source->prepareThread();
      if (number != piece->file->number) {
        file = open(*piece->file);
        number = piece->file->number;
      }
      read(*piece, *file);
    } catch (const std::bad_alloc&) {
      failure = std::make_exception_ptr(
          ResourceError(message("Out of memory while reading file ", piece->file->source->name())));
    } catch (...) {
      failure = std::current_exception();
    }
    bool isLast = false;
    {
      std::lock_guard lock(mutex);
      isLast = piece->isLast && piece->file->isWhole;
    }
    // Closed before anybody hears that it is done. Where more of it might still have come, it goes with the next group
    // of another file, or with the scan; nothing is read from it meanwhile.
    if (failure != nullptr || isLast) {
      file.reset();
      number = -1;
    }
    {
      std::lock_guard lock(mutex);
      piece->failure = failure;
      piece->done = true;
    }
    changed.notify_all();
  }
}

std::unique_ptr<ParquetFile> ParquetScan::State::open(const File& from) const {
  auto file = std::make_unique<ParquetFile>(from.source, readBytes, encodedTexts);
  std::vector<std::shared_ptr<arrow::Field>> fields = file->fields(columns);
  for (size_t i = 0; i < fields.size(); ++i) {
    const arrow::DataType& wanted = *schema->field(static_cast<int>(i))->type();
    if (canBecome(*fields[i]->type(), wanted)) continue;
    throw UserError(message("Wrong type of column '", columns[i], "': ", fields[i]->type()->ToString(), ", wanted ",
                            wanted.ToString(), ", file ", file->name()));
  }
  return file;
}

void ParquetScan::State::read(Piece& piece, ParquetFile& file) {
  file.start(columns, piece.rowGroup);
  if (piece.isFirst) file.beginWithFewRows();
  int64_t row = file.firstRowOf(piece.rowGroup);
  while (auto batch = file.next()) {
    int64_t count = batch->num_rows();
    int64_t bytes = bytesOf(*batch);
    if (!hand(piece, {shaped(*batch, *piece.file), row, bytes})) return;
    row += count;
  }
}

// Waits for room; false when the scan is over.
bool ParquetScan::State::hand(Piece& piece, Decoded decoded) {
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopped || piece.readyBytes < kBytesAhead; });
    if (stopped) return false;
    piece.readyBytes += decoded.bytes;
    piece.ready.push_back(std::move(decoded));
  }
  changed.notify_all();
  return true;
}

// In the types of the schema, with the file's constants.
std::shared_ptr<arrow::RecordBatch> ParquetScan::State::shaped(const arrow::RecordBatch& batch,
                                                               const File& file) const {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (int i = 0; i < batch.num_columns(); ++i) {
    auto plain = become(batch.column(i), schema->field(i)->type());
    if (plain.status().IsOutOfMemory()) throw std::bad_alloc();
    if (!plain.ok()) {
      throw UserError(message("Column cannot be read: ", plain.status().message(), ", column '",
                              columns[static_cast<size_t>(i)], "', file ", file.source->name()));
    }
    arrays.push_back(std::move(plain).ValueUnsafe());
  }
  for (const auto& value : file.constants) {
    arrays.push_back(valueOf(arrow::MakeArrayFromScalar(*value, batch.num_rows(), arrow::system_memory_pool()),
                             "Constant column cannot be made"));
  }
  return arrow::RecordBatch::Make(schema, batch.num_rows(), std::move(arrays));
}

void* ParquetScan::next(std::chrono::milliseconds wait) {
  State& state = *state_;
  state.exported.release();
  state.numRows = 0;
  std::optional<Decoded> decoded;
  {
    std::unique_lock lock(state.mutex);
    auto deadline = std::chrono::steady_clock::now() + wait;
    auto hasNews = [&] {
      return state.pieces.empty() ? state.finished : state.pieces[0]->done || !state.pieces[0]->ready.empty();
    };
    while (!decoded) {
      if (!state.changed.wait_until(lock, deadline, hasNews) || state.pieces.empty()) return nullptr;
      Piece& piece = *state.pieces[0];
      state.current = piece.file;
      if (!piece.ready.empty()) {
        decoded = std::move(piece.ready.front());
        piece.ready.pop_front();
        piece.readyBytes -= decoded->bytes;
      } else if (piece.failure != nullptr) {
        std::rethrow_exception(piece.failure);
      } else {
        --piece.file->numLeft;
        state.dropDone();
        state.pieces.pop_front();
        --state.numTaken;
        state.changed.notify_all();
      }
    }
  }
  state.changed.notify_all();
  state.firstRow = decoded->firstRow;
  state.numRows = decoded->batch->num_rows();
  exportBatch(*decoded->batch, state.exported.value);
  return &state.exported.value;
}

bool ParquetScan::ended() const {
  std::lock_guard lock(state_->mutex);
  return state_->finished && state_->pieces.empty();
}

bool ParquetScan::isEmpty() const {
  std::lock_guard lock(state_->mutex);
  return state_->pieces.empty();
}

int ParquetScan::file() const { return state_->current->index; }

const std::string& ParquetScan::fileName() const { return state_->current->source->name(); }

int64_t ParquetScan::firstRow() const { return state_->firstRow; }

int64_t ParquetScan::numRows() const { return state_->numRows; }

int64_t ParquetScan::numFilesDone() const { return state_->numAdded - static_cast<int64_t>(state_->files.size()); }

}  // namespace bloomery::data
