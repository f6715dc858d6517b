// What a trained network says of the rows of Parquet files.
#pragma once

#include <string>

#include "data/arrow/ParquetRows.h"

namespace bloomery::tools {

// As safetensors: of each output of the task's network, by its name, the values of all rows in the order of reading,
// behind a final softmax or sigmoid. The rows have the columns of the features and no others.
std::string predictionsOf(data::ParquetRows& rows, const std::string& task, const std::string& weights);

}  // namespace bloomery::tools
