// Times training steps of a network on made-up rows: batch from the prefetcher, forward, loss, backward, optimizer,
// as the training loop runs them; or inference on one assembled batch; or, as a yardstick, the network's heavy oneDNN
// primitives alone. Reads lines "run SECONDS" and answers each with a line of JSON, so that whoever compares can
// alternate with a peer; "peak SECONDS" tells what the processor can do at most. Several workers are processes that
// train together over TCP, or at the same time without knowing of each other.
#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Random.h"
#include "comm/gloo/GlooConnector.h"
#include "comm/local/LocalGroup.h"
#include "data/Batcher.h"
#include "nn/Softmax.h"
#include "nn/dnnl/PrimitiveTimes.h"
#include "tools/BenchMain.h"
#include "tools/Machine.h"
#include "tools/ProfileTable.h"
#include "tools/RankProcesses.h"
#include "train/ComputeThreads.h"
#include "train/TrainingLoop.h"

namespace {

using bloomery::train::TaskSpec;
using Clock = std::chrono::steady_clock;

constexpr int64_t kRows = 2048;

struct Options {
  std::string network;
  std::string optimizer = "\"adadelta\"";
  std::string loss = "\"categorical_crossentropy\"";
  int64_t batch = 96;
  int threads = 1;
  int workers = 1;
  bool apart = false;
  bool connections = false;  // also between workers that could share memory
  bool profile = false, inference = false, primitives = false;
};

constexpr const char* kUsage =
    "bloomery-bench-step --network FILE [--batch 96] [--threads 1] [--optimizer JSON] [--loss JSON]\n"
    "    [--workers 1] [--apart] [--connections] [--inference] [--primitives] [--profile]\n"
    "Reads lines \"run SECONDS\" on standard input; answers each with {\"samplesPerSecond\": ...}; \"peak SECONDS\"\n"
    "measures multiply-adds of the processor.\n";

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    std::string name = words[i];
    bool* flag = name == "--profile"       ? &options.profile
                 : name == "--apart"       ? &options.apart
                 : name == "--connections" ? &options.connections
                 : name == "--inference"   ? &options.inference
                 : name == "--primitives"  ? &options.primitives
                                           : nullptr;
    if (flag != nullptr) {
      *flag = true;
      --i;
      continue;
    }
    if (i + 1 == count) throw bloomery::UserError(bloomery::message("Option without a value: ", name));
    std::string value = words[i + 1];
    if (name == "--network") {
      std::stringstream text;
      std::ifstream file(value);
      if (!file) throw bloomery::UserError(bloomery::message("Cannot read file: ", value));
      text << file.rdbuf();
      options.network = text.str();
    } else if (name == "--optimizer") {
      options.optimizer = value;
    } else if (name == "--loss") {
      options.loss = value;
    } else if (name == "--batch") {
      options.batch = std::stoll(value);
    } else if (name == "--threads") {
      options.threads = std::stoi(value);
    } else if (name == "--workers") {
      options.workers = std::stoi(value);
    } else {
      throw bloomery::UserError(bloomery::message("Unknown option: ", name));
    }
  }
  if (options.network.empty()) throw bloomery::UserError("Missing option: --network FILE");
  return options;
}

// Indices are filled up with zeros at the end: lengths from 1 to all, evenly.
void fillFeatures(const bloomery::data::FeatureFormat& format, uint64_t id, std::byte* features) {
  auto random = [&](int64_t i) { return bloomery::philox(1, id, static_cast<uint64_t>(i))[0]; };
  bool isIndex = format.indexLimit > 0;
  int64_t length = 1 + bloomery::philox(2, id, 0)[0] % format.count;
  auto index = [&](int64_t i) { return i < length ? 1 + random(i) % static_cast<uint32_t>(format.indexLimit - 1) : 0; };
  if (format.type == bloomery::DType::kFloat32) {
    float* values = reinterpret_cast<float*>(features);
    for (int64_t i = 0; i < format.count; ++i) {
      values[i] = isIndex ? static_cast<float>(index(i)) : bloomery::uniformFloat(random(i));
    }
  } else if (format.type == bloomery::DType::kInt32 && isIndex) {
    int32_t* values = reinterpret_cast<int32_t*>(features);
    for (int64_t i = 0; i < format.count; ++i) values[i] = static_cast<int32_t>(index(i));
  } else {
    for (size_t i = 0; i < format.bytes(); ++i) {
      features[i] = static_cast<std::byte>(random(static_cast<int64_t>(i)) & 0x7F);
    }
  }
}

void fill(bloomery::data::RowStore& rows) {
  const bloomery::data::RowFormat& format = rows.format();
  for (int64_t row = 0; row < kRows; ++row) {
    uint64_t id = static_cast<uint64_t>(row);
    rows.append(id, 1.0f);
    for (size_t i = 0; i < format.features.size(); ++i) fillFeatures(format.features[i], id, rows.features(row, i));
    for (size_t i = 0; i < format.targets.size(); ++i) {
      if (format.targets[i].isClass) {
        rows.setLabel(row, i, static_cast<int32_t>(row % format.targets[i].width));
      } else {
        std::fill_n(rows.values(row, i), format.targets[i].width, static_cast<float>(row % 2));
      }
    }
  }
}

// Endless steps over the rows, until the deadline has passed.
class TimedRows : public bloomery::data::StepRows {
 public:
  TimedRows(int64_t batch, double seconds)
      : batch_(batch),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  size_t next(std::span<int64_t> rows) override {
    if (Clock::now() >= end_ && steps_++ >= 2) return 0;
    for (int64_t i = 0; i < batch_; ++i) rows[static_cast<size_t>(i)] = (position_ + i) % kRows;
    position_ += batch_;
    return static_cast<size_t>(batch_);
  }

 private:
  int64_t batch_;
  Clock::time_point end_;
  int64_t steps_ = 0;
  int64_t position_ = 0;
};

// What one worker measured, the samples of all that train with it.
struct Measured {
  double samplesPerSecond = 0;
  double secondsPerStep = 0;
  double exposedShare = 0;  // of the time, waiting for the other workers' gradients
};

class Bench {
 public:
  virtual ~Bench() = default;
  virtual Measured run(double seconds) = 0;
};

constexpr bloomery::comm::Timeout kTimeout{120'000};

std::unique_ptr<bloomery::comm::Communicator> connect(bloomery::tools::RankProcesses& workers, const Options& options) {
  if (options.apart || workers.size() == 1) return std::move(bloomery::comm::makeLocalGroup(1)[0]);
  using Connector = bloomery::comm::GlooConnector;
  Connector connector(
      workers.rank(), workers.size(), "127.0.0.1", kTimeout,
      options.connections ? Connector::OnOneMachine::kConnections : Connector::OnOneMachine::kShareMemory);
  bloomery::Log log;
  return connector.connect(workers.gather(connector.address()), workers.credentials(false), bloomery::Cancellation(),
                           log);
}

class StepBench final : public Bench {
 public:
  // profile: to be filled, or null.
  StepBench(const TaskSpec& task, std::unique_ptr<bloomery::comm::Communicator> communicator,
            bloomery::train::StepProfile* profile)
      : task_(task),
        parameters_(task_.graph.parameters().layout()),
        rows_(task_.rowFormat()),
        none_(task_.rowFormat()),
        communicator_(std::move(communicator)),
        loop_({task_, parameters_, rows_, none_, *communicator_, cancellation_, progress_, trace_,
               [this](int64_t) { return std::make_unique<TimedRows>(task_.training.batchSize, seconds_); }, profile}) {
    task_.graph.parameters().initialize(0, parameters_);
    fill(rows_);
    rows_.finish();
    none_.finish();
  }

  Measured run(double seconds) override {
    seconds_ = seconds;
    loop_.run();
    auto news = progress_.poll(std::chrono::milliseconds(0), log_, trace_);
    const auto& epoch = news.at("history").back();
    double passed = epoch.at("seconds").get<double>();
    return {epoch.at("samples").get<double>() / passed, passed / epoch.at("steps").get<double>(),
            epoch.at("exposedAllreduceSeconds").get<double>() / passed};
  }

 private:
  const TaskSpec& task_;
  bloomery::Arena parameters_;
  bloomery::data::RowStore rows_, none_;
  bloomery::Cancellation cancellation_;
  bloomery::Log log_;
  bloomery::Trace trace_;
  bloomery::train::Progress progress_{1, bloomery::train::metricNames(task_.training.heads)};
  std::unique_ptr<bloomery::comm::Communicator> communicator_;
  double seconds_ = 1;
  bloomery::train::TrainingLoop loop_;
};

// Runs as often as fits, twice at least.
template <typename Run>
double perSecond(int64_t samples, double seconds, Run run) {
  Clock::time_point start = Clock::now();
  auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  int64_t runs = 0;
  while (runs < 2 || passed() < seconds) {
    run();
    ++runs;
  }
  return static_cast<double>(runs * samples) / passed();
}

class InferenceBench final : public Bench {
 public:
  InferenceBench(const TaskSpec& task, bloomery::nn::Profile* profile)
      : outputs_(task.graph.outputs()),
        parameters_(task.graph.parameters().layout()),
        rows_(task.rowFormat()),
        batch_(task.training.batchSize, rows_.format()) {
    task.graph.parameters().initialize(0, parameters_);
    fixed_ = task.worker.computing().fixParameters();
    plan_ = task.worker.computing().makePlan(
        task.graph, parameters_, nullptr,
        {.batchSize = batch_.capacity, .training = false, .profile = profile, .fixed = fixed_.get()});
    fill(rows_);
    std::vector<int64_t> positions(static_cast<size_t>(batch_.capacity));
    for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i) % kRows;
    bloomery::data::Batcher(rows_).assemble(positions, batch_);
    for (const auto& output : outputs_) {
      predictions_.resize(
          std::max(predictions_.size(), static_cast<size_t>(batch_.capacity * output.shape.numElements())));
    }
  }

  Measured run(double seconds) override {
    double samplesPerSecond = perSecond(batch_.capacity, seconds, [this] {
      plan_->forward({batch_.inputs, {}, batch_.capacity, 0}, bloomery::nn::Mode::kInference);
      for (size_t i = 0; i < outputs_.size(); ++i) {
        int64_t width = outputs_[i].shape.numElements(), last = outputs_[i].shape.extents().back();
        bloomery::nn::applyTail(outputs_[i].tail, plan_->logits(i).data, batch_.capacity * (width / last), last,
                                predictions_.data());
      }
    });
    return {samplesPerSecond, static_cast<double>(batch_.capacity) / samplesPerSecond, 0};
  }

 private:
  const std::vector<bloomery::network::Output>& outputs_;
  bloomery::Arena parameters_;
  bloomery::data::RowStore rows_;
  bloomery::data::Batch batch_;
  std::unique_ptr<bloomery::nn::FixedParameters> fixed_;
  std::unique_ptr<bloomery::nn::Plan> plan_;
  std::vector<float> predictions_;
};

class PrimitiveBench final : public Bench {
 public:
  PrimitiveBench(const TaskSpec& task, bool inference)
      : batchSize_(task.training.batchSize), times_(task.graph, batchSize_, !inference) {}

  Measured run(double seconds) override {
    perSecond(batchSize_, seconds, [this] { times_.measure(); });
    return {static_cast<double>(batchSize_) / times_.seconds(), times_.seconds(), 0};
  }

 private:
  int64_t batchSize_;
  bloomery::nn::PrimitiveTimes times_;
};

std::unique_ptr<Bench> makeBench(const Options& options, const TaskSpec& task, bloomery::tools::RankProcesses& workers,
                                 bloomery::train::StepProfile& profile) {
  if (options.primitives) return std::make_unique<PrimitiveBench>(task, options.inference);
  if (options.inference) return std::make_unique<InferenceBench>(task, options.profile ? &profile.plan : nullptr);
  return std::make_unique<StepBench>(task, connect(workers, options), options.profile ? &profile : nullptr);
}

TaskSpec taskOf(const Options& options, int rank) {
  int size = options.apart ? 1 : options.workers;
  return TaskSpec::parse(
      bloomery::message("{\"network\": ", options.network, ", \"training\": {\"optimizer\": ", options.optimizer,
                        ", \"loss\": ", options.loss, ", \"batchSize\": ", options.batch,
                        "}, \"worker\": {\"rank\": ", options.apart ? 0 : rank, ", \"size\": ", size, "}}"));
}

// Workers that train together count the same samples; those apart have each their own.
Measured ofAll(const Options& options, const std::vector<std::string>& parts) {
  Measured all;
  for (const std::string& text : parts) {
    bloomery::Json part = bloomery::Json::parse(text);
    double share = 1.0 / static_cast<double>(parts.size());
    all.samplesPerSecond += part.at(0).get<double>() * (options.apart ? 1 : share);
    all.secondsPerStep += part.at(1).get<double>() * share;
    all.exposedShare += part.at(2).get<double>() * share;
  }
  return all;
}

// The first worker reads and answers for all.
std::optional<std::string> nextLine(bloomery::tools::RankProcesses& workers) {
  std::string line;
  if (workers.rank() == 0) std::getline(std::cin, line);
  line = workers.fromFirst(line);
  return line.empty() ? std::nullopt : std::optional(line);
}

void answerLines(const Options& options) {
  bloomery::tools::RankProcesses workers(options.workers);
  bloomery::train::setComputeThreads(options.threads);
  bloomery::train::treatTinyNumbersAsZero();
  bloomery::train::StepProfile profile;
  TaskSpec task = taskOf(options, workers.rank());
  std::unique_ptr<Bench> bench = makeBench(options, task, workers, profile);
  while (auto line = nextLine(workers)) {
    std::istringstream words(*line);
    std::string word;
    double seconds = 0;
    words >> word >> seconds;
    bloomery::Json answer;
    if (word == "peak") {
      answer = {{"gigaflops", bloomery::tools::peakGigaflops(options.threads, seconds)}};
    } else {
      Measured own = bench->run(seconds);
      bloomery::Json part = {own.samplesPerSecond, own.secondsPerStep, own.exposedShare};
      Measured all = ofAll(options, workers.gather(part.dump()));
      answer = {{"samplesPerSecond", all.samplesPerSecond},
                {"secondsPerStep", all.secondsPerStep},
                {"exposedShare", all.exposedShare},
                {"flopsPerSample", task.graph.flopsPerSample()},
                {"peakBytes", bloomery::tools::peakMemoryBytes()}};
    }
    if (workers.rank() == 0) std::cout << answer.dump() << std::endl;
  }
  if (options.profile && workers.rank() == 0) std::cout << bloomery::tools::profileTable(profile, options.batch);
}

}  // namespace

int main(int count, char** words) {
  return bloomery::tools::benchMain(count, words, kUsage, [&] { answerLines(parse(count, words)); });
}
