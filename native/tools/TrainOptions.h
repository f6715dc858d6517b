// The command line of bloomery-train, and the task JSON it stands for. Passes on what was given and nothing else: every
// default lives in train/TaskSpec. Knows no data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/Error.h"

namespace bloomery::tools {

// A command line that cannot be meant.
class OptionError : public UserError {
 public:
  using UserError::UserError;
};

// Texts are empty where nothing was given.
struct TrainOptions {
  std::string task, network;
  std::string data, validation;
  std::string features, labels, weight;
  std::string optimizer, learningRate, loss, metrics;
  std::optional<int64_t> batch, epochs, threads, seed, dataMemory, memoryBudget, checkpointSteps;
  std::string spillFolder;
  std::string weights, save, onnx, predictions, history, trace, checkpoint;
  bool profile = false, describe = false, help = false;

  // OptionError when an option is unknown, has no value or one that is no number where one is wanted.
  static TrainOptions parse(int count, const char* const* words);
  static std::string usage();
};

// The name of the column that tells rows of --validation from those of --data.
inline constexpr const char* kValidationMark = "--validation";

// For a single worker, whatever the task of --task was for.
std::string taskOf(const TrainOptions& options);

}  // namespace bloomery::tools
