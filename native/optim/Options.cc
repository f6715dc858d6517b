#include "optim/Options.h"

#include <cmath>

#include "base/Error.h"

namespace bloomery::optim {

double positive(JsonReader& options, const std::string& key) {
  double value = options.number(key);
  if (!(value > 0 && std::isfinite(value))) {
    throw UserError(message("Not positive: ", key, " ", value, ", in ", options.where()));
  }
  return value;
}

double positive(JsonReader& options, const std::string& key, double byDefault) {
  return options.has(key) ? positive(options, key) : byDefault;
}

double notNegative(JsonReader& options, const std::string& key, double byDefault) {
  double value = options.number(key, byDefault);
  if (!(value >= 0 && std::isfinite(value))) {
    throw UserError(message("Negative: ", key, " ", value, ", in ", options.where()));
  }
  return value;
}

int64_t atLeast(JsonReader& options, const std::string& key, int64_t least, int64_t byDefault) {
  int64_t value = options.integer(key, byDefault);
  if (value < least) {
    throw UserError(message("Too small: ", key, " ", value, ", give at least ", least, ", in ", options.where()));
  }
  return value;
}

double decay(JsonReader& options, const std::string& key, double byDefault) {
  double value = options.number(key, byDefault);
  if (!(value >= 0 && value < 1)) {
    throw UserError(message("Outside 0 <= ", key, " < 1: ", value, ", in ", options.where()));
  }
  return value;
}

double share(JsonReader& options, const std::string& key, double byDefault) {
  double value = options.number(key, byDefault);
  if (!(value > 0 && value < 1)) {
    throw UserError(message("Outside 0 < ", key, " < 1: ", value, ", in ", options.where()));
  }
  return value;
}

}  // namespace bloomery::optim
