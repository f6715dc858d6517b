#include "base/Error.h"
#include "base/JsonValue.h"
#include "optim/Options.h"
#include "optim/Updater.h"

namespace bloomery::optim {

UpdateSpec UpdateSpec::read(JsonReader& training) {
  UpdateSpec spec;
  if (training.has("optimizer")) {
    Json optimizer = training.value("optimizer");
    // Options alone, such as a learning rate, are those of the default optimizer.
    if (optimizer.is_object() && !optimizer.contains("kind")) optimizer["kind"] = optim::toJson(spec.optimizer)["kind"];
    spec.optimizer = readOptimizer(optimizer);
  }
  if (training.has("clipNorm")) spec.clipNorm = positive(training, "clipNorm");
  if (training.has("clipValue")) spec.clipValue = positive(training, "clipValue");
  if (spec.clipNorm && spec.clipValue) throw UserError("Both clipNorm and clipValue are set: keep one");
  if (training.has("emaMomentum")) spec.emaMomentum = decay(training, "emaMomentum", 0);
  return spec;
}

void UpdateSpec::write(Json& training) const {
  training["optimizer"] = toJson(optimizer);
  if (clipNorm) training["clipNorm"] = *clipNorm;
  if (clipValue) training["clipValue"] = *clipValue;
  if (emaMomentum) training["emaMomentum"] = *emaMomentum;
}

size_t numStateArenas(const UpdateSpec& spec) { return numStateArenas(spec.optimizer) + (spec.emaMomentum ? 1 : 0); }

}  // namespace bloomery::optim
