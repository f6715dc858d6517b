// Which engine this is: its version, the libraries it runs on and the instruction set they found.
#pragma once

#include <string>

namespace bloomery::train {

std::string engineInfo();  // JSON

}  // namespace bloomery::train
