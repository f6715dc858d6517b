#include "train/CheckpointSpec.h"

#include "base/Error.h"
#include "base/JsonValue.h"

namespace bloomery::train {

namespace {

// `param` is what the user knows the key by.
std::optional<int64_t> positive(JsonReader& reader, const char* key, const char* param) {
  if (!reader.has(key)) return std::nullopt;
  int64_t value = reader.integer(key);
  if (value < 1) throw UserError(message("Not positive: ", param, " ", value, ", give at least 1"));
  return value;
}

}  // namespace

CheckpointSpec CheckpointSpec::fromJson(const Json& json) {
  JsonReader reader(json, "checkpoint");
  CheckpointSpec spec;
  spec.epochs = positive(reader, "epochs", "checkpointInterval");
  spec.steps = positive(reader, "steps", "checkpointSteps");
  if (reader.has("minutes")) spec.minutes = reader.number("minutes");
  reader.finish();
  if (spec.minutes && !(*spec.minutes > 0)) {
    throw UserError(message("Not positive: checkpointMinutes ", *spec.minutes, ", give minutes above 0"));
  }
  return spec;
}

void CheckpointClock::saved() {
  epochs_ = steps_ = 0;
  last_ = Clock::now();
}

bool CheckpointClock::isDue() const {
  std::chrono::duration<double, std::ratio<60>> minutes = Clock::now() - last_;
  return (spec_.epochs && epochs_ >= *spec_.epochs) || (spec_.steps && steps_ >= *spec_.steps) ||
         (spec_.minutes && minutes.count() >= *spec_.minutes);
}

}  // namespace bloomery::train
