// Weights as safetensors: float32, canonical shapes, names as in the parameter table; readable by the `safetensors`
// package of other languages. The reader trusts nothing: whatever the bytes, it fills all values or throws a UserError
// and has changed none.
#pragma once

#include <map>
#include <span>
#include <string>

#include "tensor/Arena.h"

namespace bloomery::checkpoint {

std::string writeSafetensors(const ArenaLayout& layout, const Arena& values,
                             const std::map<std::string, std::string>& metadata);

// Fills `values`. A UserError says what is wrong: truncated, not safetensors at all, a missing or unknown tensor (with
// the nearest name), a wrong shape or type, a value that is not finite.
void readSafetensors(std::span<const std::byte> bytes, const ArenaLayout& layout, const Arena& values);

// A text of the metadata, empty when there is none of this key. UserError when the bytes are no safetensors.
std::string readMetadata(std::span<const std::byte> bytes, const std::string& key);

}  // namespace bloomery::checkpoint
