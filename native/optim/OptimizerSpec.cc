#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"
#include "optim/Optimizer.h"
#include "optim/Options.h"

namespace bloomery::optim {

namespace {

using Reader = bloomery::JsonReader;

template <typename Spec>
concept AdamLike = requires(Spec spec) { spec.beta1; };

void readOptions(Sgd& spec, Reader& options) {
  spec.momentum = decay(options, "momentum", spec.momentum);
  spec.nesterov = options.boolean("nesterov", spec.nesterov);
  if (spec.nesterov && spec.momentum == 0) {
    throw UserError(message("Option nesterov needs a momentum above 0, in ", options.where()));
  }
}

template <AdamLike Spec>
void readOptions(Spec& spec, Reader& options) {
  spec.beta1 = decay(options, "beta1", spec.beta1);
  spec.beta2 = decay(options, "beta2", spec.beta2);
  spec.epsilon = positive(options, "epsilon", spec.epsilon);
}

void readOptions(Adadelta& spec, Reader& options) {
  spec.rho = decay(options, "rho", spec.rho);
  spec.epsilon = positive(options, "epsilon", spec.epsilon);
}

void readOptions(Adagrad& spec, Reader& options) {
  spec.initialAccumulatorValue = notNegative(options, "initialAccumulatorValue", spec.initialAccumulatorValue);
  spec.epsilon = positive(options, "epsilon", spec.epsilon);
}

void readOptions(RmsProp& spec, Reader& options) {
  spec.rho = decay(options, "rho", spec.rho);
  spec.momentum = decay(options, "momentum", spec.momentum);
  spec.epsilon = positive(options, "epsilon", spec.epsilon);
  spec.centered = options.boolean("centered", spec.centered);
}

Json optionsOf(const Sgd& spec) { return {{"momentum", spec.momentum}, {"nesterov", spec.nesterov}}; }

template <AdamLike Spec>
Json optionsOf(const Spec& spec) {
  return {{"beta1", spec.beta1}, {"beta2", spec.beta2}, {"epsilon", spec.epsilon}};
}

Json optionsOf(const Adadelta& spec) { return {{"rho", spec.rho}, {"epsilon", spec.epsilon}}; }

Json optionsOf(const Adagrad& spec) {
  return {{"initialAccumulatorValue", spec.initialAccumulatorValue}, {"epsilon", spec.epsilon}};
}

Json optionsOf(const RmsProp& spec) {
  return {{"rho", spec.rho}, {"momentum", spec.momentum}, {"epsilon", spec.epsilon}, {"centered", spec.centered}};
}

size_t numArenas(const Sgd& spec) { return spec.momentum > 0 ? 1 : 0; }
size_t numArenas(const AdamLike auto&) { return 2; }
size_t numArenas(const Adadelta&) { return 2; }
size_t numArenas(const Adagrad&) { return 1; }
size_t numArenas(const RmsProp& spec) { return 1 + (spec.momentum > 0 ? 1 : 0) + (spec.centered ? 1 : 0); }

ScheduleSpec readLearningRate(Reader& options, const ScheduleSpec& byDefault) {
  if (!options.has("learningRate")) return byDefault;
  double rate = std::get<Constant>(byDefault.decay).initialLearningRate;
  return readSchedule(options.value("learningRate"), rate, options.where());
}

// The alternatives of the variant in turn, so that a new optimizer needs no entry here.
template <size_t index = 0>
OptimizerSpec readKind(const std::string& kind, Reader& options, std::vector<std::string> known = {}) {
  if constexpr (index == std::variant_size_v<OptimizerSpec>) {
    throw UserError(unknownName("optimizer", kind, known));
  } else {
    using Spec = std::variant_alternative_t<index, OptimizerSpec>;
    known.push_back(Spec::kKind);
    if (kind != Spec::kKind) return readKind<index + 1>(kind, options, std::move(known));
    Spec spec;
    spec.learningRate = readLearningRate(options, spec.learningRate);
    readOptions(spec, options);
    spec.weightDecay = notNegative(options, "weightDecay", spec.weightDecay);
    return spec;
  }
}

}  // namespace

OptimizerSpec readOptimizer(const Json& json) {
  Json object = json.is_string() ? Json{{"kind", json}} : json;
  Reader unnamed(object, "optimizer");
  std::string kind = unnamed.text("kind");
  Reader options(object, message("optimizer '", kind, "'"));
  options.text("kind");
  OptimizerSpec spec = readKind(kind, options);
  options.finish();
  return spec;
}

Json toJson(const OptimizerSpec& spec) {
  return std::visit(
      [](const auto& any) {
        Json json = {{"kind", any.kKind}, {"learningRate", toJson(any.learningRate)}};
        json.update(optionsOf(any));
        json["weightDecay"] = any.weightDecay;
        return json;
      },
      spec);
}

const ScheduleSpec& scheduleOf(const OptimizerSpec& spec) {
  return std::visit([](const auto& any) -> const ScheduleSpec& { return any.learningRate; }, spec);
}

size_t numStateArenas(const OptimizerSpec& spec) {
  return std::visit([](const auto& any) { return numArenas(any); }, spec);
}

}  // namespace bloomery::optim
