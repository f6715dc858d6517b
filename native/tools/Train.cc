// bloomery-train: the engine with no Spark and no JVM. Reads Parquet files into a trainer of one worker, prints a line
// per epoch, and leaves weights, history, profile and trace where it is asked to.
#include <malloc.h>

#include <chrono>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "base/JsonValue.h"
#include "data/arrow/ParquetRows.h"
#include "tools/CheckpointFile.h"
#include "tools/Files.h"
#include "tools/Interruption.h"
#include "tools/Predictions.h"
#include "tools/ProfileTable.h"
#include "tools/TraceFile.h"
#include "tools/TrainOptions.h"
#include "train/Describe.h"
#include "train/ExportOnnx.h"
#include "train/Trainer.h"

namespace bloomery::tools {

namespace {

using std::chrono::milliseconds;

constexpr auto kPoll = milliseconds(100);
constexpr auto kTracedPoll = milliseconds(20);  // a trace keeps only so many spans until somebody takes them

enum ExitCode { kOk = 0, kFailed = 1, kFault = 2, kSignalled = 128 };

// Values in files are spoken of by file, not only by partition.
template <typename Action>
void naming(const std::string& file, Action action) {
  try {
    action();
  } catch (const UserError& error) {
    throw UserError(message(error.what(), ", file ", file));
  }
}

void throwIfInterrupted(Interruption& interruption) {
  if (interruption.signal() != 0) throw Cancelled("Training was cancelled");
}

data::ParquetRows openRows(const TrainOptions& options, const train::TaskSpec& task) {
  std::vector<data::ParquetSource> sources = {{options.data}};
  if (options.validation.empty()) return data::ParquetRows(sources, task.columns.names());
  data::IngestColumns columns = task.columns;
  columns.validation.clear();  // made of which path a file comes from
  sources.push_back({options.validation, true});
  return data::ParquetRows(sources, columns.names(), kValidationMark);
}

void ingest(data::ParquetRows& rows, train::Trainer& trainer, Interruption& interruption) {
  auto start = std::chrono::steady_clock::now();
  naming(rows.file(), [&] { trainer.ingestSchema(rows.schema()); });
  while (void* batch = rows.next()) {
    throwIfInterrupted(interruption);
    naming(rows.file(), [&] { trainer.ingest(batch, rows.partition(), rows.firstRow()); });
  }
  trainer.finishIngest();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << "read " << rows.numRows(false) + rows.numRows(true) << " rows of " << rows.numFiles()
            << (rows.numFiles() == 1 ? " file" : " files") << "  " << std::fixed << std::setprecision(1)
            << seconds.count() << " s" << std::endl;
}

void appendNumbers(const Json& measures, const std::string& prefix, std::ostringstream& line) {
  line << "  " << prefix << "loss " << measures.at("loss").get<double>();
  for (const auto& metric : measures.at("metrics").items()) {
    line << "  " << prefix << metric.key() << " " << metric.value().get<double>();
  }
}

// As the connector's progress line has it: epoch 1/2  loss 0.3121  accuracy 0.9012  2105 samples/s  14.2 s
std::string epochLine(const Json& epoch, int64_t epochs) {
  std::ostringstream line;
  line << std::fixed << std::setprecision(4) << "epoch " << epoch.at("epoch") << "/" << epochs;
  appendNumbers(epoch, "", line);
  if (epoch.contains("validation")) appendNumbers(epoch.at("validation"), "validation ", line);
  double seconds = epoch.at("seconds").get<double>();
  line << "  " << std::setprecision(0) << (seconds > 0 ? epoch.at("samples").get<double>() / seconds : 0.0)
       << " samples/s  " << std::setprecision(1) << seconds << " s";
  return line.str();
}

void takeCheckpoint(const TrainOptions& options, train::Trainer& trainer) {
  const train::Snapshot* snapshot = trainer.checkpoints().await(milliseconds(0));
  if (snapshot == nullptr) return;
  writeCheckpoint(options.checkpoint, *snapshot);
  trainer.checkpoints().release();
}

// Till the end of the training; tells and keeps what there is to tell.
void follow(const TrainOptions& options, train::Trainer& trainer, Interruption& interruption) {
  std::optional<TraceFile> trace;
  if (!options.trace.empty()) trace.emplace(options.trace);
  Json history = Json::array();
  for (bool finished = false; !finished;) {
    if (interruption.signal() != 0) trainer.cancel();
    Json news = trainer.poll(trace ? kTracedPoll : kPoll);
    finished = news.at("state") == "finished";
    takeCheckpoint(options, trainer);
    for (const Json& line : news.at("log")) std::cerr << line.get<std::string>() << std::endl;
    if (trace) trace->add(news.at("trace"));
    for (const Json& epoch : news.at("history")) {
      std::cout << epochLine(epoch, news.at("epochs").get<int64_t>()) << std::endl;
      history.push_back(epoch);
    }
    if (!options.history.empty() && !news.at("history").empty()) writeFile(options.history, history.dump(2) + "\n");
  }
}

void printDescription(const std::string& task) {
  Json description = parseJson(train::describe(task), "description");
  auto megabytes = [](const Json& bytes) { return bytes.get<double>() / (1024 * 1024); };
  const Json& memory = description.at("memory");
  std::cout << description.at("summary").get<std::string>() << std::fixed << std::setprecision(2)
            << "Operations of a sample, forward: " << description.at("flopsPerSample").get<double>() / 1e6
            << " million\nMemory: " << megabytes(memory.at("total")) << " MB";
  for (const auto& part : memory.items()) {
    if (part.key() != "total") std::cout << ", " << part.key() << " " << megabytes(part.value());
  }
  std::cout << "\n";
  if (description.contains("largestBatchSize")) {
    std::cout << "Largest batch within the budget: " << description.at("largestBatchSize") << " rows\n";
  }
}

void checkOptions(const TrainOptions& options, const train::TaskSpec& task) {
  if (options.data.empty()) throw OptionError("Missing option: --data PATH");
  if (task.columns.targets.empty()) {
    std::string names;
    for (const network::Output& output : task.graph.outputs()) names += (names.empty() ? "" : ", ") + output.name;
    throw OptionError(message("Missing option: --labels, a column for each output: ", names));
  }
  for (const std::string& path :
       {options.save, options.onnx, options.predictions, options.history, options.trace, options.checkpoint}) {
    if (!path.empty()) checkWritable(path);
  }
}

void leaveResults(const TrainOptions& options, const std::string& text, const train::TaskSpec& task,
                  const std::string& weights) {
  if (!options.save.empty()) writeFile(options.save, weights);
  if (!options.onnx.empty()) writeFile(options.onnx, train::exportOnnx(text, std::as_bytes(std::span(weights))));
  if (!options.predictions.empty()) {
    data::ParquetRows rows({{options.validation.empty() ? options.data : options.validation}},
                           data::IngestColumns{.features = task.columns.features, .targets = {}}.names());
    naming(rows.file(), [&] { writeFile(options.predictions, predictionsOf(rows, text, weights)); });
  }
}

void run(const TrainOptions& options, Interruption& interruption) {
  std::string text = taskOf(options);
  if (options.describe) return printDescription(text);
  train::TaskSpec task = train::TaskSpec::parse(text);
  checkOptions(options, task);
  data::ParquetRows rows = openRows(options, task);
  if (rows.numRows(false) == 0) throw UserError(message("No rows to train on: ", options.data));

  train::StepProfile profile;  // outlives the trainer
  profile.tracesLayers = !options.trace.empty();
  std::string weights = options.weights.empty() ? std::string() : readFile(options.weights);
  if (!options.weights.empty() && weights.empty()) throw UserError(message("File is empty: ", options.weights));
  std::optional<train::Trainer> trainer;
  auto open = [&] { trainer.emplace(text, std::as_bytes(std::span(weights))); };
  options.weights.empty() ? open() : naming(options.weights, open);
  if (std::filesystem::exists(options.checkpoint)) {
    trainer->saved() = readCheckpoint(options.checkpoint);
    naming(options.checkpoint, [&] { trainer->restore(); });
  }
  if (options.profile) trainer->profileInto(profile);
  trainer->connect({""}, "");
  ingest(rows, *trainer, interruption);
  follow(options, *trainer, interruption);
  leaveResults(options, text, task, trainer->weights());
  if (options.profile) std::cout << profileTable(profile, task.training.batchSizeOf(0, 1));
}

// Where memory is limited, what is let go is given back at once: by default the allocator keeps ever larger pieces.
void returnFreedMemory() {
  constexpr int kMappedFrom = 256 << 10;
  ::mallopt(M_MMAP_THRESHOLD, kMappedFrom);
}

int runGuarded(int count, char** words) {
  Interruption interruption;
  try {
    TrainOptions options = TrainOptions::parse(count, words);
    if (options.help) {
      std::cout << TrainOptions::usage();
    } else {
      if (options.dataMemory) returnFreedMemory();
      run(options, interruption);
    }
    return kOk;
  } catch (const OptionError& error) {
    std::cerr << error.what() << "\nbloomery-train --help tells all options\n";
  } catch (const Cancelled& error) {
    std::cerr << error.what() << "\n";
    return kSignalled + interruption.signal();
  } catch (const UserError& error) {
    std::cerr << error.what() << "\n";
  } catch (const ResourceError& error) {
    std::cerr << error.what() << "\n";
  } catch (const std::bad_alloc&) {
    std::cerr << "Out of memory: give less data or a smaller batch\n";
  } catch (const std::exception& error) {
    std::cerr << "Fault of bloomery-train: " << error.what() << "\n";
    return kFault;
  }
  return kFailed;
}

}  // namespace

}  // namespace bloomery::tools

int main(int count, char** words) { return bloomery::tools::runGuarded(count, words); }
