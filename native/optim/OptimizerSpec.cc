#include <cmath>

#include "base/Error.h"
#include "base/Names.h"
#include "optim/Optimizer.h"

namespace bloomery::optim {

namespace {

using Reader = bloomery::JsonReader;

double positive(Reader& options, const std::string& key, double byDefault) {
  double value = options.number(key, byDefault);
  if (!(value > 0 && std::isfinite(value))) {
    throw UserError(message("Not positive: ", key, " ", value, ", in ", options.where()));
  }
  return value;
}

// A factor of a running mean: 0 keeps nothing, 1 would never learn.
double decay(Reader& options, const std::string& key, double byDefault) {
  double value = options.number(key, byDefault);
  if (!(value >= 0 && value < 1)) {
    throw UserError(message("Outside 0 <= ", key, " < 1: ", value, ", in ", options.where()));
  }
  return value;
}

OptimizerSpec readOptions(Sgd spec, Reader& options) {
  spec.learningRate = positive(options, "learningRate", spec.learningRate);
  spec.momentum = decay(options, "momentum", spec.momentum);
  spec.nesterov = options.boolean("nesterov", spec.nesterov);
  if (spec.nesterov && spec.momentum == 0) {
    throw UserError(message("Option nesterov needs a momentum above 0, in ", options.where()));
  }
  return spec;
}

OptimizerSpec readOptions(Adam spec, Reader& options) {
  spec.learningRate = positive(options, "learningRate", spec.learningRate);
  spec.beta1 = decay(options, "beta1", spec.beta1);
  spec.beta2 = decay(options, "beta2", spec.beta2);
  spec.epsilon = positive(options, "epsilon", spec.epsilon);
  return spec;
}

OptimizerSpec readOptions(Adadelta spec, Reader& options) {
  spec.learningRate = positive(options, "learningRate", spec.learningRate);
  spec.rho = decay(options, "rho", spec.rho);
  spec.epsilon = positive(options, "epsilon", spec.epsilon);
  return spec;
}

Json optionsOf(const Sgd& spec) {
  return {{"learningRate", spec.learningRate}, {"momentum", spec.momentum}, {"nesterov", spec.nesterov}};
}

Json optionsOf(const Adam& spec) {
  return {{"learningRate", spec.learningRate}, {"beta1", spec.beta1}, {"beta2", spec.beta2}, {"epsilon", spec.epsilon}};
}

Json optionsOf(const Adadelta& spec) {
  return {{"learningRate", spec.learningRate}, {"rho", spec.rho}, {"epsilon", spec.epsilon}};
}

size_t numArenas(const Sgd& spec) { return spec.momentum > 0 ? 1 : 0; }
size_t numArenas(const Adam&) { return 2; }
size_t numArenas(const Adadelta&) { return 2; }

// The alternatives of the variant in turn, so that a new optimizer needs no entry here.
template <size_t index = 0>
OptimizerSpec readKind(const std::string& kind, Reader& options, std::vector<std::string> known = {}) {
  if constexpr (index == std::variant_size_v<OptimizerSpec>) {
    throw UserError(unknownName("optimizer", kind, known));
  } else {
    using Spec = std::variant_alternative_t<index, OptimizerSpec>;
    if (kind == Spec::kKind) return readOptions(Spec{}, options);
    known.push_back(Spec::kKind);
    return readKind<index + 1>(kind, options, std::move(known));
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
        Json json = {{"kind", any.kKind}};
        json.update(optionsOf(any));
        return json;
      },
      spec);
}

double learningRateOf(const OptimizerSpec& spec) {
  return std::visit([](const auto& any) { return any.learningRate; }, spec);
}

size_t numStateArenas(const OptimizerSpec& spec) {
  return std::visit([](const auto& any) { return numArenas(any); }, spec);
}

}  // namespace bloomery::optim
