// Spark's ML vectors, which are structs in a Parquet file: {type, size, indices, values}, sparse or dense. They become
// arrays of floats, as Spark's vector_to_array makes them.
#pragma once

#include <arrow/api.h>

#include <memory>

namespace bloomery::data {

bool isVector(const arrow::DataType& type);

// The type that vectors become.
std::shared_ptr<arrow::DataType> vectorArrayType();

// Null vectors stay null. Invalid when indices, values and size do not fit each other.
arrow::Result<std::shared_ptr<arrow::Array>> vectorsToArrays(const arrow::Array& vectors);

}  // namespace bloomery::data
