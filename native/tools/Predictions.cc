#include "tools/Predictions.h"

#include <algorithm>
#include <span>
#include <vector>

#include "checkpoint/Safetensors.h"
#include "train/Predictor.h"

namespace bloomery::tools {

std::string predictionsOf(data::ParquetRows& rows, const std::string& task, const std::string& weights) {
  train::TaskSpec spec = train::TaskSpec::parse(task);
  train::Predictor predictor(task, std::as_bytes(std::span(weights)));
  ArenaLayout layout;
  int64_t width = 0;
  for (const network::Output& output : spec.graph.outputs()) {
    std::vector<int64_t> extents = output.shape.extents();
    extents.insert(extents.begin(), rows.numRows(false));
    layout.add(output.name, Shape(std::move(extents)));
    width += output.shape.numElements();
  }
  Arena values(layout);
  std::vector<float> batch;
  int64_t first = 0;
  while (void* array = rows.next()) {
    batch.resize(static_cast<size_t>(rows.batchRows() * width));
    predictor.predict(rows.schema(), array, rows.partition(), rows.firstRow(), nullptr, batch.data());
    for (int64_t row = 0; row < rows.batchRows(); ++row) {
      const float* from = batch.data() + row * width;
      for (const Slice& slice : layout.slices()) {
        int64_t size = slice.shape.numElements() / slice.shape[0];
        std::copy_n(from, size, values.view(slice).data + (first + row) * size);
        from += size;
      }
    }
    first += rows.batchRows();
  }
  return checkpoint::writeSafetensors(layout, values, {});
}

}  // namespace bloomery::tools
