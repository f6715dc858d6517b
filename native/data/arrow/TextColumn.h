// One Arrow column of texts, plain or dictionary-encoded, read one by one. Borrows the array.
#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace bloomery::data {

bool isText(const arrow::DataType& type);

class TextColumn {
 public:
  // The array's type must be a text.
  explicit TextColumn(const arrow::Array& array);

  bool isNull(int64_t row) const;
  std::string_view text(int64_t row) const;

  // Of a dictionary-encoded column: how many words it has, and where among them that of a row stands.
  int64_t numWords() const { return encoded_ == nullptr ? 0 : texts_->length(); }
  int64_t wordOf(int64_t row) const { return encoded_->GetValueIndex(row); }

 private:
  const arrow::DictionaryArray* encoded_ = nullptr;  // its values are in `texts_`
  std::shared_ptr<arrow::Array> dictionary_;
  const arrow::Array* texts_;
};

}  // namespace bloomery::data
