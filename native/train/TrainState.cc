#include "train/TrainState.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "train/CheckpointSettings.h"

namespace bloomery::train {

namespace {

// Of the format, and of whatever a state that lies inside an epoch counts on, such as the order of rows.
constexpr int64_t kVersion = 2;
constexpr size_t kMaxDifferences = 5;
constexpr const char* kStateKey = "state";

// Every bit comes back: JSON has the shortest text that does, but none for what is not finite.
Json exact(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double exactNumber(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf" || json == "-inf") return (json == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
  throw UserError(message("Wrong number in a checkpoint: ", json.dump()));
}

Json exactList(std::span<const double> values) {
  Json list = Json::array();
  for (double value : values) list.push_back(exact(value));
  return list;
}

void readList(const Json& json, std::span<double> values, const char* what) {
  if (!json.is_array() || json.size() != values.size()) {
    throw UserError(message("Wrong number of ", what, " in a checkpoint: ", json.size(), ", wanted ", values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) values[i] = exactNumber(json[i]);
}

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

Json sharedJson(const SavedState& saved) {
  Json json = parseJson(checkpoint::readMetadata(bytesOf(saved.shared), kStateKey), "state of a checkpoint");
  if (!json.is_object() || !json.contains("version")) throw UserError("Not the state of a training");
  if (json.at("version") != kVersion) {
    throw UserError(message("Checkpoint is of another version: ", json.at("version").dump(), ", wanted ", kVersion,
                            ". Take another checkpointPath, or set resume to \"weights\""));
  }
  return json;
}

Json ownJson(const SavedState& saved) {
  return parseJson(saved.own.substr(0, saved.own.find('\n')), "worker's state of a checkpoint");
}

// Nothing in checkpoints that were made without it.
std::optional<Instructions> instructionsOf(const Json& shared) {
  auto found = shared.find("instructions");
  if (found == shared.end() || !found->is_string()) return {};
  return instructionsNamed(found->get<std::string>());
}

Json sizesOf(const std::vector<comm::Bucket>& buckets) {
  Json sizes = Json::array();
  for (const comm::Bucket& bucket : buckets) sizes.push_back(bucket.size);
  return sizes;
}

void warn(Log* log, const std::string& text) {
  if (log != nullptr) log->line(text);
}

// All workers find the same.
void checkSameTotals(const TotalRows& saved, const TotalRows& now, bool recovers, int rank, Log* log) {
  bool asMany = now.training == saved.training && now.validation == saved.validation;
  if (asMany && (!saved.contents || now.contents == saved.contents)) return;
  if (asMany && recovers) {
    if (rank > 0) return;
    return warn(
        log,
        "Rows have other values than when the checkpoint was made: their source does not give the same ones each "
        "time, and the result is not that of an undisturbed run");
  }
  std::string difference =
      asMany ? " as before, but with other values" : message(", were ", saved.training, " and ", saved.validation);
  throw UserError(message("Data differs from the checkpoint's: ", now.training, " rows to train on and ",
                          now.validation, " to validate on", difference,
                          ". Take another checkpointPath, or set resume to \"weights\""));
}

}  // namespace

// Rows that are chosen by what they hold are the same ones each time, at whichever places they come.
RowPrint RowPrint::of(const TaskSpec& task, const data::RowStore& training, const data::RowStore& validation) {
  uint64_t ids = task.columns.validationByContent ? 0 : training.idHash() ^ (validation.idHash() << 1);
  return {training.numRows(), validation.numRows(), ids};
}

// A row that is for validation now and was not before counts.
uint64_t TotalRows::contentsOf(const data::RowStore& training, const data::RowStore& validation) {
  return training.contents() + 3 * validation.contents();
}

TrainState::TrainState(const TaskSpec& task, std::string settings, const ArenaLayout& layout, const Arena& parameters,
                       optim::Updater& updater, EarlyStopping& stopping, Progress& progress,
                       const std::vector<comm::Bucket>& buckets)
    : task_(task),
      settings_(std::move(settings)),
      layout_(layout),
      parameters_(parameters),
      updater_(updater),
      stopping_(stopping),
      progress_(progress),
      buckets_(buckets) {}

std::vector<checkpoint::TensorPart> TrainState::parts() {
  std::vector<checkpoint::TensorPart> parts = {{"", parameters_.all()}};
  for (const optim::StateArena& arena : updater_.arenas()) {
    parts.push_back({message(checkpoint::kStatePrefix, arena.name, "/"), arena.values});
  }
  if (!stopping_.bestWeights().empty()) {
    parts.push_back({message(checkpoint::kStatePrefix, "best/"), stopping_.bestWeights()});
  }
  return parts;
}

void TrainState::write(const Position& position, bool finished, Snapshot& snapshot) {
  snapshot.epoch = position.epoch;
  snapshot.step = position.step;
  snapshot.finished = finished;
  snapshot.shared.clear();
  if (task_.worker.rank == 0) {
    Json state = {{"version", kVersion},
                  {"workers", task_.worker.size},
                  {"epoch", position.epoch},
                  {"step", position.step},
                  {"learningRate", exact(position.learningRate)},
                  {"totals",
                   {{"rows", position.totals.rows},
                    {"losses", exactList(position.totals.losses)},
                    {"weights", exactList(position.totals.weights)}}},
                  {"penalties", exact(position.penalties)},
                  {"next",
                   {{"rows", position.next.rows},
                    {"notReady", position.next.notReady},
                    {"weights", exactList(position.next.weights)}}},
                  {"updater", updater_.counters()},
                  {"stopping", stopping_.counters()},
                  {"buckets", sizesOf(buckets_)},
                  {"instructions", nameOf(instructions().level())},
                  {"settings", parseJson(settings_, "settings")}};
    if (position.rows) {
      state["rows"] = {{"training", position.rows->training},
                       {"validation", position.rows->validation},
                       {"contents", static_cast<int64_t>(position.rows->contents.value())}};
    }
    checkpoint::writeSafetensors(layout_, parts(), {{"format", "bloomery-state"}, {kStateKey, state.dump()}},
                                 snapshot.shared);
  }
  Json own = {{"rank", task_.worker.rank},
              {"batches", position.batches},
              {"rows", position.ownRows},
              {"seconds", position.seconds},
              {"metricSums", exactList(position.metricSums)}};
  if (position.print) {
    own["print"] = {{"training", position.print->training},
                    {"validation", position.print->validation},
                    {"ids", static_cast<int64_t>(position.print->ids)}};
  }
  snapshot.own = own.dump() + "\n";
  for (const std::string& epoch : progress_.history()) snapshot.own.append(epoch).append("\n");
}

void TrainState::read(const SavedState& saved, Position& position, Log* log) {
  checkpoint::readSafetensors(bytesOf(saved.shared), layout_, parts());
  Json json = sharedJson(saved);
  try {
    position.epoch = json.at("epoch").get<int64_t>();
    position.step = json.at("step").get<int64_t>();
    position.learningRate = exactNumber(json.at("learningRate"));
    const Json &totals = json.at("totals"), &next = json.at("next");
    position.totals.rows = totals.at("rows").get<int64_t>();
    readList(totals.at("losses"), position.totals.losses, "losses");
    readList(totals.at("weights"), position.totals.weights, "weights");
    position.penalties = exactNumber(json.at("penalties"));
    position.next.rows = next.at("rows").get<int64_t>();
    position.next.notReady = next.at("notReady").get<int64_t>();
    readList(next.at("weights"), position.next.weights, "weights");
    if (json.contains("rows")) {
      const Json& rows = json["rows"];
      position.rows = {rows.at("training").get<int64_t>(), rows.at("validation").get<int64_t>()};
      if (rows.contains("contents")) {
        position.rows->contents = static_cast<uint64_t>(rows["contents"].get<int64_t>());
      }
    }
    updater_.restore(json.at("updater"));
    if (json.contains("stopping")) stopping_.restore(json["stopping"]);
    if (json.at("buckets") != sizesOf(buckets_)) {
      warn(log, "Gradients are added up in other parts than when the checkpoint was made: the last bits may differ");
    }
    if (auto was = instructionsOf(json); was && *was != instructions().level()) {
      warn(log, message("Checkpoint was made with ", nameOf(*was), " instructions, and training goes on with ",
                        nameOf(instructions().level()), ": the last bits may differ"));
    }
    position.recovers = saved.recovers;
    if (saved.own.empty()) return;
    Json own = ownJson(saved);
    position.batches = own.at("batches").get<int64_t>();
    position.ownRows = own.at("rows").get<int64_t>();
    position.seconds = own.at("seconds").get<double>();
    readList(own.at("metricSums"), position.metricSums, "metric sums");
    if (own.contains("print")) {
      const Json& print = own["print"];
      position.print = {print.at("training").get<int64_t>(), print.at("validation").get<int64_t>(),
                        static_cast<uint64_t>(print.at("ids").get<int64_t>())};
    }
  } catch (const Json::exception& error) {
    throw UserError(message("Not the state of a training: ", error.what()));
  }
}

void checkGoesOn(const SavedState& saved, const TaskSpec& task, const std::string& settings) {
  Json json = sharedJson(saved);
  std::vector<std::string> differences =
      differencesOf(parseJson(settings, "settings"), json.value("settings", Json::object()));
  if (!differences.empty()) {
    std::ostringstream text;
    for (size_t i = 0; i < std::min(differences.size(), kMaxDifferences); ++i) {
      text << (i == 0 ? "" : "; ") << differences[i];
    }
    if (differences.size() > kMaxDifferences) text << "; and " << differences.size() - kMaxDifferences << " more";
    throw UserError(message("Settings differ from the checkpoint's: ", text.str(),
                            ". Set them as they were, take another checkpointPath, or set resume to \"weights\""));
  }
  int64_t workers = json.value("workers", int64_t{1}), step = json.value("step", int64_t{0}),
          epoch = json.value("epoch", int64_t{1});
  if (epoch - 1 > task.training.epochs) {
    throw UserError(message("Checkpoint has trained more epochs than asked for: ", epoch - 1, ", epochs: ",
                            task.training.epochs, ". Give at least as many, or take another checkpointPath"));
  }
  if (step > 0 && (workers != task.worker.size || saved.own.empty())) {
    throw UserError(message("Checkpoint lies inside an epoch and was made by another number of workers: ", workers,
                            ", now ", task.worker.size, ", epoch ", epoch, ", step ", step,
                            ". Set numWorkers as it was"));
  }
}

Instructions savedInstructions(const SavedState& saved) {
  return instructionsOf(sharedJson(saved)).value_or(Instructions::kAvx512);
}

std::vector<std::string> savedEpochs(const SavedState& saved) {
  std::vector<std::string> epochs;
  std::istringstream lines(saved.own);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) epochs.push_back(line);
  return epochs;
}

void checkSameRows(const Position& saved, const RowPrint& own, const TotalRows& all, int rank, Log* log) {
  if (saved.rows) checkSameTotals(*saved.rows, all, saved.recovers, rank, log);
  if (!saved.print || *saved.print == own) return;
  if (saved.step > 0) {
    throw UserError(
        message("Rows of worker ", rank, " are not those of the checkpoint, which lies inside an epoch: ", own.training,
                " to train on and ", own.validation, " to validate on, were ", saved.print->training, " and ",
                saved.print->validation, ". Take another checkpointPath, or set resume to \"weights\""));
  }
  warn(log, "Rows are in other places than when the checkpoint was made: the result is not that of an undisturbed run");
}

}  // namespace bloomery::train
