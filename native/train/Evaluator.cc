#include "train/Evaluator.h"

#include <algorithm>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "checkpoint/Safetensors.h"
#include "data/Batcher.h"
#include "train/ComputeThreads.h"
#include "train/LateColumns.h"
#include "train/Objective.h"

namespace bloomery::train {

namespace {

constexpr int64_t kBatchSize = 256;

// Rows, rows times what regularisers add to the loss, then losses and weights by output, then those of the metrics.
enum Sum : size_t { kRows, kPenalty, kOutputs };

// With what training settled of its columns, which the weights tell.
TaskSpec readTask(const std::string& text, std::span<const std::byte> weights = {}) {
  TaskSpec task = TaskSpec::parse(text);
  if (!weights.empty()) takeSettled(checkpoint::readMetadata(weights, "columns"), task.columns);
  if (task.training.heads.empty()) throw UserError("Nothing to measure: the task has no training");
  if (task.columns.targets.empty()) {
    throw UserError("No label column to measure by: set columns.label, or columns.labels");
  }
  return task;
}

double penaltyOf(const TaskSpec& task, const ArenaLayout& layout, const Arena& parameters) {
  optim::UpdateSpec keepsNothing;
  keepsNothing.optimizer = optim::Sgd{};
  optim::Updater updater(keepsNothing, layout, optim::rulesOf(task.graph.parameters()));
  return updater.regularisationLoss(parameters.all());
}

}  // namespace

struct Evaluator::State {
  State(const std::string& text, std::span<const std::byte> weights)
      : task(readTask(text, weights)),
        layout(task.graph.parameters().layout()),
        parameters(layout),
        rows(task.rowFormat()),
        ingest(task.columns, task.targetRules(), &rows, nullptr),
        batcher(rows),
        batch(kBatchSize, rows.format()),
        plan(task.worker.computing().makePlan(task.graph, parameters, nullptr, {kBatchSize, false, 0})),
        objective(task.training.heads, kBatchSize),
        losses(objective.numOutputs()),
        sums(kOutputs + 2 * objective.numOutputs() + objective.numMetricSums()) {
    task.graph.checkBatchSize(kBatchSize);
    checkpoint::readSafetensors(weights, layout, parameters);
    penalty = penaltyOf(task, layout, parameters);
  }

  void measure() {
    size_t outputs = losses.size();
    std::span<double> all(sums), metricSums = all.subspan(kOutputs + 2 * outputs);
    for (int64_t first = 0; first < rows.numRows(); first += kBatchSize) {
      positions.resize(static_cast<size_t>(std::min(kBatchSize, rows.numRows() - first)));
      for (size_t i = 0; i < positions.size(); ++i) positions[i] = first + static_cast<int64_t>(i);
      batcher.assemble(positions, batch);
      plan->forward({batch.inputs, {}, batch.numRows, 0}, nn::Mode::kInference);
      objective.compute(*plan, batch, {}, losses, metricSums);
      for (size_t i = 0; i < outputs; ++i) {
        all[kOutputs + i] += losses[i];
        all[kOutputs + outputs + i] += batch.targets[i].weightSum;
      }
    }
    all[kRows] += static_cast<double>(rows.numRows());
    all[kPenalty] += static_cast<double>(rows.numRows()) * penalty;
  }

  TaskSpec task;
  ArenaLayout layout;
  Arena parameters;
  data::RowStore rows;  // of one batch
  data::ArrowIngest ingest;
  data::Batcher batcher;
  data::Batch batch;
  std::unique_ptr<nn::Plan> plan;
  Objective objective;
  std::vector<double> losses;
  std::vector<double> sums;
  std::vector<int64_t> positions;
  double penalty = 0;
};

Evaluator::Evaluator(const std::string& task, std::span<const std::byte> weights)
    : state_(std::make_unique<State>(task, weights)) {}

Evaluator::~Evaluator() = default;

void Evaluator::add(void* arrowSchema, void* arrowArray, int partition, int64_t firstRow) {
  data::ArrowBatchGuard batch(arrowSchema, arrowArray);
  setComputeThreads(state_->task.worker.threads);
  state_->rows.clear();
  state_->ingest.schema(arrowSchema);
  state_->ingest.ingest(arrowArray, partition, firstRow);
  state_->measure();
}

const std::vector<double>& Evaluator::sums() const { return state_->sums; }

Json measuresOf(const std::string& text, std::span<const double> sums) {
  TaskSpec task = readTask(text);
  Objective objective(task.training.heads, 1);
  size_t outputs = objective.numOutputs();
  if (sums.empty() || sums[kRows] == 0) throw UserError("No rows to measure: the data is empty");
  check(sums.size() == kOutputs + 2 * outputs + objective.numMetricSums(), "Wrong number of sums: ", sums.size());
  Measures measures;
  objective.measure(sums.subspan(kOutputs, outputs), sums.subspan(kOutputs + outputs, outputs),
                    sums.subspan(kOutputs + 2 * outputs), measures);
  Json json = {{"loss", measures.loss + sums[kPenalty] / sums[kRows]}};
  std::vector<std::string> names = metricNames(task.training.heads);
  for (size_t i = 0; i < names.size(); ++i) json[names[i]] = measures.metrics[i];
  return json;
}

}  // namespace bloomery::train
