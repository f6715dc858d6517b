#include "train/Columns.h"

#include <algorithm>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/Names.h"

namespace bloomery::train {

namespace {

// {name: column} for every name, in the order of the names.
std::vector<std::string> columnsByName(const Json& json, const char* option, const char* what,
                                       const std::vector<std::string>& names) {
  JsonReader reader(json, message("columns.", option));
  std::vector<std::string> columns;
  for (const auto& item : json.items()) {
    if (std::find(names.begin(), names.end(), item.key()) == names.end()) {
      throw UserError(message(unknownName(what, item.key(), names), ", in columns.", option));
    }
  }
  for (const std::string& name : names) {
    if (!reader.has(name)) throw UserError(message("No column for ", what, ": ", name, ", in columns.", option));
    columns.push_back(reader.text(name));
  }
  return columns;
}

// `one` names the column of a single input or output, `several` the columns of each by name.
std::vector<std::string> readNames(JsonReader& reader, const char* one, const char* several, const char* what,
                                   const std::vector<std::string>& names, const std::vector<std::string>& byDefault) {
  if (reader.has(one) && reader.has(several)) {
    throw UserError(message("Both ", one, " and ", several, " are set: keep one"));
  }
  if (reader.has(several)) return columnsByName(reader.value(several), several, what, names);
  if (!reader.has(one)) return byDefault;
  std::string column = reader.text(one);
  if (names.size() > 1) {
    throw UserError(
        message("Network has ", names.size(), " ", what, "s: give columns.", several, " instead of columns.", one));
  }
  return column.empty() ? byDefault : std::vector<std::string>{column};
}

}  // namespace

data::IngestColumns readColumns(const Json* json, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
  Json byDefault = Json::object();
  if (outputs.size() == 1) byDefault["label"] = kDefaultLabelColumn;
  JsonReader reader(json == nullptr ? byDefault : *json, "columns");
  data::IngestColumns columns;
  columns.features = readNames(reader, "features", "inputs", "input", inputs,
                               inputs.size() == 1 ? std::vector<std::string>{"features"} : inputs);
  columns.targets = readNames(reader, "label", "labels", "output", outputs, {});
  columns.weight = reader.text("weight", "");
  columns.validation = reader.text("validation", "");
  reader.finish();
  return columns;
}

}  // namespace bloomery::train
