// Arrow has several types for one meaning: arrays, texts and binaries with 32-bit offsets, with 64-bit ones, of one
// fixed length or through a dictionary; timestamps in several units and zones; decimals where doubles are wanted. Files
// bring back any of them; here they become the types that are wanted, so that batches of all files fit one schema.
#pragma once

#include <arrow/api.h>

#include <memory>

namespace bloomery::data {

// Whether values of the one type can become the other, the wanted one: a type of which each kind has one layout, with
// 32-bit offsets, and timestamps in microseconds. Names and nullability of a list's elements do not matter.
bool canBecome(const arrow::DataType& found, const arrow::DataType& wanted);

// The values as the wanted type, which they can become; shares their memory where it can be read so. Invalid when they
// are too many for 32-bit offsets, or a timestamp is out of range.
arrow::Result<std::shared_ptr<arrow::Array>> become(const std::shared_ptr<arrow::Array>& array,
                                                    const std::shared_ptr<arrow::DataType>& wanted);

// Whether buffers of the one type can be read as the other: names and nullability of a list's elements do not matter.
bool sameLayout(const arrow::DataType& a, const arrow::DataType& b);

}  // namespace bloomery::data
