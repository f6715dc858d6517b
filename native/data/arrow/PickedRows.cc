#include "data/arrow/PickedRows.h"

#include <arrow/api.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/Error.h"
#include "data/arrow/ArrowResult.h"
#include "data/arrow/ArrowStructs.h"
#include "data/arrow/RecyclingPool.h"
#include "data/arrow/RowRuns.h"

namespace bloomery::data {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct PickedRows::State {
  bool holds(int64_t row) const;
  void* hand(int64_t count);

  std::shared_ptr<ParquetScan> scan;
  std::shared_ptr<arrow::Schema> fileSchema, ownSchema, schema;  // the last: what is handed out
  std::shared_ptr<arrow::RecordBatch> scanned;                   // rows of one file, which the scan gave last
  int scannedFile = 0;
  int64_t scannedFirst = 0;
  std::shared_ptr<arrow::RecordBatch> picked;
  int pickedFile = 0;
  std::span<const int64_t> numbers;  // of the picked rows that were not handed out
  int64_t numRows = 0;
  Exported<ArrowArray> exported;
};

PickedRows::PickedRows(std::shared_ptr<ParquetScan> scan, void* fileColumns, void* ownColumns)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.scan = std::move(scan);
  state.fileSchema = importSchema(fileColumns);
  state.ownSchema = importSchema(ownColumns);
  check(state.ownSchema->num_fields() > 0 && state.ownSchema->fields().back()->type()->id() == arrow::Type::INT64,
        "Picked rows have no number in their file");
  std::vector<std::shared_ptr<arrow::Field>> fields = state.fileSchema->fields();
  fields.insert(fields.end(), state.ownSchema->fields().begin(), state.ownSchema->fields().end() - 1);
  state.schema = arrow::schema(std::move(fields));
}

PickedRows::~PickedRows() = default;

void PickedRows::pick(void* ownColumns, int file) {
  State& state = *state_;
  auto picked = importBatch(ownColumns, state.ownSchema);
  check(state.numbers.empty(), "Rows were picked before all others were handed out: ", state.numbers.size());
  const auto& numbers = static_cast<const arrow::Int64Array&>(*picked->columns().back());
  check(numbers.null_count() == 0, "A picked row has no number in its file");
  std::span<const int64_t> all(numbers.raw_values(), static_cast<size_t>(numbers.length()));
  for (size_t i = 1; i < all.size(); ++i) {
    check(all[i - 1] < all[i], "Picked rows do not ascend: ", all[i - 1], ", then ", all[i]);
  }
  state.picked = std::move(picked);
  state.pickedFile = file;
  state.numbers = all;
}

bool PickedRows::State::holds(int64_t row) const {
  return scanned != nullptr && scannedFile == pickedFile && scannedFirst <= row &&
         row < scannedFirst + scanned->num_rows();
}

void* PickedRows::next(std::chrono::milliseconds wait) {
  State& state = *state_;
  state.exported.release();
  state.numRows = 0;
  if (state.numbers.empty()) return nullptr;
  int64_t row = state.numbers.front();
  auto deadline = Clock::now() + wait;
  while (!state.holds(row)) {
    state.scanned.reset();
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    void* batch = state.scan->next(std::max(left, std::chrono::milliseconds(0)));
    if (batch == nullptr) {
      check(!state.scan->isEmpty(), "A picked row is not in what the scan reads: row ", row, " of file ",
            state.pickedFile);
      return nullptr;
    }
    state.scanned = importBatch(batch, state.fileSchema);
    state.scannedFile = state.scan->file();
    state.scannedFirst = state.scan->firstRow();
  }
  int64_t end = state.scannedFirst + state.scanned->num_rows();
  return state.hand(std::ranges::lower_bound(state.numbers, end) - state.numbers.begin());
}

// So many of the picked rows, all of which lie in what was scanned.
void* PickedRows::State::hand(int64_t count) {
  std::vector<RowRun> runs = runsOf(numbers.first(static_cast<size_t>(count)), scannedFirst);
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& column : scanned->columns()) {
    arrays.push_back(valueOf(rowsIn(*column, runs, recyclingPool()), "Rows of a file cannot be picked"));
  }
  int64_t first = picked->num_rows() - static_cast<int64_t>(numbers.size());
  for (int i = 0; i + 1 < picked->num_columns(); ++i) arrays.push_back(picked->column(i)->Slice(first, count));
  auto batch = arrow::RecordBatch::Make(schema, count, std::move(arrays));
  exportBatch(*batch, exported.value);
  numbers = numbers.subspan(static_cast<size_t>(count));
  numRows = count;
  return &exported.value;
}

int64_t PickedRows::numRows() const { return state_->numRows; }

}  // namespace bloomery::data
