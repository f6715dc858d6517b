// Which vector instructions this process computes with: at first the best that its processor has. The workers of a
// training agree on what all of them have; oneDNN takes a level once in the life of a process, so from the first plan
// on it is fixed. BLOOMERY_INSTRUCTIONS (baseline, avx2, avx512) in the environment is a limit from the start.
#pragma once

#include <atomic>
#include <string>

namespace bloomery {

// Each has those before it. kAvx2: with FMA and F16C; kAvx512: with BW, DQ and VL, as oneDNN wants it.
enum class Instructions { kBaseline, kAvx2, kAvx512 };

std::string nameOf(Instructions level);  // AVX2
// UserError for what is none.
Instructions instructionsNamed(const std::string& name);

// Any thread may call; one that limits it while another fixes it comes before or after.
class InstructionChoice {
 public:
  explicit InstructionChoice(Instructions level) : state_(static_cast<int>(level)) {}

  Instructions level() const { return static_cast<Instructions>(state_.load(std::memory_order_relaxed) & ~kFixed); }
  bool isFixed() const { return (state_.load() & kFixed) != 0; }
  // Never raises it. False when it is fixed above that.
  bool limit(Instructions most);
  // What it is from now on.
  Instructions fix();

 private:
  static constexpr int kFixed = 16;

  std::atomic<int> state_;
};

// Of this process; a UserError when its environment asks for what does not exist.
InstructionChoice& instructions();

}  // namespace bloomery
