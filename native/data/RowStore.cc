#include "data/RowStore.h"

#include <algorithm>
#include <numeric>

#include "base/Error.h"
#include "base/Pages.h"
#include "data/LateValues.h"

namespace bloomery::data {

namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr size_t kAlignment = 64;  // of columns

// Codes of words that are still learnt depend on who came first.
std::vector<ContentPrint::Range> settledBytes(const FeatureFormat& feature) {
  std::vector<ContentPrint::Range> codes, settled;
  for (const auto& late : feature.late) {
    auto [first, end] = late->codes();
    codes.push_back(
        {static_cast<size_t>(first) * sizeOf(feature.type), static_cast<size_t>(end) * sizeOf(feature.type)});
  }
  std::sort(codes.begin(), codes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  codes.push_back({feature.bytes(), feature.bytes()});
  size_t at = 0;
  for (const ContentPrint::Range& one : codes) {
    if (at < one.first) settled.push_back({at, one.first});
    at = std::max(at, one.end);
  }
  return settled;
}

size_t roundedUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

RowStore::RowStore(RowFormat format, SpillSpace* space) : format_(std::move(format)), space_(space) {
  check(!format_.features.empty(), "Row format has no features");
  for (const FeatureFormat& feature : format_.features) {
    check(feature.count > 0, "Row format has no features: ", feature.count);
  }
  for (const TargetFormat& target : format_.targets) check(target.width > 0, "Target is empty: ", target.width);
  layOut();
  if (space_ != nullptr) space_->add(*this);
}

size_t RowStore::bytesPerRow() const {
  size_t bytes = sizeof(uint64_t) + sizeof(float);
  for (const FeatureFormat& feature : format_.features) bytes += feature.bytes();
  for (const TargetFormat& target : format_.targets) bytes += target.bytes();
  return bytes;
}

void RowStore::layOut() {
  size_t rows = std::max<size_t>(1, kChunkBytes / bytesPerRow());
  rowsPerBlock_ = static_cast<int64_t>(rows);
  chunkBytes_ = 0;
  auto column = [&](size_t bytes, bool isOfRows = true) {
    Column made{chunkBytes_, bytes, isOfRows ? bytes : 0};
    chunkBytes_ += roundedUp(isOfRows ? rows * bytes : bytes);
    return made;
  };
  features_.clear();
  targets_.clear();
  for (const FeatureFormat& feature : format_.features) features_.push_back(column(feature.bytes()));
  for (const TargetFormat& target : format_.targets) targets_.push_back(column(target.bytes()));
  weight_ = column(sizeof(float), format_.hasWeights);
  rowId_ = column(sizeof(uint64_t));
}

void RowStore::settleTarget(size_t target, bool isClass) {
  if (format_.targets.at(target).isClass == isClass) return;
  check(numRows() == 0, "Target changes after rows were added: ", target);
  format_.targets[target].isClass = isClass;
  chunks_.clear();
  newest_ = nullptr;
  layOut();
}

void RowStore::printContents() {
  contents_.clearColumns();
  auto all = [&](const Column& column) { contents_.addColumn(column.offset, column.stride, {{0, column.bytes}}); };
  for (size_t i = 0; i < features_.size(); ++i) {
    contents_.addColumn(features_[i].offset, features_[i].stride, settledBytes(format_.features[i]));
  }
  for (const Column& target : targets_) all(target);
  all(weight_);
}

void RowStore::append(uint64_t rowId, float weight) {
  check(format_.hasWeights || weight == 1, "Rows have no weights: ", weight);
  appendRows(rowId, 1);
  if (format_.hasWeights) setWeight(numRows() - 1, weight);
}

int64_t RowStore::appendRows(uint64_t firstId, int64_t count) {
  int64_t row = numRows();
  if (row == static_cast<int64_t>(chunks_.size()) * rowsPerBlock_) addChunk();
  Spot spot = spotOf(row);
  Chunk& chunk = row >= newestFirst_ ? chunks_.back() : chunks_[static_cast<size_t>(row / rowsPerBlock_)];
  count = std::min(count, rowsPerBlock_ - static_cast<int64_t>(spot.index));
  numRows_.store(row + count, std::memory_order_relaxed);
  if (spot.index == 0) {
    chunk.firstId = firstId;
    chunk.hasIds = false;
  } else if (!chunk.hasIds && firstId != chunk.firstId + spot.index) {
    keepIds(chunk, spot.index);
  }
  auto numNew = static_cast<size_t>(count);
  if (chunk.hasIds) {
    auto* ids = reinterpret_cast<uint64_t*>(place(spot, rowId_));
    std::iota(ids, ids + count, firstId);
  }
  if (contents_.hasColumns()) {
    for (size_t i = 0; i < numNew; ++i) idHash_ = (idHash_ ^ (firstId + i)) * 0x9E3779B97F4A7C15ull + 1;
  }
  // One weight for all rows of a chunk is written with the first of them.
  size_t numWeights = format_.hasWeights ? numNew : spot.index == 0 ? 1 : 0;
  std::fill_n(reinterpret_cast<float*>(place(spot, weight_)), numWeights, 1.0f);
  return count;
}

// From now on; those of the rows that are there were implied so far. Others may read them meanwhile.
void RowStore::keepIds(Chunk& chunk, size_t numRows) {
  auto* ids = reinterpret_cast<uint64_t*>(chunk.memory.get() + rowId_.offset);
  bringPages(ids, chunkBytes_ - rowId_.offset);
  std::iota(ids, ids + numRows, chunk.firstId);
  std::lock_guard lock(chunksMutex_);
  chunk.hasIds = true;
}

uint64_t RowStore::rowId(int64_t row) const {
  Spot spot = spotOf(row);
  const Chunk& chunk = chunks_[static_cast<size_t>(row / rowsPerBlock_)];
  return chunk.hasIds ? *reinterpret_cast<uint64_t*>(place(spot, rowId_)) : chunk.firstId + spot.index;
}

void RowStore::filled(int64_t row, int64_t count) {
  if (!contents_.hasColumns()) return;
  Spot first = spotOf(row);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) contents_.add(first.chunk, first.index + i);
}

std::byte* RowStore::append(uint64_t rowId, int32_t label, float weight) {
  append(rowId, weight);
  setLabel(numRows() - 1, 0, label);
  return features(numRows() - 1);
}

void RowStore::publish(bool all) {
  {
    std::lock_guard lock(arrivalMutex_);
    arrived_ = {numRows(), all};
    if (!all && arrived_.rows < fewestAwaited_) return;
    fewestAwaited_ = kNoneAwaited;
  }
  arrival_.notify_all();
}

Arrived RowStore::awaitRows(int64_t count, std::chrono::milliseconds patience) const {
  std::unique_lock lock(arrivalMutex_);
  arrival_.wait_for(lock, patience, [&] {
    if (arrived_.all || arrived_.rows >= count) return true;
    fewestAwaited_ = std::min(fewestAwaited_, count);
    return false;
  });
  return arrived_;
}

bool RowStore::awaitAll(std::chrono::milliseconds patience) const { return awaitRows(kNoneAwaited, patience).all; }

void RowStore::addChunk() {
  ChunkMemory memory = space_ == nullptr ? allocateChunk(chunkBytes_) : space_->take(chunkBytes_);
  if (memory == nullptr) {
    throw ResourceError(
        message("Out of memory for rows: ", memoryBytes(), " bytes held, ", chunkBytes_, " more wanted"));
  }
  if (memory.get_deleter().isFresh && !chunks_.empty()) {  // few rows take little
    bringPages(memory.get(), rowId_.offset);
    memory.get_deleter().isFresh = false;
  }
  std::lock_guard lock(chunksMutex_);
  newest_ = memory.get();
  newestFirst_ = static_cast<int64_t>(chunks_.size()) * rowsPerBlock_;
  chunks_.push_back({std::move(memory)});
}

ChunkMemory RowStore::spillOldest() {
  check(numSpillable() > 0, "No chunk to spill: ", numRows(), " rows");
  Chunk& chunk = chunks_[numSpilled_];
  // Readers may still read it while it is written.
  SpillSpace::Place written = space_->write({chunk.memory.get(), chunk.hasIds ? chunkBytes_ : rowId_.offset});
  std::lock_guard lock(chunksMutex_);
  chunk.place = written;
  if (++numSpilled_ == chunks_.size()) newest_ = nullptr;
  return std::move(chunk.memory);
}

void RowStore::throwOnDisk(int64_t row) { throw InternalError(message("Row is on disk: ", row)); }

}  // namespace bloomery::data
