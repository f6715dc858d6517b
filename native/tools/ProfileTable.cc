#include "tools/ProfileTable.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace bloomery::tools {

std::string profileTable(const nn::Profile& profile, int64_t batchSize) {
  double passes = static_cast<double>(std::max<int64_t>(profile.forwardPasses, 1)), total = 0;
  size_t width = 5;
  for (const nn::LayerTimes& layer : profile.layers) {
    total += layer.forwardSeconds + layer.backwardSeconds;
    width = std::max(width, layer.name.size() + layer.kind.size() + 3);
  }
  std::ostringstream text;
  text << std::left << std::setw(static_cast<int>(width)) << "layer" << std::right << std::setw(12) << "forward ms"
       << std::setw(12) << "backward ms" << std::setw(10) << "GFLOP/s" << std::setw(8) << "share" << "\n"
       << std::fixed;
  for (const nn::LayerTimes& layer : profile.layers) {
    double seconds = layer.forwardSeconds + layer.backwardSeconds;
    if (seconds <= 0) continue;
    bool trains = layer.backwardSeconds > 0;
    double operations = static_cast<double>(layer.flops * batchSize) * (trains ? 3 : 1) * passes;
    text << std::left << std::setw(static_cast<int>(width)) << layer.name + " (" + layer.kind + ")" << std::right
         << std::setprecision(3) << std::setw(12) << layer.forwardSeconds * 1e3 / passes << std::setw(12)
         << layer.backwardSeconds * 1e3 / passes << std::setprecision(1) << std::setw(10) << operations / seconds / 1e9
         << std::setw(7) << 100 * seconds / total << "%\n";
  }
  text << "total: " << std::setprecision(3) << total * 1e3 / passes << " ms a step of " << batchSize << " rows\n";
  return text.str();
}

}  // namespace bloomery::tools
