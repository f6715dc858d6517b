#include "data/arrow/ListLevels.h"

#include "base/Error.h"

namespace bloomery::data {

bool isList(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::FIXED_SIZE_LIST;
}

const arrow::DataType& valueTypeOf(const arrow::DataType& type) {
  return isList(type) ? valueTypeOf(*type.field(0)->type()) : type;
}

int listDepthOf(const arrow::DataType& type) { return isList(type) ? 1 + listDepthOf(*type.field(0)->type()) : 0; }

int64_t fixedLengthOf(const arrow::DataType& type) {
  if (!isList(type)) return 1;
  if (type.id() != arrow::Type::FIXED_SIZE_LIST) return 0;
  return static_cast<const arrow::FixedSizeListType&>(type).list_size() * fixedLengthOf(*type.field(0)->type());
}

ListLevels::ListLevels(const arrow::Array& array) : values_(&array) {
  while (isList(*values_->type())) {
    Level level{values_};
    std::shared_ptr<arrow::Array> inside;
    if (values_->type_id() == arrow::Type::LIST) {
      const auto& list = static_cast<const arrow::ListArray&>(*values_);
      level.offsets = list.raw_value_offsets();
      inside = list.values();
    } else if (values_->type_id() == arrow::Type::LARGE_LIST) {
      const auto& list = static_cast<const arrow::LargeListArray&>(*values_);
      level.largeOffsets = list.raw_value_offsets();
      inside = list.values();
    } else {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(*values_);
      level.fixedLength = list.list_type()->list_size();
      inside = list.values();
    }
    levels_.push_back(level);
    values_ = inside.get();
    held_.push_back(std::move(inside));
  }
}

ListLevels::Range ListLevels::rangeOf(int64_t row, const Shape& shape, const RowPlace& place) const {
  int64_t begin = row, end = row + 1;
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (level > 0) checkLists(level, begin, end, shape, place);
    begin = levels_[level].beginOf(begin);
    end = levels_[level].beginOf(end);
  }
  return {begin, end - begin};
}

bool ListLevels::areOf(int64_t length, int64_t row, int64_t count) const {
  if (levels_.empty()) return length == 1;
  if (levels_.size() > 1) return false;
  bool all = true;
  for (int64_t i = row; i < row + count; ++i) all &= beginOf(i + 1) - beginOf(i) == length;
  return all;
}

void ListLevels::checkLists(size_t level, int64_t begin, int64_t end, const Shape& shape, const RowPlace& place) const {
  const Level& lists = levels_[level];
  if (begin == end) return;
  int64_t wanted = shape.rank() == levels_.size() ? shape[level] : lists.beginOf(begin + 1) - lists.beginOf(begin);
  for (int64_t list = begin; list < end; ++list) {
    if (lists.array->IsNull(list)) {
      throw UserError(message("Array inside an array is null: array ", list - begin, ", ", place, "; drop such rows"));
    }
    int64_t length = lists.beginOf(list + 1) - lists.beginOf(list);
    if (length == wanted) continue;
    throw UserError(message("Ragged array: ", length, " values in array ", list - begin, ", wanted ", wanted, ", ",
                            place, "; make all arrays inside equally long"));
  }
}

}  // namespace bloomery::data
