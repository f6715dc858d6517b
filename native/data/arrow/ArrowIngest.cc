#include "data/arrow/ArrowIngest.h"

#include <arrow/api.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "base/Error.h"
#include "base/Names.h"
#include "base/Random.h"
#include "data/LateValues.h"
#include "data/arrow/ArrowResult.h"
#include "data/arrow/NumberColumn.h"
#include "data/arrow/RecyclingPool.h"
#include "data/arrow/RowHash.h"
#include "data/arrow/TargetColumn.h"

namespace bloomery::data {

namespace {

constexpr int kRowBits = 40;

// Releases a C struct that nobody took over, whatever happens.
template <typename Struct>
struct Releaser {
  explicit Releaser(void* address) : taken(static_cast<Struct*>(address)) {
    check(taken != nullptr, "Address of an Arrow struct is null");
  }
  ~Releaser() {
    if (taken->release != nullptr) taken->release(taken);
  }
  Releaser(const Releaser&) = delete;
  Releaser& operator=(const Releaser&) = delete;

  Struct* taken;
};

float readWeight(const NumberColumn& weights, int64_t row, const RowPlace& place) {
  if (weights.isNull(row)) throw UserError(message("Weight is null: ", place));
  float weight = static_cast<float>(weights.value(row));
  if (!std::isfinite(weight) || weight < 0) {
    throw UserError(message("Weight is not a finite number of at least 0: ", shown(weights.value(row)), ", ", place));
  }
  return weight;
}

bool readValidation(const arrow::BooleanArray& indicators, int64_t row, const RowPlace& place) {
  if (indicators.IsNull(row)) throw UserError(message("Validation indicator is null: ", place));
  return indicators.Value(row);
}

}  // namespace

struct ArrowIngest::State {
  // The place of a column in the schema, -1 for one that is not wanted.
  int indexOf(const std::string& column) const;
  int numberIndexOf(const std::string& column, const char* what) const;

  // Which columns fill which part of the input, and of the target.
  void planInput(size_t input);
  void planTarget(size_t target);

  // All that make a row what it is: features, targets and weight.
  std::vector<const arrow::Array*> arraysOf(const arrow::RecordBatch& batch) const;

  // How the training store keeps a target; the validation store keeps it likewise.
  bool isClass(size_t target) const { return training->format().targets[target].isClass; }
  void settleTarget(size_t target, bool isClass);

  IngestColumns columns;
  std::vector<TargetRule> rules;
  RowStore* training;
  RowStore* validation;

  // A column of the schema and what it fills.
  struct Feature {
    int index;
    ColumnPart part;
  };

  std::vector<TargetRule> rulesOfOne;                     // by target: that of each of several columns
  std::vector<std::unique_ptr<Categories>> vocabularies;  // by target, null where there is none
  std::shared_ptr<arrow::Schema> schema;
  std::vector<std::vector<Feature>> features;  // by input

  // A column of the schema, and from which value of which target on it fills it.
  struct Target {
    int index;
    size_t target;
    int64_t offset;
    const TargetRule* rule;
    const std::string* name;
  };

  std::vector<Target> targets;
  int weightIndex = -1;
  int validationIndex = -1;
};

std::vector<std::string> IngestColumns::featureNames() const {
  std::vector<std::string> names;
  for (const InputColumns& input : features) {
    for (const InputColumn& column : input.columns) {
      if (std::find(names.begin(), names.end(), column.name) == names.end()) names.push_back(column.name);
    }
  }
  return names;
}

bool IngestColumns::needsAllRows() const {
  for (const InputColumns& input : features) {
    for (const InputColumn& column : input.columns) {
      if (column.late() != nullptr) return true;
    }
  }
  return false;
}

std::vector<std::string> IngestColumns::names() const {
  std::vector<std::string> names = featureNames();
  auto add = [&](const std::string& name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const TargetColumns& target : targets) {
    for (const std::string& column : target.columns) add(column);
  }
  add(weight);
  add(validation);
  return names;
}

int ArrowIngest::State::indexOf(const std::string& column) const {
  if (column.empty()) return -1;
  std::vector<int> found = schema->GetAllFieldIndices(column);
  if (found.empty()) throw UserError(unknownName("column", column, schema->field_names()));
  if (found.size() > 1) throw UserError(message("Two columns have the same name: ", column));
  return found[0];
}

int ArrowIngest::State::numberIndexOf(const std::string& column, const char* what) const {
  int index = indexOf(column);
  if (index < 0) return index;
  const arrow::DataType& type = *schema->field(index)->type();
  if (!isNumber(type)) {
    throw UserError(message("Wrong type of ", what, " column '", column, "': ", type.ToString(), ", wanted a number"));
  }
  return index;
}

void ArrowIngest::State::planInput(size_t input) {
  const FeatureFormat& format = training->format().features[input];
  const std::vector<InputColumn>& all = columns.features[input].columns;
  std::vector<Feature> planned;
  std::string names, unknown;
  int64_t known = 0;
  int numUnknown = 0;
  for (const InputColumn& column : all) {
    int index = indexOf(column.name);
    check(index >= 0, "No features column is named for input ", input);
    ColumnPart part{column, format};
    if (column.categories && column.learnt == nullptr)
      part.categories = std::make_shared<Categories>(*column.categories);
    if (all.size() > 1 || column.size > 0) {
      part.format.count = FeatureColumn::sizeOf(*schema->field(index)->type(), column, format.type);
      part.format.shape = {};
    }
    known += part.format.count;
    names += (names.empty() ? "'" : ", '") + column.name + "'";
    if (part.format.count == 0) {
      unknown += (unknown.empty() ? "'" : ", '") + column.name + "'";
      ++numUnknown;
    }
    planned.push_back({index, std::move(part)});
  }
  if (numUnknown > 1) {
    throw UserError(
        message("Sizes of several columns of one input are not known: ", unknown, ", give all but one of them a size"));
  }
  if (numUnknown == 0 ? known != format.count : known >= format.count) {
    throw UserError(message("Columns do not fill the input: ", known, " values a row of columns ", names,
                            numUnknown == 0 ? "" : " without the array", ", wanted ", format.count));
  }
  size_t offset = 0;
  for (Feature& feature : planned) {
    if (feature.part.format.count == 0) feature.part.format.count = format.count - known;
    feature.part.offset = offset;
    if (LateValues* late = feature.part.rule.late(); late != nullptr) {
      late->place(static_cast<int64_t>(offset / sizeOf(format.type)), feature.part.format.count);
    }
    offset += feature.part.format.bytes();
    FeatureColumn::checkField(*schema->field(feature.index), feature.part);
  }
  features.push_back(std::move(planned));
}

std::vector<const arrow::Array*> ArrowIngest::State::arraysOf(const arrow::RecordBatch& batch) const {
  std::vector<const arrow::Array*> arrays;
  auto add = [&](int index) { arrays.push_back(batch.columns()[static_cast<size_t>(index)].get()); };
  for (const std::vector<Feature>& input : features) {
    for (const Feature& feature : input) add(feature.index);
  }
  for (const Target& target : targets) add(target.index);
  if (weightIndex >= 0) add(weightIndex);
  return arrays;
}

void ArrowIngest::State::settleTarget(size_t target, bool isClass) {
  training->settleTarget(target, isClass);
  if (validation != nullptr) validation->settleTarget(target, isClass);
}

void ArrowIngest::State::planTarget(size_t target) {
  const std::vector<std::string>& names = columns.targets[target].columns;
  const TargetRule& rule = rules[target];
  if (names.size() == 1) {
    int index = indexOf(names[0]);
    check(index >= 0, "No label column is named for output ", target);
    settleTarget(target, TargetColumn::isClass(*schema->field(index), rule));
    targets.push_back({index, target, 0, &rule, &names[0]});
    return;
  }
  if (!rule.takesValues || static_cast<int64_t>(names.size()) != rule.shape.numElements()) {
    throw UserError(message("Label columns do not fill the output: ", names.size(), " columns from '", names.front(),
                            "' to '", names.back(), "', values of the output: ", rule.shape.numElements(),
                            rule.takesValues ? "" : ", and its loss takes class indices only"));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    int index = numberIndexOf(names[i], "label");
    check(index >= 0, "No label column is named for value ", i, " of output ", target);
    targets.push_back({index, target, static_cast<int64_t>(i), &rulesOfOne[target], &names[i]});
  }
  settleTarget(target, false);
}

ArrowIngest::ArrowIngest(IngestColumns columns, std::vector<TargetRule> rules, RowStore* training, RowStore* validation)
    : state_(std::make_unique<State>()) {
  check(training != nullptr, "No store for rows");
  check((columns.validation.empty() && columns.validationFraction == 0) || validation != nullptr,
        "No store for validation rows");
  check(columns.features.size() == training->format().features.size(),
        "Columns do not fit the store's features: ", columns.features.size());
  check(columns.targets.size() == training->format().targets.size() && columns.targets.size() == rules.size(),
        "Columns do not fit the store's targets: ", columns.targets.size(), ", rules: ", rules.size());
  check(columns.weight.empty() || training->format().hasWeights, "The store keeps no weights: ", columns.weight);
  state_->columns = std::move(columns);
  state_->rules = std::move(rules);
  for (const TargetRule& rule : state_->rules) {
    state_->rulesOfOne.push_back(
        {.shape = {1}, .takesClass = false, .takesValues = true, .probabilities = rule.probabilities});
    state_->vocabularies.push_back(rule.vocabulary ? std::make_unique<Categories>(*rule.vocabulary) : nullptr);
  }
  state_->training = training;
  state_->validation = validation;
}

ArrowIngest::~ArrowIngest() = default;

void ArrowIngest::schema(void* arrowSchema) {
  Releaser<ArrowSchema> source(arrowSchema);
  State& state = *state_;
  state.schema = importSchema(source.taken);
  state.features.clear();
  for (size_t input = 0; input < state.columns.features.size(); ++input) state.planInput(input);
  state.targets.clear();
  for (size_t target = 0; target < state.columns.targets.size(); ++target) state.planTarget(target);
  state.weightIndex = state.numberIndexOf(state.columns.weight, "weight");
  state.validationIndex = state.indexOf(state.columns.validation);
  if (state.validationIndex >= 0) {
    const arrow::DataType& type = *state.schema->field(state.validationIndex)->type();
    if (type.id() != arrow::Type::BOOL) {
      throw UserError(message("Wrong type of validation indicator column '", state.columns.validation,
                              "': ", type.ToString(), ", wanted boolean"));
    }
  }
}

void ArrowIngest::ingest(void* arrowArray, int partition, int64_t firstRow) {
  Releaser<ArrowArray> source(arrowArray);
  const State& state = *state_;
  check(state.schema != nullptr, "Rows came before their schema");
  auto batch = importBatch(source.taken, state.schema);
  if (arrow::Status status = batch->Validate(); !status.ok()) {
    throw InternalError(message("Arrow batch is not valid: ", status.ToString()));
  }
  check(partition >= 0 && firstRow >= 0 && firstRow + batch->num_rows() <= int64_t{1} << kRowBits,
        "Row number out of range: row ", firstRow, " of partition ", partition);

  const auto& arrays = batch->columns();
  auto array = [&](int index) { return index < 0 ? nullptr : arrays[static_cast<size_t>(index)].get(); };
  auto numbers = [&](int index) { return index < 0 ? std::nullopt : std::make_optional<NumberColumn>(*array(index)); };
  struct Feature {
    FeatureColumn column;
    const ColumnPart& part;
    size_t input;
  };
  std::vector<Feature> features;
  for (size_t input = 0; input < state.features.size(); ++input) {
    for (const State::Feature& feature : state.features[input]) {
      features.push_back({FeatureColumn(*array(feature.index), feature.part), feature.part, input});
    }
  }
  std::deque<TargetColumn> targets;  // they do not move
  for (const State::Target& each : state.targets) {
    targets.emplace_back(*array(each.index), *each.rule, state.isClass(each.target),
                         state.vocabularies[each.target].get(), each.offset);
  }
  std::optional<NumberColumn> weights = numbers(state.weightIndex);
  const auto* indicators = static_cast<const arrow::BooleanArray*>(array(state.validationIndex));
  std::optional<RowHash> hash;
  if (state.columns.validationFraction > 0 && state.columns.validationByContent) hash.emplace(state.arraysOf(*batch));
  auto isHeldBack = [&](int64_t i) {
    if (indicators != nullptr)
      return readValidation(*indicators, i, {state.columns.validation, firstRow + i, partition});
    if (state.columns.validationFraction == 0) return false;
    uint64_t known = hash ? hash->of(i) : makeRowId(partition, firstRow + i);
    return isForValidation(known, state.columns.validationFraction, state.columns.seed);
  };
  bool someAreHeldBack = indicators != nullptr || state.columns.validationFraction > 0;
  // Rows that go to one chunk of one store, column by column.
  int64_t numRows = batch->num_rows(), count = 0, end = 0;
  bool forValidation = false;
  for (int64_t i = 0; i < numRows; i += count) {
    // Those of one store may need several chunks; each row is asked about once or twice, however many.
    if (i == end) {
      forValidation = isHeldBack(i);
      end = someAreHeldBack ? i + 1 : numRows;
      while (end < numRows && isHeldBack(end) == forValidation) ++end;
    }
    RowStore& store = forValidation ? *state.validation : *state.training;
    count = store.appendRows(makeRowId(partition, firstRow + i), end - i);
    int64_t row = store.numRows() - count;
    auto place = [&](const std::string& column) { return RowPlace{column, firstRow + i, partition}; };
    if (weights) {
      RowPlace first = place(state.columns.weight);
      for (int64_t k = 0; k < count; ++k) store.setWeight(row + k, readWeight(*weights, i + k, first.behind(k)));
    }
    for (size_t j = 0; j < targets.size(); ++j) {
      targets[j].copy(i, count, store, row, state.targets[j].target, place(*state.targets[j].name));
    }
    for (const Feature& feature : features) {
      size_t stride = store.format().features[feature.input].bytes();
      std::byte* values = store.features(row, feature.input) + feature.part.offset;
      feature.column.copy(i, count, values, stride, place(feature.part.rule.name));
      LateValues* late = feature.part.rule.late();
      if (late == nullptr || forValidation) continue;
      for (int64_t k = 0; k < count; ++k) {
        late->add(values + static_cast<size_t>(k) * stride, feature.part.format.type);
      }
    }
    store.filled(row, count);
  }
}

bool isForValidation(uint64_t rowIdOrHash, double fraction, uint64_t seed) {
  if (fraction == 0) return false;
  RandomBlock block = philox(mixKey(seed, "validation"), rowIdOrHash, 0);
  return static_cast<double>(block[0]) * 0x1p-32 < fraction;
}

ArrowBatchGuard::~ArrowBatchGuard() {
  Releaser<ArrowSchema> schema(schema_);
  Releaser<ArrowArray> array(array_);
}

int64_t arrowBytesAllocated() {
  arrow::MemoryPool* system = arrow::system_memory_pool();
  arrow::MemoryPool* byDefault = arrow::default_memory_pool();
  return recyclingPool()->bytes_allocated() + system->bytes_allocated() +
         (byDefault == system ? 0 : byDefault->bytes_allocated());
}

std::string arrowVersion() { return arrow::GetBuildInfo().version_string; }

}  // namespace bloomery::data
