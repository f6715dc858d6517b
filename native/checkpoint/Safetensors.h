// Weights as safetensors: float32, canonical shapes, names as in the parameter table; readable by the `safetensors`
// package of other languages. A training's state adds arenas of the same layout, each under a prefix of its own. The
// reader trusts nothing: whatever the bytes, it fills all values or throws a UserError and has changed none.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "tensor/Arena.h"

namespace bloomery::checkpoint {

// What an optimizer keeps begins with this; whoever wants weights alone passes over it.
inline constexpr const char* kStatePrefix = "optimizer:";

// Values of a layout whose names in the file begin with `prefix`: none for the weights.
struct TensorPart {
  std::string prefix;
  std::span<float> values;
};

std::string writeSafetensors(const ArenaLayout& layout, const Arena& values,
                             const std::map<std::string, std::string>& metadata);
// All parts, of one layout, into `out`, whose memory is used again.
void writeSafetensors(const ArenaLayout& layout, std::span<const TensorPart> parts,
                      const std::map<std::string, std::string>& metadata, std::string& out);

// Fills `values`. A UserError says what is wrong: truncated, not safetensors at all, a missing or unknown tensor (with
// the nearest name), a wrong shape or type, a value that is not finite.
void readSafetensors(std::span<const std::byte> bytes, const ArenaLayout& layout, const Arena& values);
// Fills all parts. Only those without a prefix, the weights, have to be finite.
void readSafetensors(std::span<const std::byte> bytes, const ArenaLayout& layout, std::span<const TensorPart> parts);

// Fills what the bytes have of `values`, by name, and passes over what else they have; the names that they do not have.
// UserError as above, and when they have none of them.
std::vector<std::string> readMatching(std::span<const std::byte> bytes, const ArenaLayout& layout, const Arena& values);

// A text of the metadata, empty when there is none of this key. UserError when the bytes are no safetensors.
std::string readMetadata(std::span<const std::byte> bytes, const std::string& key);

}  // namespace bloomery::checkpoint
