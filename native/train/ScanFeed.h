// Carries the rows of a ParquetScan into a Trainer, a batch at a time, on the thread that owns both. What is wrong with
// a row is told with the name of its file, which the trainer does not know.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "data/arrow/ParquetScan.h"
#include "data/arrow/PickedRows.h"
#include "train/Trainer.h"

namespace bloomery::train {

// A scan for the trainer's rows, with the arguments of a ParquetScan. It reads in memory beside that for rows: an
// eighth of the latter, shared by its threads, but never less than 8 MiB for each, nor more than 128 MiB.
std::shared_ptr<data::ParquetScan> openScan(const Trainer& trainer, void* fileColumns, void* constantColumns,
                                            int numThreads);

// A scan for rows that are predicted, by one thread that reads in 16 MiB.
std::shared_ptr<data::ParquetScan> openScan(void* fileColumns);

// The number of rows that the trainer got: of one batch, 0 when none came in this time or the scan has ended.
int64_t feed(Trainer& trainer, data::ParquetScan& scan, std::chrono::milliseconds wait);

// The same of rows that are picked; the next one is `firstRow` of `partition` in the row ids.
int64_t feed(Trainer& trainer, data::PickedRows& rows, int partition, int64_t firstRow, std::chrono::milliseconds wait);

}  // namespace bloomery::train
