#include "train/ScanFeed.h"

#include <algorithm>

#include "base/Error.h"

namespace bloomery::train {

namespace {

constexpr int64_t kPartForReading = 8;
constexpr int64_t kMinReadBytes = 8 << 20, kMaxReadBytes = 128 << 20, kPredictReadBytes = 16 << 20;

}  // namespace

std::shared_ptr<data::ParquetScan> openScan(const Trainer& trainer, void* fileColumns, void* constantColumns,
                                            int numThreads) {
  int64_t readBytes = kMaxReadBytes;
  if (std::optional<int64_t> memory = trainer.dataMemory(); memory && numThreads > 0) {
    readBytes = std::clamp(*memory / kPartForReading / numThreads, kMinReadBytes, kMaxReadBytes);
  }
  return std::make_shared<data::ParquetScan>(fileColumns, constantColumns, numThreads, readBytes);
}

std::shared_ptr<data::ParquetScan> openScan(void* fileColumns) {
  return std::make_shared<data::ParquetScan>(fileColumns, nullptr, 1, kPredictReadBytes);
}

int64_t feed(Trainer& trainer, data::ParquetScan& scan, std::chrono::milliseconds wait) {
  void* batch = scan.next(wait);
  if (batch == nullptr) return 0;
  try {
    trainer.ingest(batch, scan.file(), scan.firstRow());
  } catch (const UserError& error) {
    throw UserError(message(error.what(), ", file ", scan.fileName()));
  }
  return scan.numRows();
}

int64_t feed(Trainer& trainer, data::PickedRows& rows, int partition, int64_t firstRow,
             std::chrono::milliseconds wait) {
  void* batch = rows.next(wait);
  if (batch == nullptr) return 0;
  trainer.ingest(batch, partition, firstRow);
  return rows.numRows();
}

}  // namespace bloomery::train
