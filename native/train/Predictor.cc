#include "train/Predictor.h"

#include <algorithm>

#include "base/Error.h"
#include "checkpoint/Safetensors.h"
#include "data/Batcher.h"
#include "nn/Softmax.h"
#include "train/ComputeThreads.h"
#include "train/LateColumns.h"

namespace bloomery::train {

namespace {

// Full batches first, then small ones, so that a short rest of rows does not pay for a full batch.
constexpr int64_t kBatchSizes[] = {256, 16};

}  // namespace

struct Predictor::Session {
  Session(const TaskSpec& task, const Arena& parameters, nn::FixedParameters* fixed)
      : outputs(task.graph.outputs()),
        rows(task.featuresFormat()),
        ingest({task.columns.features, {}}, {}, &rows, nullptr),
        batcher(rows) {
    task.graph.checkBatchSize(kBatchSizes[0]);
    int64_t widest = 0;
    for (const network::Output& output : outputs) {
      rowWidth += output.shape.numElements();
      widest = std::max(widest, output.shape.numElements());
    }
    predictions.resize(static_cast<size_t>(widest * kBatchSizes[0]));
    for (int64_t size : kBatchSizes) {
      stages.push_back({data::Batch(size, rows.format()),
                        task.worker.computing().makePlan(task.graph, parameters, nullptr,
                                                         {.batchSize = size, .training = false, .fixed = fixed})});
    }
  }

  void run(float* raw, float* probability) {
    int64_t first = 0;
    for (Stage& stage : stages) {
      bool last = &stage == &stages.back();
      while (rows.numRows() - first >= (last ? 1 : stage.batch.capacity)) {
        int64_t count = std::min(stage.batch.capacity, rows.numRows() - first);
        predictRows(stage, first, count, raw, probability);
        first += count;
      }
    }
  }

  struct Stage {
    data::Batch batch;
    std::unique_ptr<nn::Plan> plan;
  };

  void predictRows(Stage& stage, int64_t first, int64_t count, float* raw, float* probability) {
    positions.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) positions[static_cast<size_t>(i)] = first + i;
    batcher.assemble(positions, stage.batch);
    stage.plan->forward({stage.batch.inputs, {}, count, 0}, nn::Mode::kInference);
    int64_t offset = first * rowWidth;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const float* logits = stage.plan->logits(i).data;
      int64_t width = outputs[i].shape.numElements(), last = outputs[i].shape.extents().back();
      if (raw != nullptr) spread(logits, count, width, raw + offset);
      if (probability != nullptr) {
        nn::applyTail(outputs[i].tail, logits, count * (width / last), last, predictions.data());
        spread(predictions.data(), count, width, probability + offset);
      }
      offset += width;
    }
  }

  // Rows of one output to their places among those of all outputs.
  void spread(const float* values, int64_t count, int64_t width, float* to) const {
    for (int64_t row = 0; row < count; ++row) std::copy_n(values + row * width, width, to + row * rowWidth);
  }

  const std::vector<network::Output>& outputs;
  int64_t rowWidth = 0;  // of all outputs
  std::vector<float> predictions;
  data::RowStore rows;
  data::ArrowIngest ingest;
  data::Batcher batcher;
  std::vector<Stage> stages;
  std::vector<int64_t> positions;
};

Predictor::Predictor(const std::string& task, std::span<const std::byte> weights)
    : task_(TaskSpec::parse(task)), layout_(task_.graph.parameters().layout()), parameters_(layout_) {
  checkpoint::readSafetensors(weights, layout_, parameters_);
  takeSettled(checkpoint::readMetadata(weights, "columns"), task_.columns);
  fixed_ = task_.worker.computing().fixParameters();
}

Predictor::~Predictor() = default;

std::unique_ptr<Predictor::Session> Predictor::borrow() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto session = std::move(idle_.back());
      idle_.pop_back();
      return session;
    }
  }
  return std::make_unique<Session>(task_, parameters_, fixed_.get());
}

void Predictor::giveBack(std::unique_ptr<Session> session) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(session));
}

void Predictor::predict(void* arrowSchema, void* arrowArray, int partition, int64_t firstRow, float* raw,
                        float* probability) {
  data::ArrowBatchGuard batch(arrowSchema, arrowArray);
  setComputeThreads(task_.worker.threads);
  // A session in which something failed is dropped, not given back.
  auto session = borrow();
  session->rows.clear();
  session->ingest.schema(arrowSchema);
  session->ingest.ingest(arrowArray, partition, firstRow);
  session->run(raw, probability);
  giveBack(std::move(session));
}

}  // namespace bloomery::train
