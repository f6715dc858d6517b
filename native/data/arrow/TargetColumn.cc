#include "data/arrow/TargetColumn.h"

#include <cmath>

#include "base/Error.h"
#include "data/arrow/BinaryRows.h"
#include "data/arrow/CategoryRows.h"
#include "data/arrow/VectorColumn.h"

namespace bloomery::data {

namespace {

bool isIndex(const arrow::DataType& type) { return isNumber(type) || type.id() == arrow::Type::BOOL; }

}  // namespace

ColumnPart TargetColumn::partOf(const TargetRule& rule, const std::string& column) {
  InputColumn any(column);
  any.nans = NanRule::kPass;  // what a target may be is for checkValues to say
  return {std::move(any), {DType::kFloat32, rule.shape.numElements(), rule.shape}, &kTargetWords};
}

bool TargetColumn::isClass(const arrow::Field& field, const TargetRule& rule) {
  const arrow::DataType& type = *field.type();
  auto wrongType = [&](const char* wanted) {
    return UserError(
        message("Wrong type of label column '", field.name(), "': ", type.ToString(), ", wanted ", wanted));
  };
  if (rule.vocabulary) {
    if (!rule.takesClass)
      throw UserError(message("Output takes no classes: vocabulary of label column '", field.name(), "'"));
    if (isCategory(type)) return true;
    throw wrongType("a text or a whole number, for its vocabulary");
  }
  if (isIndex(type) && rule.takesClass) return true;
  if (isText(type)) throw wrongType("a number, or give the column a vocabulary");
  if (!rule.takesValues) throw wrongType("a number");
  bool isNoList = isBinary(type) || (type.id() == arrow::Type::STRUCT && !isVector(type));
  if (isNoList) throw wrongType(kTargetWords.wanted);
  FeatureColumn::checkField(field, partOf(rule, field.name()));
  return false;
}

TargetColumn::TargetColumn(const arrow::Array& array, const TargetRule& rule, bool isClass,
                           const Categories* categories, int64_t offset)
    : rule_(rule), categories_(categories), offset_(offset), part_(partOf(rule, "")) {
  if (!isClass) {
    values_.emplace(array, part_);
  } else if (isText(*array.type())) {
    texts_.emplace(array);
  } else {
    numbers_.emplace(array);
  }
}

double TargetColumn::classOf(int64_t row, const RowPlace& place) const {
  if (texts_ ? texts_->isNull(row) : numbers_->isNull(row)) {
    throw UserError(message("Label is null: ", place, kTargetWords.nullAdvice));
  }
  if (texts_) return static_cast<double>(indexOf(*categories_, texts_->text(row), place, kTargetWords));
  if (categories_ != nullptr)
    return static_cast<double>(indexOf(*categories_, textOf(*numbers_, row), place, kTargetWords));
  return numbers_->value(row);
}

void TargetColumn::copy(int64_t row, RowStore& store, int64_t storeRow, size_t target, const RowPlace& place) const {
  if (values_) {
    float* values = store.values(storeRow, target) + offset_;
    values_->copy(row, reinterpret_cast<std::byte*>(values), place);
    return checkValues(values, place);
  }
  double label = classOf(row, place);
  int64_t classes = rule_.shape.numElements();
  if (std::trunc(label) != label) {
    throw UserError(
        message("Label is not a whole number: ", shown(label), ", ", place, "; a class is one, so index the labels"));
  }
  if (!(label >= 0 && label < static_cast<double>(classes))) {
    throw UserError(message("Label out of range: ", label, ", classes: ", classes, ", ", place,
                            "; classes count from 0, so index the labels or give the last layer more units"));
  }
  store.setLabel(storeRow, target, static_cast<int32_t>(label));
}

void TargetColumn::copy(int64_t row, int64_t count, RowStore& store, int64_t storeRow, size_t target,
                        const RowPlace& first) const {
  bool areClasses = numbers_ && !numbers_->hasNulls() && categories_ == nullptr;
  if (areClasses && copyClasses(row, count, store.labels(storeRow, target))) return;
  for (int64_t i = 0; i < count; ++i) copy(row + i, store, storeRow + i, target, first.behind(i));
}

// False where one is no class: who it is, and what to say then, is known row by row.
bool TargetColumn::copyClasses(int64_t row, int64_t count, int32_t* to) const {
  return withNumberType(numbers_->type(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = static_cast<const T*>(numbers_->values()) + row;
    auto classes = static_cast<double>(rule_.shape.numElements());
    bool fits = true;
    for (int64_t i = 0; i < count; ++i) {
      auto label = static_cast<double>(from[i]);
      bool isClass = label >= 0 && label < classes;
      to[i] = isClass ? static_cast<int32_t>(label) : 0;
      fits &= isClass && static_cast<double>(to[i]) == label;
    }
    return fits;
  });
}

void TargetColumn::checkValues(const float* values, const RowPlace& place) const {
  for (int64_t i = 0; i < part_.format.count; ++i) {
    bool fits = rule_.probabilities ? values[i] >= 0 && values[i] <= 1 : std::isfinite(values[i]);
    if (fits) continue;
    throw UserError(message(rule_.probabilities ? "Label is not in 0..1: " : "Label is not finite: ", shown(values[i]),
                            ", element ", i, ", ", place));
  }
}

}  // namespace bloomery::data
