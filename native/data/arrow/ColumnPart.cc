#include "data/arrow/ColumnPart.h"

#include <cstring>

#include "base/Error.h"
#include "data/LateValues.h"

namespace bloomery::data {

const ColumnWords kFeatureWords{"features",
                                "Features are null",
                                "Feature",
                                "a number, an array of numbers, an ML vector, binary or an image",
                                "give the Input another dtype or cast the column",
                                "; drop such rows, or set the column's nulls to \"zero\" or \"mean\"",
                                "; give the Input another shape, or the column padding and truncating",
                                "; add it, or set outOfVocabulary to \"last\""};
const ColumnWords kTargetWords{"label",           "Label is null",    "Label", "a number or an array of numbers",
                               "cast the column", "; drop such rows", "",      "; add it, or drop such rows"};

std::string ColumnPart::shape() const {
  return format.shape.rank() > 0 ? format.shape.toString() : Shape{format.count}.toString();
}

void ColumnPart::writeRowOfNull(std::byte* to, const RowPlace& place) const {
  if (rule.nulls == NullRule::kError) throw UserError(message(words->areNull, ": ", place, words->nullAdvice));
  if (rule.nulls == NullRule::kMean) {
    for (int64_t i = 0; i < format.count; ++i) writeMean(to, i);
  } else {
    std::memset(to, 0, format.bytes());
  }
}

void ColumnPart::writeMean(std::byte* to, int64_t element) const {
  std::byte* value = to + static_cast<size_t>(element) * valueBytes();
  if (rule.knownMeans.empty()) return LateMeans::mark(value, format.type);
  check(rule.knownMeans.size() == static_cast<size_t>(format.count), "Means of ", rule.knownMeans.size(), " values");
  double mean = rule.knownMeans[static_cast<size_t>(element)];
  float rounded = static_cast<float>(mean);
  format.type == DType::kFloat64 ? std::memcpy(value, &mean, sizeof(mean))
                                 : std::memcpy(value, &rounded, sizeof(float));
}

void ColumnPart::writeNull(std::byte* to, int64_t element, const RowPlace& place) const {
  if (rule.nulls == NullRule::kError) {
    throw UserError(message(words->element, " is null: element ", element, ", ", place, words->nullAdvice));
  }
  if (rule.nulls == NullRule::kMean) return writeMean(to, element);
  std::memset(to + static_cast<size_t>(element) * valueBytes(), 0, valueBytes());
}

ColumnPart::Window ColumnPart::windowOf(int64_t length, const RowPlace& place) const {
  int64_t wanted = format.count;
  if (length < wanted && rule.padding) return {0, length, *rule.padding == End::kFront ? wanted - length : 0};
  if (length > wanted && rule.truncating) return {*rule.truncating == End::kFront ? length - wanted : 0, wanted, 0};
  if (length == wanted) return {0, length, 0};
  throw UserError(message("Wrong length of array: ", length, " values, wanted ", wanted, " for shape ", shape(), ", ",
                          place, words->lengthAdvice));
}

void ColumnPart::failToFit(double value, int64_t element, const RowPlace& place) const {
  throw UserError(message(words->element, " does not fit ", nameOf(format.type), ": ", shown(value), ", element ",
                          element, ", ", place, "; ", words->fitAdvice));
}

}  // namespace bloomery::data
