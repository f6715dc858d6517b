// What the engine says about its oneDNN.
#pragma once

#include <string>

namespace bloomery::nn {

std::string dnnlVersion();  // 3.13.0

}  // namespace bloomery::nn
