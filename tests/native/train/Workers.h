// N workers of one training as N threads of the test: each has its own rows, parameters and loop, as executors have.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Random.h"
#include "comm/local/LocalGroup.h"
#include "train/ComputeThreads.h"
#include "train/TrainingLoop.h"

namespace bloomery::train {

// A small relative of mnist-cnn: every kind of layer, dropout included, 6x6x1 inputs and 3 classes.
inline std::string smallNetwork() {
  return R"({"name": "small", "layers": [
    {"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8", "scale": 0.00392156862745098},
    {"kind": "Conv2D", "filters": 8, "kernelSize": 3, "activation": "relu"},
    {"kind": "MaxPool2D"}, {"kind": "Dropout", "rate": 0.25}, {"kind": "Flatten"},
    {"kind": "Dense", "units": 16, "activation": "relu"}, {"kind": "Dropout", "rate": 0.5},
    {"kind": "Dense", "units": 3, "activation": "softmax"}]})";
}

// sections: what else the task has, with a comma before it. device: to be named by tests that are about oneDNN.
inline std::string taskJson(const std::string& training, int rank = 0, int size = 1, const std::string& sections = "",
                            const std::string& network = smallNetwork(), const std::string& stepTimeout = "20",
                            const std::string& device = nn::kDefaultDevice) {
  return message("{\"network\": ", network, ", \"training\": ", training, ", \"worker\": {\"rank\": ", rank,
                 ", \"size\": ", size, ", \"stepTimeout\": ", stepTimeout, ", \"device\": \"", device, "\"}", sections,
                 "}");
}

// Row `id` has the same content wherever it is stored: a class of three that can be learnt, and noise. Targets are the
// class, its one-hot vector or, where there is one value only, whether it is class 1.
inline void appendRow(data::RowStore& rows, uint64_t id, float weight = 1.0f) {
  int32_t label = static_cast<int32_t>(philox(7, id, 0)[0] % 3);
  rows.append(id, weight);
  int64_t row = rows.numRows() - 1;
  const data::TargetFormat& target = rows.format().targets[0];
  if (target.isClass) rows.setLabel(row, 0, label);
  for (int64_t i = 0; !target.isClass && i < target.width; ++i) {
    rows.values(row)[i] = (target.width == 1 ? 1 : i) == label ? 1.0f : 0.0f;
  }
  std::byte* pixels = rows.features(row);
  for (size_t i = 0; i < rows.format().features[0].bytes(); ++i) {
    uint32_t noise = philox(8, id, i)[0] % 100;
    pixels[i] = static_cast<std::byte>(noise + (static_cast<int32_t>(i % 3) == label ? 120 : 0));
  }
  rows.filled(rows.numRows() - 1, 1);
}

struct WorkerResult {
  std::vector<float> parameters;
  std::vector<double> losses;  // by epoch
  std::vector<int64_t> samples;
  Json lastEpoch;
  std::vector<std::string> log = {};
};

struct WorkerRows {
  std::vector<uint64_t> training;
  std::vector<uint64_t> validation = {};
  float weight = 1.0f;
  StepRowsOfEpoch steps = {};
  bool vectors = false;  // targets are one-hot vectors
  // Called before each training row with the rows that came before it: then they come while training runs already.
  std::function<void(size_t)> beforeRow = {};
  std::function<float(uint64_t)> weightOf = {};  // by row id, instead of `weight`
  int64_t sparseFloats = kSparseFloats;
  Checkpoints* checkpoints = nullptr;  // to go on from and to be filled
};

class Worker {
 public:
  Worker(const std::string& task, const WorkerRows& rows, std::unique_ptr<comm::Communicator> communicator)
      : task_(TaskSpec::parse(task)),
        layout_(task_.graph.parameters().layout()),
        parameters_(layout_),
        space_(task_.rows.makeSpace()),
        training_(formatOf(task_, rows), space_.get()),
        validation_(formatOf(task_, rows), space_.get()),
        progress_(task_.training.epochs, metricNames(task_.training.heads)),
        communicator_(std::move(communicator)),
        rows_(rows) {
    task_.graph.parameters().initialize(task_.training.seed, parameters_);
    if (rows.vectors) training_.settleTarget(0, false);
    training_.printContents();
    validation_.printContents();
    if (rows.checkpoints != nullptr) progress_.restoreHistory(savedEpochs(rows.checkpoints->saved));
    if (!rows.beforeRow) feed();
  }

  void run() {
    std::thread feeder;
    if (rows_.beforeRow) feeder = std::thread([this] { feed(); });
    try {
      train();
    } catch (...) {
      if (feeder.joinable()) feeder.join();
      throw;
    }
    if (feeder.joinable()) feeder.join();
  }

  WorkerResult result() {
    auto all = parameters_.all();
    WorkerResult result{{all.begin(), all.end()}, {}, {}, {}};
    Json news = progress_.poll(std::chrono::milliseconds(0), log_, trace_);
    for (const Json& epoch : news.at("history")) {
      result.losses.push_back(epoch.at("loss").get<double>());
      result.samples.push_back(epoch.at("samples").get<int64_t>());
      result.lastEpoch = epoch;
    }
    result.log = news.at("log").get<std::vector<std::string>>();
    return result;
  }

  Cancellation cancellation;

 private:
  // Rows have weights when the test gives them some, without a column of the task.
  static data::RowFormat formatOf(const TaskSpec& task, const WorkerRows& rows) {
    data::RowFormat format = task.rowFormat();
    format.hasWeights = format.hasWeights || rows.weight != 1 || rows.weightOf;
    return format;
  }

  void feed() {
    for (size_t i = 0; i < rows_.training.size(); ++i) {
      if (rows_.beforeRow) rows_.beforeRow(i);
      appendRow(training_, rows_.training[i], rows_.weightOf ? rows_.weightOf(rows_.training[i]) : rows_.weight);
      training_.publish();
    }
    for (uint64_t id : rows_.validation) appendRow(validation_, id);
    validation_.finish();
    training_.finish();
  }

  void train() {
    setComputeThreads(1);
    TrainingLoop loop(
        {task_, parameters_, training_, validation_, *communicator_, cancellation, progress_, trace_, rows_.steps,
         nullptr, &log_, rows_.checkpoints, false,
         std::make_unique<StepPlan>(task_, parameters_, communicator_->size(), nullptr, rows_.sparseFloats)});
    loop.run();
  }

  TaskSpec task_;
  ArenaLayout layout_;
  Arena parameters_;
  std::unique_ptr<data::SpillSpace> space_;
  data::RowStore training_, validation_;
  Log log_;
  Trace trace_;
  Progress progress_;
  std::unique_ptr<comm::Communicator> communicator_;
  WorkerRows rows_;
};

// Runs one worker per element of `rows` together; the first failure is rethrown after all have ended.
inline std::vector<WorkerResult> trainTogether(const std::string& training, const std::vector<WorkerRows>& rows,
                                               const std::string& network = smallNetwork(),
                                               const std::string& sections = "", const std::string& stepTimeout = "20",
                                               const std::string& device = nn::kDefaultDevice) {
  int size = static_cast<int>(rows.size());
  auto group = comm::makeLocalGroup(size);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int rank = 0; rank < size; ++rank) {
    auto index = static_cast<size_t>(rank);
    workers.push_back(std::make_unique<Worker>(taskJson(training, rank, size, sections, network, stepTimeout, device),
                                               rows[index], std::move(group[index])));
  }
  std::vector<std::exception_ptr> failures(rows.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < workers.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        workers[i]->run();
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  std::vector<WorkerResult> results;
  for (auto& worker : workers) results.push_back(worker->result());
  return results;
}

inline std::vector<uint64_t> idRange(uint64_t first, uint64_t count) {
  std::vector<uint64_t> ids(count);
  for (uint64_t i = 0; i < count; ++i) ids[i] = first + i;
  return ids;
}

}  // namespace bloomery::train
