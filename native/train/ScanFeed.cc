#include "train/ScanFeed.h"

#include "base/Error.h"

namespace bloomery::train {

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

}  // namespace bloomery::train
