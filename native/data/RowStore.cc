#include "data/RowStore.h"

#include <algorithm>
#include <cstdlib>

#include "base/Error.h"

namespace bloomery::data {

namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr size_t kAlignment = 64;

size_t roundedUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void RowStore::Free::operator()(std::byte* memory) const { std::free(memory); }

RowStore::RowStore(RowFormat format) : format_(std::move(format)) {
  check(format_.featuresPerRow > 0, "Row format has no features: ", format_.featuresPerRow);
  size_t bytesPerRow = format_.rowBytes() + sizeof(uint64_t) + sizeof(int32_t) + sizeof(float);
  size_t rows = std::max<size_t>(1, kChunkBytes / bytesPerRow);
  rowsPerBlock_ = static_cast<int64_t>(rows);
  rowIdOffset_ = roundedUp(rows * format_.rowBytes());
  labelOffset_ = rowIdOffset_ + roundedUp(rows * sizeof(uint64_t));
  weightOffset_ = labelOffset_ + roundedUp(rows * sizeof(int32_t));
  chunkBytes_ = weightOffset_ + roundedUp(rows * sizeof(float));
}

std::byte* RowStore::append(uint64_t rowId, int32_t label, float weight) {
  int64_t row = numRows_;
  if (row == static_cast<int64_t>(chunks_.size()) * rowsPerBlock_) addChunk();
  numRows_ = row + 1;
  column<uint64_t>(row, rowIdOffset_) = rowId;
  column<int32_t>(row, labelOffset_) = label;
  column<float>(row, weightOffset_) = weight;
  return chunkOf(row) + static_cast<size_t>(row % rowsPerBlock_) * format_.rowBytes();
}

void RowStore::addChunk() {
  Chunk chunk(static_cast<std::byte*>(std::aligned_alloc(kAlignment, chunkBytes_)));
  if (chunk == nullptr) {
    throw ResourceError(
        message("Out of memory for rows: ", memoryBytes(), " bytes held, ", chunkBytes_, " more wanted"));
  }
  chunks_.push_back(std::move(chunk));
}

}  // namespace bloomery::data
