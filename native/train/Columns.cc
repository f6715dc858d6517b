#include "train/Columns.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"
#include "data/LateValues.h"

namespace bloomery::train {

namespace {

using data::CategoryRule;
using data::End;
using data::InputColumn;
using data::InputColumns;
using data::NanRule;
using data::NullRule;

template <typename Value>
using Choices = std::vector<std::pair<std::string, Value>>;

const Choices<NullRule> kNullRules = {
    {"error", NullRule::kError}, {"zero", NullRule::kZero}, {"mean", NullRule::kMean}};
const Choices<NanRule> kNanRules = {{"error", NanRule::kError}, {"pass", NanRule::kPass}};
const Choices<End> kEnds = {{"pre", End::kFront}, {"post", End::kBack}};
const Choices<bool> kUnknownRules = {{"error", false}, {"last", true}};

template <typename Value>
Value choose(JsonReader& reader, const char* option, const Choices<Value>& choices) {
  std::string name = reader.text(option);
  std::vector<std::string> names;
  for (const auto& [known, value] : choices) {
    if (known == name) return value;
    names.push_back(known);
  }
  throw UserError(message(unknownName(option, name, names), ", in ", reader.where()));
}

int64_t positive(JsonReader& reader, const char* option) {
  int64_t value = reader.integer(option);
  if (value < 1) throw UserError(message("Not positive: ", option, " ", value, ", in ", reader.where()));
  return value;
}

// What only the rows of training tell is kept where they will find it.
void openLate(InputColumn& column, const std::string& where) {
  if (column.categories && column.nulls == NullRule::kMean) {
    throw UserError(
        message("Categories have no mean: column '", column.name, "', set its nulls to error or zero, in ", where));
  }
  if (column.nulls == NullRule::kMean) column.means = std::make_shared<data::LateMeans>(column.name);
  if (column.categories && column.categories->learns) {
    column.learnt = std::make_shared<data::LateVocabulary>(column.name, *column.categories);
  }
}

// Texts, or whole numbers as the text of their digits.
std::vector<std::string> readVocabulary(JsonReader& reader) {
  const Json& json = reader.value("vocabulary");
  auto wrong = [&](const std::string& found) {
    return UserError(message("Wrong vocabulary: ", found,
                             ", wanted a list of texts or whole numbers, or \"learn\", in ", reader.where()));
  };
  if (!json.is_array() || json.empty()) throw wrong(json.is_array() ? "an empty list" : json.dump());
  std::vector<std::string> words;
  std::set<std::string> known;
  for (const Json& word : json) {
    if (!word.is_string() && !word.is_number_integer()) throw wrong(word.dump());
    words.push_back(word.is_string() ? word.get<std::string>() : word.dump());
    if (known.insert(words.back()).second) continue;
    throw UserError(message("Word is twice in the vocabulary: '", words.back(), "', in ", reader.where()));
  }
  return words;
}

std::optional<CategoryRule> readCategories(JsonReader& reader) {
  bool hasVocabulary = reader.has("vocabulary"), hasBuckets = reader.has("hashBuckets");
  if (hasVocabulary && hasBuckets) {
    throw UserError(message("Both vocabulary and hashBuckets are set: keep one, in ", reader.where()));
  }
  CategoryRule rule;
  rule.learns = hasVocabulary && reader.value("vocabulary") == "learn";
  if (hasVocabulary && !rule.learns) rule.vocabulary = readVocabulary(reader);
  if (hasBuckets) rule.hashBuckets = positive(reader, "hashBuckets");
  if (reader.has("outOfVocabulary")) {
    if (!hasVocabulary) {
      throw UserError(message("Option outOfVocabulary needs a vocabulary, in ", reader.where()));
    }
    rule.unknownIsLast = choose(reader, "outOfVocabulary", kUnknownRules);
  }
  if (reader.has("maxSize")) {
    if (!rule.learns || !rule.unknownIsLast) {
      throw UserError(
          message("Option maxSize needs the vocabulary \"learn\" and outOfVocabulary \"last\", in ", reader.where()));
    }
    rule.maxSize = positive(reader, "maxSize");
  }
  if (!hasVocabulary && !hasBuckets) return std::nullopt;
  return rule;
}

std::string columnName(JsonReader& reader) {
  std::string name = reader.text("column");
  if (name.empty()) throw UserError(message("Name of a column is empty, in ", reader.where()));
  return name;
}

std::string placeOf(const Json& json, const std::string& where) {
  bool named = json.is_object() && json.contains("column") && json.at("column").is_string();
  return named ? message("column '", json.at("column").get<std::string>(), "' of ", where) : where;
}

// A name, or an object with "column" and options.
InputColumn readColumn(const Json& json, const InputColumn& byDefault, const std::string& where) {
  InputColumn column = byDefault;
  if (json.is_string()) {
    column.name = json.get<std::string>();
    if (column.name.empty()) throw UserError(message("Name of a column is empty, in ", where));
    openLate(column, where);
    return column;
  }
  if (!json.is_object()) {
    throw UserError(
        message("Wrong value for ", where, ": ", json.dump(), ", wanted a column's name, an object or a list"));
  }
  JsonReader reader(json, placeOf(json, where));
  column.name = columnName(reader);
  if (reader.has("size")) column.size = positive(reader, "size");
  if (reader.has("nulls")) column.nulls = choose(reader, "nulls", kNullRules);
  if (reader.has("nans")) column.nans = choose(reader, "nans", kNanRules);
  if (reader.has("padding")) column.padding = choose(reader, "padding", kEnds);
  if (reader.has("truncating")) column.truncating = choose(reader, "truncating", kEnds);
  column.categories = readCategories(reader);
  reader.finish();
  // Zeros that fill up are no word.
  if (column.categories && column.padding) column.categories->firstIndex = 1;
  openLate(column, where);
  return column;
}

InputColumns readInput(const Json& json, const InputColumn& byDefault, const std::string& where) {
  if (!json.is_array()) return std::vector{readColumn(json, byDefault, where)};
  std::vector<InputColumn> columns;
  for (const Json& column : json) columns.push_back(readColumn(column, byDefault, where));
  if (columns.empty()) throw UserError(message("No columns are named, in ", where));
  return columns;
}

struct Label {
  data::TargetColumns columns;
  std::optional<CategoryRule> vocabulary;
};

// A name, an object with a vocabulary, or a list of names.
Label readLabel(const Json& json, const std::string& where) {
  if (json.is_string()) return {json.get<std::string>(), std::nullopt};
  bool names = json.is_array() && !json.empty() &&
               std::all_of(json.begin(), json.end(), [](const Json& name) { return name.is_string() && name != ""; });
  if (names) return {json.get<std::vector<std::string>>(), std::nullopt};
  if (!json.is_object()) {
    throw UserError(message("Wrong value for ", where, ": ", json.dump(),
                            ", wanted a column's name, a list of names or an object"));
  }
  JsonReader reader(json, placeOf(json, where));
  Label label{columnName(reader), std::nullopt};
  if (reader.has("vocabulary")) label.vocabulary = CategoryRule{.vocabulary = readVocabulary(reader)};
  reader.finish();
  return label;
}

// {name: value} for every name, in the order of the names.
std::vector<const Json*> valuesByName(const Json& json, const char* option, const char* what,
                                      const std::vector<std::string>& names) {
  JsonReader reader(json, message("columns.", option));
  std::vector<const Json*> values;
  for (const auto& item : json.items()) {
    if (std::find(names.begin(), names.end(), item.key()) == names.end()) {
      throw UserError(message(unknownName(what, item.key(), names), ", in columns.", option));
    }
  }
  for (const std::string& name : names) {
    if (!reader.has(name)) throw UserError(message("No column for ", what, ": ", name, ", in columns.", option));
    values.push_back(&reader.value(name));
  }
  return values;
}

// `one` tells of a single input or output, `several` of each by name. Empty when neither does.
std::vector<const Json*> readValues(JsonReader& reader, const char* one, const char* several, const char* what,
                                    const std::vector<std::string>& names) {
  if (reader.has(one) && reader.has(several)) {
    throw UserError(message("Both ", one, " and ", several, " are set: keep one"));
  }
  if (reader.has(several)) return valuesByName(reader.value(several), several, what, names);
  if (!reader.has(one)) return {};
  if (names.size() > 1) {
    throw UserError(
        message("Network has ", names.size(), " ", what, "s: give columns.", several, " instead of columns.", one));
  }
  const Json& value = reader.value(one);
  if (value.is_string() && value.get<std::string>().empty()) return {};
  return {&value};
}

}  // namespace

data::IngestColumns readColumns(const Json* json, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
  Json byDefault = Json::object();
  if (outputs.size() == 1) byDefault["label"] = kDefaultLabelColumn;
  JsonReader reader(json == nullptr ? byDefault : *json, "columns");
  InputColumn rules("");
  if (reader.has("nulls")) rules.nulls = choose(reader, "nulls", kNullRules);
  if (reader.has("nans")) rules.nans = choose(reader, "nans", kNanRules);
  data::IngestColumns columns;
  auto features = readValues(reader, "features", "inputs", "input", inputs);
  bool severalInputs = reader.has("inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string where = severalInputs ? message("columns.inputs.", inputs[i]) : "columns.features";
    Json name = inputs.size() == 1 ? Json("features") : Json(inputs[i]);
    columns.features.push_back(readInput(features.empty() ? name : *features[i], rules, where));
  }
  auto labels = readValues(reader, "label", "labels", "output", outputs);
  bool severalLabels = reader.has("labels");
  for (size_t i = 0; i < labels.size(); ++i) {
    Label label = readLabel(*labels[i], severalLabels ? message("columns.labels.", outputs[i]) : "columns.label");
    columns.targets.push_back(std::move(label.columns));
    columns.vocabularies.push_back(std::move(label.vocabulary));
  }
  columns.weight = reader.text("weight", "");
  columns.validation = reader.text("validation", "");
  reader.finish();
  return columns;
}

}  // namespace bloomery::train
