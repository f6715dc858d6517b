// JSON as headers need it: the name of its type, and JsonReader, which reads an object strictly: a key that nobody
// asked for, a missing one or one of the wrong type is a UserError that names the place ("layer 'conv2d'") and the key.
// Whoever makes JSON or looks into it includes base/JsonValue.h, which is slow to compile and so belongs into .cc files
// only.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace bloomery {

using Json = nlohmann::ordered_json;

// Parses a text; `what` names it in the error ("network").
Json parseJson(const std::string& text, const std::string& what);

// Borrows the object: it must outlive the reader.
class JsonReader {
 public:
  JsonReader(const Json& object, std::string where);

  bool has(const std::string& key);
  const Json& value(const std::string& key);  // required
  std::string text(const std::string& key);
  std::string text(const std::string& key, const std::string& byDefault);
  double number(const std::string& key);
  double number(const std::string& key, double byDefault);
  int64_t integer(const std::string& key);
  int64_t integer(const std::string& key, int64_t byDefault);
  bool boolean(const std::string& key, bool byDefault);
  std::vector<std::string> texts(const std::string& key, const std::vector<std::string>& byDefault);
  std::vector<int64_t> integers(const std::string& key);
  // A number n stands for the pair (n, n).
  std::pair<int64_t, int64_t> pair(const std::string& key);
  std::pair<int64_t, int64_t> pair(const std::string& key, std::pair<int64_t, int64_t> byDefault);

  // Call after the last read: refuses every key that was not asked for.
  void finish() const;
  const std::string& where() const { return where_; }

 private:
  [[noreturn]] void wrongType(const std::string& key, const std::string& wanted) const;

  const Json& object_;
  std::string where_;
  std::vector<std::string> known_;
};

}  // namespace bloomery
