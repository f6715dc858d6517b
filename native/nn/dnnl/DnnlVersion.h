// What the engine says about its oneDNN.
#pragma once

#include <string>

namespace bloomery::nn {

std::string dnnlVersion();         // 3.13.0
std::string dnnlInstructionSet();  // the best it will use on this machine, such as AVX2

}  // namespace bloomery::nn
