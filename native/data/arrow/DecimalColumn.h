// Arrow columns of decimals as doubles, each the one nearest to the decimal: what Spark's cast makes of it, bit for
// bit.
#pragma once

#include <arrow/api.h>

#include <memory>

namespace bloomery::data {

bool isDecimal(const arrow::DataType& type);

// Rows and nulls as they are. The array's type must be a decimal.
std::shared_ptr<arrow::Array> doublesOf(const arrow::Array& decimals);

}  // namespace bloomery::data
