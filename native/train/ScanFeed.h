// Carries the rows of a ParquetScan into a Trainer, a batch at a time, on the thread that owns both. What is wrong with
// a row is told with the name of its file, which the trainer does not know.
#pragma once

#include <chrono>
#include <cstdint>

#include "data/arrow/ParquetScan.h"
#include "train/Trainer.h"

namespace bloomery::train {

// The number of rows that the trainer got: of one batch, 0 when none came in this time or the scan has ended.
int64_t feed(Trainer& trainer, data::ParquetScan& scan, std::chrono::milliseconds wait);

}  // namespace bloomery::train
