// Whole files of this machine, read and written at once. What cannot be done is a UserError that names the file.
#pragma once

#include <string>

namespace bloomery::tools {

std::string readFile(const std::string& path);

// The file appears, or changes, only when all of it is written.
void writeFile(const std::string& path, const std::string& content);

// UserError when writeFile could not write there: to be asked before hours of work, not after.
void checkWritable(const std::string& path);

}  // namespace bloomery::tools
