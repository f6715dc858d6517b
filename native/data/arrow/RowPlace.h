// Where a value stands, and what it is, for messages: "column 'label', row 4711 of partition 3".
#pragma once

#include <cmath>
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

// A value for messages: the sign of a NaN means nothing.
inline double shown(double value) { return std::isnan(value) ? std::abs(value) : value; }

inline std::ostream& operator<<(std::ostream& out, const RowPlace& place) {
  return out << "column '" << place.column << "', row " << place.row << " of partition " << place.partition;
}

}  // namespace bloomery::data
