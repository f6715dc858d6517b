#include "optim/ScheduleSpec.h"

#include "base/JsonValue.h"

namespace bloomery::optim {

namespace {

void write(Json& json, const std::string& name, const Duration& duration) {
  if (duration.inEpochs) {
    json[name + "Epochs"] = duration.count;
  } else {
    json[name + "Steps"] = static_cast<int64_t>(duration.count);
  }
}

void writeOptions(const Constant&, Json&) {}

void writeOptions(const StepDecay& spec, Json& json) {
  json["factor"] = spec.factor;
  write(json, "every", spec.every);
}

void writeOptions(const ExponentialDecay& spec, Json& json) {
  write(json, "decay", spec.decay);
  json["decayRate"] = spec.decayRate;
  json["staircase"] = spec.staircase;
}

void writeOptions(const PolynomialDecay& spec, Json& json) {
  write(json, "decay", spec.decay);
  json["endLearningRate"] = spec.endLearningRate;
  json["power"] = spec.power;
  json["cycle"] = spec.cycle;
}

void writeOptions(const CosineDecay& spec, Json& json) {
  write(json, "decay", spec.decay);
  json["alpha"] = spec.alpha;
}

void writeOptions(const CosineRestarts& spec, Json& json) {
  write(json, "firstDecay", spec.firstDecay);
  json.update({{"tMul", spec.tMul}, {"mMul", spec.mMul}, {"alpha", spec.alpha}});
}

void writeOptions(const Piecewise& spec, Json& json) {
  json[spec.inEpochs ? "boundaryEpochs" : "boundaries"] = spec.boundaries;
  json["values"] = spec.values;
}

void writeOptions(const OneCycle& spec, Json& json) {
  json["maxLearningRate"] = spec.maxLearningRate;
  write(json, "total", spec.total);
  json.update({{"pctStart", spec.pctStart},
               {"divFactor", spec.divFactor},
               {"finalDivFactor", spec.finalDivFactor},
               {"annealStrategy", spec.linear ? "linear" : "cos"}});
}

void writeOptions(const ReduceOnPlateau& spec, Json& json) {
  json.update({{"factor", spec.factor},
               {"patience", spec.patience},
               {"minDelta", spec.minDelta},
               {"cooldown", spec.cooldown},
               {"minLearningRate", spec.minLearningRate},
               {"monitor", spec.onValidation ? "validation_loss" : "loss"}});
}

}  // namespace

Json toJson(const ScheduleSpec& spec) {
  bool warms = spec.warmup.count > 0;
  const auto* constant = std::get_if<Constant>(&spec.decay);
  if (constant != nullptr && !warms) return constant->initialLearningRate;
  Json json = std::visit(
      []<typename Kind>(const Kind& decay) {
        Json object = {{"kind", Kind::kKind}};
        if constexpr (HasInitialRate<Kind>) object["initialLearningRate"] = decay.initialLearningRate;
        writeOptions(decay, object);
        return object;
      },
      spec.decay);
  if (warms) {
    write(json, "warmup", spec.warmup);
    json["warmupStartRate"] = spec.warmupStartRate;
  }
  return json;
}

}  // namespace bloomery::optim
