// Brings the rows of a store to one thread, such as the prefetch thread, in memory or not, while others still come. Of
// an epoch that walks an Order it reads chunks on disk a window ahead, on threads of its own, into buffers that the
// store's SpillSpace lends; what finds no buffer, and rows in no known order, are read one by one. Borrows the store.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "data/Order.h"
#include "data/RowStore.h"

namespace bloomery::data {

class RowReader {
 public:
  explicit RowReader(const RowStore& rows);
  ~RowReader();  // ends and joins the threads

  // The rows to come are those of this order, from its beginning; all rows must have arrived. nullptr: any rows.
  void begin(const Order* order);
  // The next rows of the order will be asked for, so many: waits till their windows are read.
  void advance(int64_t count);
  // Gives all buffers back.
  void end();

  // While it lives, chunks stay where they are; rows are asked for inside.
  std::unique_lock<std::mutex> lock() const { return std::unique_lock(rows_.chunksMutex_); }
  // Valid till the next one is asked for.
  StoredRow row(int64_t row);
  // This row will be asked for soon: what is in memory of it comes into the cache meanwhile.
  void expect(int64_t row) const;

  double takeReadSeconds();                                 // spent reading from disk since the last call
  int64_t numSingleRows() const { return numSingleRows_; }  // that were read one by one

 private:
  struct Ahead;
  const std::byte* chunkOf(int64_t block) const;  // nullptr: on disk, and not read ahead
  const std::byte* readRow(int64_t block, int64_t index);

  const RowStore& rows_;
  std::unique_ptr<Cipher> cipher_;
  ChunkMemory image_;             // of a chunk of which single rows are read
  int64_t numSingleRows_ = 0;     // how many it were
  double rowSeconds_ = 0;         // spent reading them
  std::unique_ptr<Ahead> ahead_;  // made when the first epoch begins for which there is something to read ahead
};

}  // namespace bloomery::data
