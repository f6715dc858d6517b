#include "optim/ScheduleSpec.h"

#include <algorithm>
#include <cmath>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"
#include "optim/Options.h"

namespace bloomery::optim {

namespace {

// `decaySteps` or `decayEpochs`, whichever is there; epochs may be broken.
Duration duration(JsonReader& options, const std::string& name) {
  std::string steps = name + "Steps", epochs = name + "Epochs";
  bool hasSteps = options.has(steps), inEpochs = options.has(epochs);
  if (hasSteps == inEpochs) {
    throw UserError(message(hasSteps ? "Both " : "Missing option: ", steps, hasSteps ? " and " : " or ", epochs,
                            hasSteps ? " are set: keep one, in " : ", in ", options.where()));
  }
  if (inEpochs) return {positive(options, epochs), true};
  return {static_cast<double>(atLeast(options, steps, 1, 1)), false};
}

bool hasDuration(JsonReader& options, const std::string& name) {
  bool steps = options.has(name + "Steps"), epochs = options.has(name + "Epochs");
  return steps || epochs;
}

void readOptions(Constant&, JsonReader&) {}

void readOptions(StepDecay& spec, JsonReader& options) {
  spec.factor = positive(options, "factor", spec.factor);
  spec.every = duration(options, "every");
}

void readOptions(ExponentialDecay& spec, JsonReader& options) {
  spec.decay = duration(options, "decay");
  spec.decayRate = positive(options, "decayRate");
  spec.staircase = options.boolean("staircase", spec.staircase);
}

void readOptions(PolynomialDecay& spec, JsonReader& options) {
  spec.decay = duration(options, "decay");
  spec.endLearningRate = notNegative(options, "endLearningRate", spec.endLearningRate);
  spec.power = positive(options, "power", spec.power);
  spec.cycle = options.boolean("cycle", spec.cycle);
}

double alpha(JsonReader& options, double byDefault) {
  double value = options.number("alpha", byDefault);
  if (!(value >= 0 && value <= 1)) {
    throw UserError(message("Outside 0 <= alpha <= 1: ", value, ", in ", options.where()));
  }
  return value;
}

void readOptions(CosineDecay& spec, JsonReader& options) {
  spec.decay = duration(options, "decay");
  spec.alpha = alpha(options, spec.alpha);
}

void readOptions(CosineRestarts& spec, JsonReader& options) {
  spec.firstDecay = duration(options, "firstDecay");
  spec.tMul = positive(options, "tMul", spec.tMul);
  if (spec.tMul < 1) throw UserError(message("Below 1: tMul ", spec.tMul, ", in ", options.where()));
  spec.mMul = positive(options, "mMul", spec.mMul);
  spec.alpha = alpha(options, spec.alpha);
}

void readOptions(Piecewise& spec, JsonReader& options) {
  spec.inEpochs = options.has("boundaryEpochs");
  if (spec.inEpochs && options.has("boundaries")) {
    throw UserError(message("Both boundaries and boundaryEpochs are set: keep one, in ", options.where()));
  }
  const char* key = spec.inEpochs ? "boundaryEpochs" : "boundaries";
  spec.boundaries = options.integers(key);
  for (size_t i = 0; i < spec.boundaries.size(); ++i) {
    if (spec.boundaries[i] < 0 || (i > 0 && spec.boundaries[i] <= spec.boundaries[i - 1])) {
      throw UserError(
          message("Not ascending from 0: ", key, " ", Json(spec.boundaries).dump(), ", in ", options.where()));
    }
  }
  const Json& values = options.value("values");
  bool fits = values.is_array() && values.size() == spec.boundaries.size() + 1;
  for (const Json& value : fits ? values : Json::array()) {
    fits = fits && value.is_number() && value.get<double>() > 0;
    if (fits) spec.values.push_back(value.get<double>());
  }
  if (!fits) {
    throw UserError(message("Wrong values of ", options.where(), ": ", values.dump(), ", wanted ",
                            spec.boundaries.size() + 1, " numbers above 0, one more than ", key));
  }
}

void readOptions(OneCycle& spec, JsonReader& options) {
  spec.total = duration(options, "total");
  spec.pctStart = share(options, "pctStart", spec.pctStart);
  spec.divFactor = positive(options, "divFactor", spec.divFactor);
  spec.finalDivFactor = positive(options, "finalDivFactor", spec.finalDivFactor);
  std::string strategy = options.text("annealStrategy", "cos");
  if (strategy != "cos" && strategy != "linear") {
    throw UserError(message(unknownName("annealStrategy", strategy, {"cos", "linear"}), ", in ", options.where()));
  }
  spec.linear = strategy == "linear";
}

void readOptions(ReduceOnPlateau& spec, JsonReader& options) {
  spec.factor = share(options, "factor", spec.factor);
  spec.patience = atLeast(options, "patience", 1, spec.patience);
  spec.minDelta = notNegative(options, "minDelta", spec.minDelta);
  spec.cooldown = atLeast(options, "cooldown", 0, spec.cooldown);
  spec.minLearningRate = notNegative(options, "minLearningRate", spec.minLearningRate);
  std::string monitor = options.text("monitor", "validation_loss");
  if (monitor != "validation_loss" && monitor != "loss") {
    throw UserError(message(unknownName("monitor", monitor, {"loss", "validation_loss"}), ", in ", options.where()));
  }
  spec.onValidation = monitor == "validation_loss";
}

template <typename Kind>
Decay readDecay(JsonReader& options, double byDefault) {
  Kind spec;
  if constexpr (HasInitialRate<Kind>) {
    spec.initialLearningRate = positive(options, "initialLearningRate", byDefault);
  } else if constexpr (std::is_same_v<Kind, OneCycle>) {
    spec.maxLearningRate = positive(options, "maxLearningRate", byDefault);
  }
  readOptions(spec, options);
  return spec;
}

template <size_t index = 0>
Decay readKind(const std::string& kind, JsonReader& options, double byDefault, std::vector<std::string> known = {}) {
  if constexpr (index == std::variant_size_v<Decay>) {
    throw UserError(message(unknownName("schedule", kind, known), ", in ", options.where()));
  } else {
    using Kind = std::variant_alternative_t<index, Decay>;
    if (kind == Kind::kKind) return readDecay<Kind>(options, byDefault);
    known.push_back(Kind::kKind);
    return readKind<index + 1>(kind, options, byDefault, std::move(known));
  }
}

// `warmupTarget` is Keras's for cosine: the line goes from the initial rate to the target, where the cosine starts.
void readWarmup(ScheduleSpec& spec, JsonReader& options) {
  auto* cosine = std::get_if<CosineDecay>(&spec.decay);
  bool hasTarget = cosine != nullptr && options.has("warmupTarget");
  bool warms = hasDuration(options, "warmup");
  bool hasStart = options.has("warmupStartRate");
  if (!warms && (hasTarget || hasStart)) {
    throw UserError(message("Option ", hasTarget ? "warmupTarget" : "warmupStartRate",
                            " needs warmupSteps or warmupEpochs, in ", options.where()));
  }
  if (!warms) return;
  if (std::holds_alternative<OneCycle>(spec.decay)) {
    throw UserError(message("A one_cycle warms up by itself: leave the warm-up out, in ", options.where()));
  }
  if (hasTarget && hasStart) {
    throw UserError(message("Both warmupTarget and warmupStartRate are set: keep one, in ", options.where()));
  }
  spec.warmup = duration(options, "warmup");
  spec.warmupStartRate = notNegative(options, "warmupStartRate", spec.warmupStartRate);
  if (hasTarget) {
    spec.warmupStartRate = cosine->initialLearningRate;
    cosine->initialLearningRate = positive(options, "warmupTarget");
  }
}

}  // namespace

ScheduleSpec readSchedule(const Json& json, double byDefault, const std::string& where) {
  if (json.is_number()) {
    Json object = {{"learningRate", json}};
    JsonReader reader(object, where);
    return positive(reader, "learningRate");
  }
  if (!json.is_object()) {
    throw UserError(message("Wrong value for learningRate of ", where, ": ", json.dump(),
                            ", wanted a number or a schedule such as {\"kind\": \"cosine\", \"decayEpochs\": 30}"));
  }
  JsonReader unnamed(json, message("learningRate of ", where));
  std::string kind = unnamed.text("kind");
  JsonReader options(json, message("schedule '", kind, "' of ", where));
  options.text("kind");
  ScheduleSpec spec = readKind(kind, options, byDefault);
  readWarmup(spec, options);
  options.finish();
  return spec;
}

}  // namespace bloomery::optim
