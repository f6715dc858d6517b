#include "data/arrow/TextColumn.h"

namespace bloomery::data {

namespace {

bool isPlainText(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING;
}

}  // namespace

bool isText(const arrow::DataType& type) {
  if (type.id() != arrow::Type::DICTIONARY) return isPlainText(type);
  return isPlainText(*static_cast<const arrow::DictionaryType&>(type).value_type());
}

TextColumn::TextColumn(const arrow::Array& array) : texts_(&array) {
  if (array.type_id() != arrow::Type::DICTIONARY) return;
  encoded_ = static_cast<const arrow::DictionaryArray*>(&array);
  dictionary_ = encoded_->dictionary();
  texts_ = dictionary_.get();
}

bool TextColumn::isNull(int64_t row) const {
  if (encoded_ == nullptr) return texts_->IsNull(row);
  return encoded_->IsNull(row) || texts_->IsNull(encoded_->GetValueIndex(row));
}

std::string_view TextColumn::text(int64_t row) const {
  int64_t place = encoded_ == nullptr ? row : encoded_->GetValueIndex(row);
  if (texts_->type_id() == arrow::Type::LARGE_STRING) {
    return static_cast<const arrow::LargeStringArray*>(texts_)->GetView(place);
  }
  return static_cast<const arrow::StringArray*>(texts_)->GetView(place);
}

}  // namespace bloomery::data
