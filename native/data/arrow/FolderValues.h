// Columns that folders give to the files inside, by names such as "day=12/part-0.parquet": each has one value for all
// rows of a file, a number or nothing. How such a column is typed depends on all files: whole numbers unless one is
// not.
#pragma once

#include <arrow/api.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bloomery::data {

// By column; no value where the folder stands for null.
using FolderValues = std::map<std::string, std::string>;

// What the folders between `root` and the file say.
FolderValues folderValues(const std::string& root, const std::string& file);

// The type of a column with these values, by file; UserError, naming one of the files, when one has no value for it or
// one that is not a number.
std::shared_ptr<arrow::DataType> folderType(const std::string& column, const std::vector<FolderValues>& values,
                                            const std::vector<std::string>& files);

// The value in so many rows.
arrow::Result<std::shared_ptr<arrow::Array>> folderColumn(const std::string& value,
                                                          const std::shared_ptr<arrow::DataType>& type, int64_t rows);

}  // namespace bloomery::data
