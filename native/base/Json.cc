#include "base/Json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/Error.h"
#include "base/JsonLimits.h"
#include "base/JsonValue.h"
#include "base/Names.h"

namespace bloomery {

namespace {

bool isBeyondInt64(const Json& whole) {
  return whole.is_number_unsigned() && whole.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
}

}  // namespace

Json parseJson(const std::string& text, const std::string& what) {
  checkJsonLimits(text, what);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw UserError(message("Not valid JSON: ", what, ", byte ", error.byte));
  } catch (const Json::out_of_range&) {
    throw UserError(message("Not valid JSON: ", what, ", a number is too large"));
  }
}

JsonReader::JsonReader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (!object.is_object()) throw UserError(message("Not a JSON object: ", where_, ", found ", object.type_name()));
}

bool JsonReader::has(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const Json& JsonReader::value(const std::string& key) {
  if (!has(key)) throw UserError(message("Missing option: ", key, ", in ", where_));
  return object_.at(key);
}

void JsonReader::wrongType(const std::string& key, const std::string& wanted) const {
  throw UserError(message("Wrong value for ", key, " of ", where_, ": ", object_.at(key).dump(), ", wanted ", wanted));
}

std::string JsonReader::text(const std::string& key) {
  const Json& json = value(key);
  if (!json.is_string()) wrongType(key, "a text");
  return json.get<std::string>();
}

std::string JsonReader::text(const std::string& key, const std::string& byDefault) {
  return has(key) ? text(key) : byDefault;
}

double JsonReader::number(const std::string& key) {
  const Json& json = value(key);
  if (!json.is_number()) wrongType(key, "a number");
  double number = json.get<double>();
  // The engine computes in float32, in which anything beyond is infinite.
  if (!(std::abs(number) <= std::numeric_limits<float>::max())) wrongType(key, "a number within float32");
  return number;
}

double JsonReader::number(const std::string& key, double byDefault) { return has(key) ? number(key) : byDefault; }

int64_t JsonReader::integer(const std::string& key) {
  const Json& json = value(key);
  if (!json.is_number_integer()) wrongType(key, "a whole number");
  if (isBeyondInt64(json)) wrongType(key, "a whole number below 2^63");
  return json.get<int64_t>();
}

int64_t JsonReader::integer(const std::string& key, int64_t byDefault) { return has(key) ? integer(key) : byDefault; }

bool JsonReader::boolean(const std::string& key, bool byDefault) {
  if (!has(key)) return byDefault;
  const Json& json = object_.at(key);
  if (!json.is_boolean()) wrongType(key, "true or false");
  return json.get<bool>();
}

std::vector<std::string> JsonReader::texts(const std::string& key, const std::vector<std::string>& byDefault) {
  if (!has(key)) return byDefault;
  const Json& json = object_.at(key);
  if (!json.is_array()) wrongType(key, "a list of texts");
  std::vector<std::string> result;
  for (const Json& element : json) {
    if (!element.is_string()) wrongType(key, "a list of texts");
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::vector<int64_t> JsonReader::integers(const std::string& key) {
  const Json& json = value(key);
  if (!json.is_array()) wrongType(key, "a list of whole numbers");
  std::vector<int64_t> result;
  for (const Json& element : json) {
    if (!element.is_number_integer()) wrongType(key, "a list of whole numbers");
    if (isBeyondInt64(element)) wrongType(key, "whole numbers below 2^63");
    result.push_back(element.get<int64_t>());
  }
  return result;
}

std::pair<int64_t, int64_t> JsonReader::pair(const std::string& key) {
  const Json& json = value(key);
  if (json.is_number_integer()) return {integer(key), integer(key)};
  if (!json.is_array() || json.size() != 2) wrongType(key, "a whole number or a pair of them");
  std::vector<int64_t> both = integers(key);
  return {both[0], both[1]};
}

std::pair<int64_t, int64_t> JsonReader::pair(const std::string& key, std::pair<int64_t, int64_t> byDefault) {
  return has(key) ? pair(key) : byDefault;
}

void JsonReader::finish() const {
  for (const auto& item : object_.items()) {
    if (std::find(known_.begin(), known_.end(), item.key()) == known_.end()) {
      throw UserError(message(unknownName("option", item.key(), known_), ", in ", where_));
    }
  }
}

}  // namespace bloomery
