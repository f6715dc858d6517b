// Readers of options that have a range; outside it they throw a UserError that names option, value and place.
#pragma once

#include <cstdint>
#include <string>

#include "base/Json.h"

namespace bloomery::optim {

double positive(JsonReader& options, const std::string& key);
double positive(JsonReader& options, const std::string& key, double byDefault);
double notNegative(JsonReader& options, const std::string& key, double byDefault);
int64_t atLeast(JsonReader& options, const std::string& key, int64_t least, int64_t byDefault);
// A factor of a running mean, 0 <= factor < 1: 0 keeps nothing, 1 would never learn.
double decay(JsonReader& options, const std::string& key, double byDefault);
// A share, 0 < share < 1.
double share(JsonReader& options, const std::string& key, double byDefault);

}  // namespace bloomery::optim
