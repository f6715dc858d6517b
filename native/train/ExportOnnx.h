// A trained network as an ONNX file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace bloomery::train {

// The bytes of the file for a task's network and its weights as safetensors.
std::string exportOnnx(const std::string& task, std::span<const std::byte> weights);

}  // namespace bloomery::train
