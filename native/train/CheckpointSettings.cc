#include "train/CheckpointSettings.h"

#include <algorithm>
#include <map>
#include <utility>

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

// What lies deep comes last, and an option behind the kind that has it.
std::pair<std::ptrdiff_t, bool> orderOf(const std::string& name) {
  auto depth = std::count_if(name.begin(), name.end(), [](char c) { return c == '.' || c == '['; });
  return {depth, !name.ends_with(".kind")};
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
  std::vector<std::pair<std::string, std::string>> found;  // by name
  auto differ = [&](const std::string& path, const std::string& value, const std::string& was) {
    std::string name = nameOf(path);
    found.emplace_back(name, message(name, " ", shortValue(value), ", was ", shortValue(was)));
  };
  for (const auto& [path, value] : now) {
    auto same = old.find(path);
    if (same == old.end()) differ(path, value, "not set");
    if (same != old.end() && same->second != value) differ(path, value, same->second);
  }
  for (const auto& [path, value] : old) {
    if (!now.contains(path)) differ(path, "not set", value);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return orderOf(a.first) < orderOf(b.first); });
  std::vector<std::string> differences;
  for (auto& [name, text] : found) differences.push_back(std::move(text));
  return differences;
}

}  // namespace bloomery::train
