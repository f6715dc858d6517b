// The part of an input, or of a target, that one column fills: its rules, its values' type and number, and how messages
// speak of it. And the interface of what reads a column's rows into it, of which each kind of column has its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "data/Categories.h"
#include "data/InputColumn.h"
#include "data/RowFormat.h"
#include "data/arrow/RowPlace.h"

namespace bloomery::data {

// How messages speak of a column's values.
struct ColumnWords {
  const char* column;        // "features"
  const char* areNull;       // "Features are null"
  const char* element;       // "Feature"
  const char* wanted;        // of the column's type
  const char* fitAdvice;     // for a value that does not fit
  const char* nullAdvice;    // for one that is not there
  const char* lengthAdvice;  // for too many values or too few
  const char* wordAdvice;    // for a word that is not in the vocabulary
};
extern const ColumnWords kFeatureWords;
extern const ColumnWords kTargetWords;

struct ColumnPart {
  InputColumn rule;
  FeatureFormat format;  // of this part alone
  const ColumnWords* words = &kFeatureWords;
  std::shared_ptr<const Categories> categories = {};  // of rule.categories
  size_t offset = 0;                                  // bytes before it in the input's row

  size_t valueBytes() const { return sizeOf(format.type); }
  std::string shape() const;

  // For values from `first` on that are null: what the rule says, or a UserError.
  void writeRowOfNull(std::byte* to, const RowPlace& place) const;
  void writeNull(std::byte* to, int64_t element, const RowPlace& place) const;
  void writeMean(std::byte* to, int64_t element) const;
  // Which values of an array of this length are taken, and where they go; the rest of the part is to be zero.
  struct Window {
    int64_t from, count, to;
  };
  Window windowOf(int64_t length, const RowPlace& place) const;
  [[noreturn]] void failToFit(double value, int64_t element, const RowPlace& place) const;
};

// The rows of one record batch's column. Borrows the column and the part.
class ColumnRows {
 public:
  virtual ~ColumnRows() = default;
  // Writes the values of a row that is not null; UserError, naming the place, when they cannot be those of the part.
  virtual void copy(int64_t row, std::byte* to, const RowPlace& place) const = 0;
  // Whether these rows, none of which is null, lie one behind the other and each has all values of the part: such rows
  // are quicker to write many at once.
  virtual bool areWhole(int64_t /*row*/, int64_t /*count*/) const { return false; }
  // Writes such rows one behind the other; false when a value does not fit, which `copy` of its row tells.
  virtual bool copyWhole(int64_t /*row*/, int64_t /*count*/, std::byte* /*to*/) const { return false; }
};

}  // namespace bloomery::data
