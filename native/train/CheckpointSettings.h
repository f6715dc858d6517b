// The settings that a training's result depends on, with every default written out, as a checkpoint keeps them; and
// what differs between two of them, in words. How many epochs and workers, time limits and memory are none of them.
#pragma once

#include <string>
#include <vector>

#include "base/Json.h"
#include "train/TaskSpec.h"

namespace bloomery::train {

// task: parsed from this text.
Json settingsOf(const TaskSpec& task, const std::string& text);

// "batchSize 8, was 4"; what lies deep comes last.
std::vector<std::string> differencesOf(const Json& settings, const Json& before);

}  // namespace bloomery::train
