// Arrow has several layouts for one meaning: arrays and binaries with 32-bit offsets, with 64-bit ones, or of one fixed
// length. Files that Arrow wrote bring back any of them; here they become the plain one, with 32-bit offsets, so that
// batches of all files fit one schema.
#pragma once

#include <arrow/api.h>

#include <memory>

namespace bloomery::data {

// The plain type with this meaning; the type itself when it is plain.
std::shared_ptr<arrow::DataType> plainType(const std::shared_ptr<arrow::DataType>& type);

// The same values in the plain layout; shares their memory. Invalid when they are too many for 32-bit offsets.
arrow::Result<std::shared_ptr<arrow::Array>> toPlain(const std::shared_ptr<arrow::Array>& array);

// Whether buffers of the one type can be read as the other: names and nullability of a list's elements do not matter.
bool sameLayout(const arrow::DataType& a, const arrow::DataType& b);

}  // namespace bloomery::data
