#include "train/CheckpointSettings.h"

#include <map>

#include "base/Error.h"
#include "base/JsonValue.h"

namespace bloomery::train {

namespace {

constexpr size_t kMaxValueBytes = 80;

// Every value that is no object and no list, by its path.
void flatten(const Json& json, const std::string& path, std::map<std::string, std::string>& values) {
  if (json.is_object() && !json.empty()) {
    for (const auto& item : json.items())
      flatten(item.value(), path.empty() ? item.key() : path + "." + item.key(), values);
  } else if (json.is_array() && !json.empty()) {
    for (size_t i = 0; i < json.size(); ++i) flatten(json[i], message(path, "[", i, "]"), values);
  } else {
    values[path] = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

std::map<std::string, std::string> flattened(const Json& settings) {
  std::map<std::string, std::string> values;
  flatten(settings, "", values);
  return values;
}

std::string shortValue(const std::string& text) {
  return text.size() <= kMaxValueBytes ? text : text.substr(0, kMaxValueBytes) + "..";
}

// As the user knows it: the sections are the engine's.
std::string nameOf(const std::string& path) {
  for (const char* section : {"training.", "data."}) {
    if (path.starts_with(section)) return path.substr(std::string(section).size());
  }
  return path;
}

}  // namespace

Json settingsOf(const TaskSpec& task, const std::string& text) {
  Json json = parseJson(text, "task"), settings = Json::object();
  settings["training"] = task.training.toJson();
  settings["training"].erase("epochs");
  settings["data"] = {{"shuffleBuffer", task.rows.shuffleBuffer}};
  if (task.columns.validationByContent) settings["data"]["validationByContent"] = true;
  if (json.contains("columns")) settings["columns"] = json["columns"];
  settings["network"] = json["network"];
  return settings;
}

std::vector<std::string> differencesOf(const Json& settings, const Json& before) {
  std::map<std::string, std::string> now = flattened(settings), old = flattened(before);
  std::vector<std::string> differences;
  auto differ = [&](const std::string& path, const std::string& value, const std::string& was) {
    differences.push_back(message(nameOf(path), " ", shortValue(value), ", was ", shortValue(was)));
  };
  for (const auto& [path, value] : now) {
    auto found = old.find(path);
    if (found == old.end()) differ(path, value, "not set");
    if (found != old.end() && found->second != value) differ(path, value, found->second);
  }
  for (const auto& [path, value] : old) {
    if (!now.contains(path)) differ(path, "not set", value);
  }
  return differences;
}

}  // namespace bloomery::train
