#include "tensor/DType.h"

#include <algorithm>

#include "base/Error.h"
#include "base/Names.h"

namespace bloomery {

size_t sizeOf(DType type) {
  static constexpr size_t kSizes[] = {4, 8, 1, 1, 2, 4, 8};
  return kSizes[static_cast<size_t>(type)];
}

const std::vector<std::string>& dtypeNames() {
  static const std::vector<std::string> kNames = {"float32", "float64", "uint8", "int8", "int16", "int32", "int64"};
  return kNames;
}

std::string nameOf(DType type) { return dtypeNames()[static_cast<size_t>(type)]; }

DType dtypeOf(const std::string& name) {
  const auto& names = dtypeNames();
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw UserError(unknownName("dtype", name, names));
  return static_cast<DType>(found - names.begin());
}

}  // namespace bloomery
