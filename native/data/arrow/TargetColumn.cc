#include "data/arrow/TargetColumn.h"

#include <cmath>

namespace bloomery::data {

FeatureFormat TargetColumn::valuesOf(const TargetRule& rule) {
  return {DType::kFloat32, rule.shape.numElements(), rule.shape};
}

bool TargetColumn::isClass(const arrow::Field& field, const TargetRule& rule) {
  const arrow::DataType& type = *field.type();
  if (isNumber(type) && rule.takesClass) return true;
  if (!rule.takesValues) {
    throw UserError(message("Wrong type of label column '", field.name(), "': ", type.ToString(), ", wanted a number"));
  }
  bool isBytes = type.id() == arrow::Type::BINARY || type.id() == arrow::Type::LARGE_BINARY ||
                 type.id() == arrow::Type::FIXED_SIZE_BINARY;
  if (isBytes) {
    throw UserError(message("Wrong type of label column '", field.name(), "': ", type.ToString(), ", wanted ",
                            kTargetWords.wanted));
  }
  FeatureColumn::checkField(field, valuesOf(rule), kTargetWords);
  return false;
}

TargetColumn::TargetColumn(const arrow::Array& array, const TargetRule& rule, bool isClass)
    : rule_(rule), format_(valuesOf(rule)) {
  if (isClass) {
    classes_.emplace(array);
  } else {
    values_.emplace(array, format_, kTargetWords);
  }
}

void TargetColumn::copy(int64_t row, RowStore& store, int64_t storeRow, size_t target, const RowPlace& place) const {
  if (values_) {
    float* values = store.values(storeRow, target);
    values_->copy(row, reinterpret_cast<std::byte*>(values), place);
    return checkValues(values, place);
  }
  if (classes_->isNull(row)) throw UserError(message("Label is null: ", place));
  double label = classes_->value(row);
  int64_t classes = rule_.shape.numElements();
  if (std::trunc(label) != label) throw UserError(message("Label is not a whole number: ", label, ", ", place));
  if (!(label >= 0 && label < static_cast<double>(classes))) {
    throw UserError(message("Label out of range: ", label, ", classes: ", classes, ", ", place));
  }
  store.setLabel(storeRow, target, static_cast<int32_t>(label));
}

void TargetColumn::checkValues(const float* values, const RowPlace& place) const {
  for (int64_t i = 0; i < format_.count; ++i) {
    bool fits = rule_.probabilities ? values[i] >= 0 && values[i] <= 1 : std::isfinite(values[i]);
    if (fits) continue;
    throw UserError(message(rule_.probabilities ? "Label is not in 0..1: " : "Label is not finite: ", values[i],
                            ", element ", i, ", ", place));
  }
}

}  // namespace bloomery::data
