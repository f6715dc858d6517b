#include "tools/ProfileTable.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace bloomery::tools {

namespace {

struct Row {
  std::string name;
  std::string kind;
  double forwardSeconds = 0;
  double backwardSeconds = 0;
  double operations = 0;
  double bytes = 0;

  double seconds() const { return forwardSeconds + backwardSeconds; }
};

std::vector<Row> rowsOf(const train::StepProfile& profile) {
  std::vector<Row> rows;
  auto forwards = static_cast<double>(profile.plan.forwardPasses);
  auto backwards = static_cast<double>(profile.plan.backwardPasses);
  double inLayers = 0;
  for (const nn::LayerTimes& layer : profile.plan.layers) {
    rows.push_back({layer.name, layer.kind, layer.forwardSeconds, layer.backwardSeconds,
                    forwards * layer.forward.operations + backwards * layer.backward.operations,
                    forwards * layer.forward.bytes + backwards * layer.backward.bytes});
    inLayers += rows.back().seconds();
  }
  std::erase_if(rows, [](const Row& row) { return row.seconds() <= 0; });
  rows.push_back({"loss", "-", profile.lossSeconds});
  rows.push_back({"optimizer", "-", profile.updateSeconds});
  rows.push_back({"allreduce", "-", profile.allreduceSeconds});
  rows.push_back({"wait for data", "-", profile.waitSeconds});
  double known =
      inLayers + profile.lossSeconds + profile.updateSeconds + profile.allreduceSeconds + profile.waitSeconds;
  rows.push_back({"other", "-", std::max(profile.seconds - known, 0.0)});
  return rows;
}

// One cell, or a dash where there is nothing to say.
void cell(std::ostringstream& text, int width, int precision, double value, bool known = true) {
  text << std::setw(width);
  if (known) {
    text << std::setprecision(precision) << value;
  } else {
    text << "-";
  }
}

}  // namespace

std::string profileTable(const train::StepProfile& profile, int64_t batchSize) {
  std::vector<Row> rows = rowsOf(profile);
  double steps = static_cast<double>(std::max<int64_t>(profile.steps, 1)), total = 0;
  size_t nameWidth = 5, kindWidth = 4;
  for (const Row& row : rows) {
    total += row.seconds();
    nameWidth = std::max(nameWidth, row.name.size());
    kindWidth = std::max(kindWidth, row.kind.size());
  }
  std::ostringstream text;
  auto names = [&](const std::string& name, const std::string& kind) {
    text << std::left << std::setw(static_cast<int>(nameWidth) + 2) << name << std::setw(static_cast<int>(kindWidth))
         << kind << std::right;
  };
  names("layer", "kind");
  text << std::setw(12) << "forward ms" << std::setw(13) << "backward ms" << std::setw(10) << "GFLOP/s" << std::setw(8)
       << "GB/s" << std::setw(8) << "share" << "\n"
       << std::fixed;
  for (const Row& row : rows) {
    bool isLayer = row.bytes > 0;
    names(row.name, row.kind);
    cell(text, 12, 3, row.forwardSeconds * 1e3 / steps);
    cell(text, 13, 3, row.backwardSeconds * 1e3 / steps, isLayer);
    cell(text, 10, 1, row.operations / row.seconds() / 1e9, isLayer);
    cell(text, 8, 1, row.bytes / row.seconds() / 1e9, isLayer);
    cell(text, 7, 1, total > 0 ? 100 * row.seconds() / total : 0.0);
    text << "%\n";
  }
  text << "total: " << std::setprecision(3) << total * 1e3 / steps << " ms a step of " << batchSize << " rows, "
       << profile.steps << " steps\n";
  return text.str();
}

}  // namespace bloomery::tools
