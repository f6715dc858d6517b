// The rows of one worker, and the way into their stores. Trainings that keep them alike may share them, one after the
// other: they are read and converted once. Filled by the thread that owns the first trainer; read by compute threads.
#pragma once

#include <memory>
#include <string>

#include "data/RowStore.h"
#include "data/SpillSpace.h"
#include "data/arrow/ArrowIngest.h"
#include "train/TaskSpec.h"

namespace bloomery::train {

class LoadedRows {
 public:
  // UserError when the task has nothing to train, or no label column to train on.
  explicit LoadedRows(const TaskSpec& task);
  LoadedRows(const LoadedRows&) = delete;
  LoadedRows& operator=(const LoadedRows&) = delete;

  const data::RowStore& training() const { return training_; }
  const data::RowStore& validation() const { return validation_; }
  int64_t numRows() const { return training_.numRows() + validation_.numRows(); }
  // Equal for tasks that may share rows.
  const std::string& kind() const { return kind_; }
  // With what all rows settle.
  const data::IngestColumns& columns() const { return columns_; }

  void schema(void* arrowSchema);
  void ingest(void* arrowArray, int partition, int64_t firstRow);
  void finish();

 private:
  std::string kind_;
  bool isCheckpointed_;  // then contents of rows are known, too
  data::IngestColumns columns_;
  std::unique_ptr<data::SpillSpace> space_;  // of both stores
  data::RowStore training_;
  data::RowStore validation_;
  data::ArrowIngest ingest_;
};

// All that the stores of a task's rows depend on, as text.
std::string kindOfRows(const TaskSpec& task);

}  // namespace bloomery::train
