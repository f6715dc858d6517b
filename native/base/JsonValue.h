// The whole JSON library, for .cc files that make JSON or look into it. No other header of the engine includes this
// one.
#pragma once

#include <nlohmann/json.hpp>

#include "base/Json.h"
