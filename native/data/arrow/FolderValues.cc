#include "data/arrow/FolderValues.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/Error.h"

namespace bloomery::data {

namespace {

constexpr const char* kNull = "__HIVE_DEFAULT_PARTITION__";

template <typename Number>
std::optional<Number> parse(const std::string& text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

FolderValues folderValues(const std::string& root, const std::string& file) {
  FolderValues values;
  for (const std::filesystem::path& part : std::filesystem::path(file).lexically_relative(root).parent_path()) {
    std::string name = part.string();
    if (size_t sign = name.find('='); sign != std::string::npos) values[name.substr(0, sign)] = name.substr(sign + 1);
  }
  return values;
}

std::shared_ptr<arrow::DataType> folderType(const std::string& column, const std::vector<FolderValues>& values,
                                            const std::vector<std::string>& files) {
  bool whole = true;
  for (size_t i = 0; i < values.size(); ++i) {
    auto found = values[i].find(column);
    if (found == values[i].end()) {
      throw UserError(message("Not every file lies in a folder for column '", column, "', file ", files[i]));
    }
    if (found->second == kNull) continue;
    if (!parse<double>(found->second)) {
      throw UserError(message("Wrong value of column '", column, "' in a folder's name: ", found->second,
                              ", wanted a number, file ", files[i]));
    }
    whole = whole && parse<int64_t>(found->second).has_value();
  }
  return whole ? arrow::int64() : arrow::float64();
}

arrow::Result<std::shared_ptr<arrow::Array>> folderColumn(const std::string& value,
                                                          const std::shared_ptr<arrow::DataType>& type, int64_t rows) {
  std::shared_ptr<arrow::Scalar> scalar = arrow::MakeNullScalar(type);
  if (value != kNull && type->id() == arrow::Type::INT64) scalar = arrow::MakeScalar(*parse<int64_t>(value));
  if (value != kNull && type->id() == arrow::Type::DOUBLE) scalar = arrow::MakeScalar(*parse<double>(value));
  return arrow::MakeArrayFromScalar(*scalar, rows, arrow::system_memory_pool());
}

}  // namespace bloomery::data
