// Where a value stands, for messages: "column 'label', row 4711 of partition 3".
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace bloomery::data {

struct RowPlace {
  const std::string& column;
  int64_t row;  // in its partition
  int partition;

  RowPlace behind(int64_t rows) const { return {column, row + rows, partition}; }
};

inline std::ostream& operator<<(std::ostream& out, const RowPlace& place) {
  return out << "column '" << place.column << "', row " << place.row << " of partition " << place.partition;
}

}  // namespace bloomery::data
