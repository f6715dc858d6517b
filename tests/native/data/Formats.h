// Row formats of one input, as most tests have them.
#pragma once

#include "data/RowFormat.h"

namespace bloomery::data {

// One class index as target.
inline RowFormat oneClass(DType type, int64_t count, Shape shape = {}, int64_t classes = 10, double scale = 1) {
  return {{{type, count, std::move(shape), scale}}, {{classes, true}}};
}

inline RowFormat noTarget(DType type, int64_t count) { return {{{type, count}}, {}}; }

}  // namespace bloomery::data
