#include "base/JsonLimits.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "base/Error.h"

namespace bloomery {

namespace {

using Plain = nlohmann::json;

// Sees the text go by and keeps only the keys of the objects that are open.
class LimitChecker final : public nlohmann::json_sax<Plain> {
 public:
  explicit LimitChecker(const std::string& what) : what_(what) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    std::unordered_set<std::string>& keys = open_.back();
    if (keys.size() == kMaxJsonKeys) {
      throw UserError(message("JSON object has too many keys: ", what_, ", at most ", kMaxJsonKeys));
    }
    if (!keys.insert(name).second) throw UserError(message("Key stands twice in one JSON object: ", name, ", ", what_));
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool enter() {
    if (open_.size() == kMaxJsonDepth) {
      throw UserError(message("JSON is nested too deeply: ", what_, ", at most ", kMaxJsonDepth, " levels"));
    }
    open_.emplace_back();
    return true;
  }
  bool leave() {
    open_.pop_back();
    return true;
  }

  const std::string& what_;
  std::vector<std::unordered_set<std::string>> open_;
};

}  // namespace

void checkJsonLimits(const std::string& text, const std::string& what) {
  if (text.size() > kMaxJsonBytes) {
    throw UserError(message("JSON is too large: ", what, ", ", text.size(), " bytes, at most ", kMaxJsonBytes));
  }
  LimitChecker checker(what);
  Plain::sax_parse(text, &checker);
}

}  // namespace bloomery
