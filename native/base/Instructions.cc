#include "base/Instructions.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/Error.h"
#include "base/Names.h"

namespace bloomery {

namespace {

constexpr const char* kVariable = "BLOOMERY_INSTRUCTIONS";
const std::vector<std::string> kLimits = {"baseline", "avx2", "avx512"};

Instructions ofProcessor() {
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (!avx2) return Instructions::kBaseline;
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Instructions::kAvx512 : Instructions::kAvx2;
}

Instructions ofEnvironment() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return Instructions::kAvx512;
  auto found = std::find(kLimits.begin(), kLimits.end(), text);
  if (found == kLimits.end()) throw UserError(unknownName(kVariable, text, kLimits));
  return static_cast<Instructions>(found - kLimits.begin());
}

}  // namespace

std::string nameOf(Instructions level) {
  if (level == Instructions::kBaseline) return "baseline";
  return level == Instructions::kAvx2 ? "AVX2" : "AVX-512";
}

Instructions instructionsNamed(const std::string& name) {
  for (Instructions level : {Instructions::kBaseline, Instructions::kAvx2, Instructions::kAvx512}) {
    if (nameOf(level) == name) return level;
  }
  throw UserError(message("No level of instructions: ", name));
}

bool InstructionChoice::limit(Instructions most) {
  int state = state_.load();
  do {
    if ((state & ~kFixed) <= static_cast<int>(most)) return true;
    if ((state & kFixed) != 0) return false;
  } while (!state_.compare_exchange_weak(state, static_cast<int>(most)));
  return true;
}

Instructions InstructionChoice::fix() { return static_cast<Instructions>(state_.fetch_or(kFixed) & ~kFixed); }

InstructionChoice& instructions() {
  static InstructionChoice choice(std::min(ofProcessor(), ofEnvironment()));
  return choice;
}

}  // namespace bloomery
