// The way to oneDNN's engine: the process's instructions are fixed on it, and told to oneDNN before its first kernel.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace bloomery::nn {

dnnl::engine cpuEngine();

}  // namespace bloomery::nn
