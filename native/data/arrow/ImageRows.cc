#include "data/arrow/ImageRows.h"

#include <cstring>
#include <string_view>

#include "base/Error.h"

namespace bloomery::data {

namespace {

int32_t intOf(const arrow::Array& array, int64_t row) {
  return static_cast<const arrow::Int32Array&>(array).Value(row);
}

std::string_view bytesOf(const arrow::Array& array, int64_t row) {
  return array.type_id() == arrow::Type::LARGE_BINARY ? static_cast<const arrow::LargeBinaryArray&>(array).GetView(row)
                                                      : static_cast<const arrow::BinaryArray&>(array).GetView(row);
}

}  // namespace

bool isImage(const arrow::DataType& type) {
  if (type.id() != arrow::Type::STRUCT) return false;
  const auto& parts = static_cast<const arrow::StructType&>(type);
  for (const char* name : {"height", "width", "nChannels"}) {
    auto field = parts.GetFieldByName(name);
    if (field == nullptr || field->type()->id() != arrow::Type::INT32) return false;
  }
  auto data = parts.GetFieldByName("data");
  return data != nullptr &&
         (data->type()->id() == arrow::Type::BINARY || data->type()->id() == arrow::Type::LARGE_BINARY);
}

ImageRows::ImageRows(const arrow::Array& array, const ColumnPart& part)
    : part_(part), convert_(converter(*arrow::uint8(), part.format.type)) {
  const auto& parts = static_cast<const arrow::StructArray&>(array);
  height_ = parts.GetFieldByName("height");
  width_ = parts.GetFieldByName("width");
  channels_ = parts.GetFieldByName("nChannels");
  data_ = parts.GetFieldByName("data");
}

void ImageRows::copy(int64_t row, std::byte* to, const RowPlace& place) const {
  for (const auto* array : {&height_, &width_, &channels_, &data_}) {
    if ((*array)->IsNull(row)) throw UserError(message("Image is not complete: ", place, "; drop such rows"));
  }
  Shape shape{intOf(*height_, row), intOf(*width_, row), intOf(*channels_, row)};
  bool fits = part_.format.shape.rank() == shape.rank() ? part_.format.shape == shape
                                                        : part_.format.count == shape.numElements();
  if (!fits) {
    throw UserError(message("Wrong size of image: ", shape.toString(), ", wanted ", part_.shape(), ", ", place,
                            "; resize the images, or give the Input their shape"));
  }
  std::string_view bytes = bytesOf(*data_, row);
  if (static_cast<int64_t>(bytes.size()) != part_.format.count) {
    throw UserError(message("Wrong length of image data: ", bytes.size(), " bytes, wanted ", part_.format.count,
                            " for size ", shape.toString(), ", ", place, "; give one byte a value"));
  }
  int64_t bad = convert_(bytes.data(), part_.format.count, to);
  if (bad >= 0) part_.failToFit(static_cast<uint8_t>(bytes[static_cast<size_t>(bad)]), bad, place);
}

}  // namespace bloomery::data
