#include "train/LoadedRows.h"

#include "base/Error.h"
#include "base/JsonValue.h"
#include "data/LateValues.h"

namespace bloomery::train {

namespace {

const data::IngestColumns& trainingColumns(const TaskSpec& task) {
  if (task.training.heads.empty()) throw UserError("Nothing to train: the task has no training");
  if (task.columns.targets.empty())
    throw UserError("No label column to train on: set columns.label, or columns.labels");
  return task.columns;
}

Json categoriesOf(const std::optional<data::CategoryRule>& rule) {
  if (!rule) return nullptr;
  return Json::array(
      {rule->vocabulary, rule->hashBuckets, rule->unknownIsLast, rule->firstIndex, rule->learns, rule->maxSize});
}

Json endOf(const std::optional<data::End>& end) { return end ? Json(static_cast<int>(*end)) : Json(nullptr); }

Json columnOf(const data::InputColumn& column) {
  return Json::array(
      {column.name, column.size, static_cast<int>(column.nulls), static_cast<int>(column.nans), endOf(column.padding),
       endOf(column.truncating),
       categoriesOf(column.learnt == nullptr ? column.categories : std::optional(column.learnt->rule()))});
}

}  // namespace

std::string kindOfRows(const TaskSpec& task) {
  Json features = Json::array(), targets = Json::array();
  const data::RowFormat format = task.rowFormat();
  for (size_t i = 0; i < format.features.size(); ++i) {
    const data::FeatureFormat& feature = format.features[i];
    Json columns = Json::array();
    for (const data::InputColumn& column : task.columns.features[i].columns) columns.push_back(columnOf(column));
    features.push_back(Json::array(
        {nameOf(feature.type), feature.shape.toString(), feature.scale, feature.indexLimit, std::move(columns)}));
  }
  const std::vector<data::TargetRule> rules = task.targetRules();
  for (size_t i = 0; i < rules.size(); ++i) {
    const data::TargetRule& rule = rules[i];
    Json columns = i < task.columns.targets.size() ? Json(task.columns.targets[i].columns) : Json::array();
    targets.push_back(Json::array({rule.shape.toString(), rule.takesClass, rule.takesValues, rule.probabilities,
                                   categoriesOf(rule.vocabulary), std::move(columns)}));
  }
  // A seed chooses rows for validation only where a share of them is.
  double fraction = task.columns.validationFraction;
  Json kind = Json::array({std::move(features), std::move(targets), task.columns.weight, task.columns.validation,
                           fraction, fraction > 0 ? task.columns.seed : 0, task.columns.validationByContent});
  return kind.dump(-1, ' ', false, Json::error_handler_t::replace);
}

LoadedRows::LoadedRows(const TaskSpec& task)
    : kind_(kindOfRows(task)),
      isCheckpointed_(task.checkpoint.has_value()),
      columns_(trainingColumns(task)),
      space_(task.rows.makeSpace()),
      training_(task.rowFormat(), space_.get()),
      validation_(task.rowFormat(), space_.get()),
      ingest_(columns_, task.targetRules(), &training_, &validation_) {}

void LoadedRows::schema(void* arrowSchema) {
  ingest_.schema(arrowSchema);
  if (!isCheckpointed_) return;
  training_.printContents();
  validation_.printContents();
}

void LoadedRows::ingest(void* arrowArray, int partition, int64_t firstRow) {
  ingest_.ingest(arrowArray, partition, firstRow);
  training_.publish();
}

// The end of the training rows is the end of all: it comes last.
void LoadedRows::finish() {
  validation_.finish();
  training_.finish();
}

}  // namespace bloomery::train
