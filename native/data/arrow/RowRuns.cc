#include "data/arrow/RowRuns.h"

#include <arrow/util/bitmap_ops.h>

#include <cstring>
#include <utility>

namespace bloomery::data {

namespace {

using Data = std::shared_ptr<arrow::ArrayData>;

int64_t countIn(const std::vector<RowRun>& runs) {
  int64_t count = 0;
  for (const RowRun& run : runs) count += run.count;
  return count;
}

// Bits of the runs, whose rows are counted from `offset` on.
arrow::Result<std::shared_ptr<arrow::Buffer>> bitsIn(const arrow::Buffer& bits, int64_t offset,
                                                     const std::vector<RowRun>& runs, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto found, arrow::AllocateEmptyBitmap(countIn(runs), pool));
  int64_t to = 0;
  for (const RowRun& run : runs) {
    arrow::internal::CopyBitmap(bits.data(), offset + run.first, run.count, found->mutable_data(), to);
    to += run.count;
  }
  return found;
}

// The same of values of so many bytes.
arrow::Result<std::shared_ptr<arrow::Buffer>> valuesIn(const uint8_t* values, int64_t width,
                                                       const std::vector<RowRun>& runs, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> found, arrow::AllocateBuffer(countIn(runs) * width, pool));
  uint8_t* to = found->mutable_data();
  for (const RowRun& run : runs) {
    auto bytes = static_cast<size_t>(run.count * width);
    if (bytes > 0) std::memcpy(to, values + run.first * width, bytes);
    to += bytes;
  }
  return found;
}

struct Elements {
  std::shared_ptr<arrow::Buffer> offsets;
  std::vector<RowRun> runs;
};

// Where the elements of lists, or the bytes of texts, come to lie, and which they are.
arrow::Result<Elements> elementsIn(const int32_t* offsets, const std::vector<RowRun>& runs, arrow::MemoryPool* pool) {
  auto bytes = static_cast<int64_t>(sizeof(int32_t)) * (countIn(runs) + 1);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> found, arrow::AllocateBuffer(bytes, pool));
  Elements elements{std::move(found), {}};
  auto* to = elements.offsets->mutable_data_as<int32_t>();
  int32_t end = 0;
  *to++ = end;
  for (const RowRun& run : runs) {
    const int32_t* of = offsets + run.first;
    for (int64_t i = 1; i <= run.count; ++i) *to++ = end + (of[i] - of[0]);
    end += of[run.count] - of[0];
    elements.runs.push_back({of[0], of[run.count] - of[0]});
  }
  return elements;
}

arrow::Result<Data> dataIn(const arrow::ArrayData& from, const std::vector<RowRun>& runs, arrow::MemoryPool* pool);

// All but the validity of the rows.
arrow::Status fill(arrow::ArrayData& to, const arrow::ArrayData& from, const std::vector<RowRun>& runs,
                   arrow::MemoryPool* pool) {
  switch (from.type->id()) {
    case arrow::Type::BOOL: {
      ARROW_ASSIGN_OR_RAISE(to.buffers[1], bitsIn(*from.buffers[1], from.offset, runs, pool));
      return arrow::Status::OK();
    }
    case arrow::Type::BINARY:
    case arrow::Type::STRING: {
      ARROW_ASSIGN_OR_RAISE(Elements bytes, elementsIn(from.GetValues<int32_t>(1), runs, pool));
      to.buffers[1] = bytes.offsets;
      const uint8_t* values = from.buffers[2] == nullptr ? nullptr : from.buffers[2]->data();
      ARROW_ASSIGN_OR_RAISE(to.buffers[2], valuesIn(values, 1, bytes.runs, pool));
      return arrow::Status::OK();
    }
    case arrow::Type::LIST: {
      ARROW_ASSIGN_OR_RAISE(Elements elements, elementsIn(from.GetValues<int32_t>(1), runs, pool));
      to.buffers[1] = elements.offsets;
      ARROW_ASSIGN_OR_RAISE(to.child_data[0], dataIn(*from.child_data[0], elements.runs, pool));
      return arrow::Status::OK();
    }
    case arrow::Type::STRUCT: {
      std::vector<RowRun> ofChildren = runs;
      for (RowRun& run : ofChildren) run.first += from.offset;
      for (size_t i = 0; i < from.child_data.size(); ++i) {
        ARROW_ASSIGN_OR_RAISE(to.child_data[i], dataIn(*from.child_data[i], ofChildren, pool));
      }
      return arrow::Status::OK();
    }
    default: {
      if (!arrow::is_fixed_width(from.type->id())) {
        return arrow::Status::NotImplemented("Rows of type ", from.type->ToString());
      }
      // Places in a dictionary are such, too.
      int64_t width = from.type->byte_width();
      ARROW_ASSIGN_OR_RAISE(to.buffers[1], valuesIn(from.buffers[1]->data() + from.offset * width, width, runs, pool));
      return arrow::Status::OK();
    }
  }
}

arrow::Result<Data> dataIn(const arrow::ArrayData& from, const std::vector<RowRun>& runs, arrow::MemoryPool* pool) {
  Data to = from.Copy();
  to->offset = 0;
  to->length = countIn(runs);
  to->SetNullCount(0);
  if (to->buffers[0] != nullptr) {
    ARROW_ASSIGN_OR_RAISE(to->buffers[0], bitsIn(*from.buffers[0], from.offset, runs, pool));
    to->SetNullCount(arrow::kUnknownNullCount);
  }
  ARROW_RETURN_NOT_OK(fill(*to, from, runs, pool));
  return to;
}

}  // namespace

std::vector<RowRun> runsOf(std::span<const int64_t> numbers, int64_t first) {
  std::vector<RowRun> runs;
  for (int64_t number : numbers) {
    if (runs.empty() || number - first != runs.back().first + runs.back().count) runs.push_back({number - first, 0});
    ++runs.back().count;
  }
  return runs;
}

arrow::Result<std::shared_ptr<arrow::Array>> rowsIn(const arrow::Array& array, const std::vector<RowRun>& runs,
                                                    arrow::MemoryPool* pool) {
  if (runs.size() == 1) return array.Slice(runs[0].first, runs[0].count);
  ARROW_ASSIGN_OR_RAISE(Data found, dataIn(*array.data(), runs, pool));
  return arrow::MakeArray(std::move(found));
}

}  // namespace bloomery::data
