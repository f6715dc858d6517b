// Which oneDNN is loaded, and the instruction set that it chose on this processor.
#pragma once

#include <string>

namespace bloomery::nn {

std::string dnnlVersion();
std::string dnnlInstructionSet();

}  // namespace bloomery::nn
