#include "base/Json.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/Error.h"
#include "base/JsonLimits.h"
#include "base/JsonValue.h"

namespace bloomery {
namespace {

std::string errorOf(const std::string& text, const std::function<void(JsonReader&)>& read) {
  try {
    Json json = parseJson(text, "network");
    JsonReader reader(json, "layer 'a'");
    read(reader);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(Json, parsesAndKeepsTheOrderOfKeys) {
  EXPECT_EQ(parseJson(R"({"z": 1, "a": [true, null, "x"]})", "network").dump(), R"({"z":1,"a":[true,null,"x"]})");
}

TEST(Json, refusesWhatIsNoJson) {
  struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"", "Not valid JSON: network, byte 1"},
      {"{", "Not valid JSON: network, byte 2"},
      {R"({"a": 1} x)", "Not valid JSON: network, byte 10"},
      {R"({"a": 1,})", "Not valid JSON: network, byte 9"},
      {"{'a': 1}", "Not valid JSON: network, byte 2"},
      {R"({"a": NaN})", "Not valid JSON: network, byte 7"},
      {"// comment\n{}", "Not valid JSON: network, byte 1"},
      {"\"\xff\"", "Not valid JSON: network, byte 2"},
      {"[1e999]", "Not valid JSON: network, a number is too large"},
  };
  for (const auto& one : cases) EXPECT_EQ(errorOf(one.text, [](JsonReader&) {}), one.error) << one.text;
}

TEST(Json, refusesWhatIsTooLargeOrTooDeepOrSaidTwice) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  auto keys = [](size_t count) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
    return text + "}";
  };
  struct {
    std::string text;
    const char* error;
  } cases[] = {
      {std::string(100'000'000, ' '), "JSON is too large: network, 100000000 bytes, at most 16777216"},
      {std::string(200'000, '['), "JSON is nested too deeply: network, at most 64 levels"},
      {nested(200'000), "JSON is nested too deeply: network, at most 64 levels"},
      {nested(65), "JSON is nested too deeply: network, at most 64 levels"},
      {nested(64), "Not a JSON object: layer 'a', found array"},
      {R"({"a": 1, "b": {"a": 2}, "a": 3})", "Key stands twice in one JSON object: a, network"},
      {R"({"a": 1, "b": {"a": 2}})", ""},
      {keys(kMaxJsonKeys + 1), "JSON object has too many keys: network, at most 20000"},
      {keys(kMaxJsonKeys), ""},
  };
  for (const auto& one : cases) EXPECT_EQ(errorOf(one.text, [](JsonReader&) {}), one.error) << one.text.substr(0, 99);
}

TEST(JsonReader, readsEveryType) {
  Json json = parseJson(R"({"text": "x", "number": 1.5, "whole": -3, "yes": true, "texts": ["a", "b"],
                            "wholes": [1, 2], "one": 4, "two": [5, 6], "any": {"b": 1}})",
                        "network");
  JsonReader reader(json, "layer 'a'");
  EXPECT_TRUE(reader.has("text"));
  EXPECT_FALSE(reader.has("nothing"));
  EXPECT_EQ(reader.text("text"), "x");
  EXPECT_EQ(reader.text("text", "y"), "x");
  EXPECT_EQ(reader.number("number"), 1.5);
  EXPECT_EQ(reader.number("whole"), -3.0);
  EXPECT_EQ(reader.integer("whole"), -3);
  EXPECT_EQ(reader.integer("whole", 7), -3);
  EXPECT_EQ(reader.boolean("yes", false), true);
  EXPECT_EQ(reader.texts("texts", {}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(reader.integers("wholes"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(reader.pair("one"), (std::pair<int64_t, int64_t>{4, 4}));
  EXPECT_EQ(reader.pair("two", {0, 0}), (std::pair<int64_t, int64_t>{5, 6}));
  EXPECT_EQ(reader.value("any").dump(), R"({"b":1})");
  EXPECT_EQ(reader.where(), "layer 'a'");
  EXPECT_NO_THROW(reader.finish());
}

TEST(JsonReader, missingAndNullMeanTheDefault) {
  for (const char* text : {"{}", R"({"a": null})"}) {
    Json json = parseJson(text, "network");
    JsonReader reader(json, "layer 'a'");
    EXPECT_EQ(reader.text("a", "x"), "x");
    EXPECT_EQ(reader.number("a", 2.5), 2.5);
    EXPECT_EQ(reader.integer("a", 9), 9);
    EXPECT_EQ(reader.boolean("a", true), true);
    EXPECT_EQ(reader.texts("a", {"y"}), std::vector<std::string>{"y"});
    EXPECT_EQ(reader.pair("a", {1, 2}), (std::pair<int64_t, int64_t>{1, 2}));
    EXPECT_NO_THROW(reader.finish());
  }
}

TEST(JsonReader, saysWhatIsWrongAndWhere) {
  using Reader = JsonReader;
  struct {
    const char* text;
    std::function<void(Reader&)> read;
    const char* error;
  } cases[] = {
      {"[]", [](Reader&) {}, "Not a JSON object: layer 'a', found array"},
      {"3", [](Reader&) {}, "Not a JSON object: layer 'a', found number"},
      {"{}", [](Reader& reader) { reader.text("k"); }, "Missing option: k, in layer 'a'"},
      {"{}", [](Reader& reader) { reader.integers("k"); }, "Missing option: k, in layer 'a'"},
      {R"({"k": null})", [](Reader& reader) { reader.number("k"); }, "Missing option: k, in layer 'a'"},
      {R"({"k": 1})", [](Reader& reader) { reader.text("k"); }, "Wrong value for k of layer 'a': 1, wanted a text"},
      {R"({"k": "1"})", [](Reader& reader) { reader.number("k", 2); },
       R"(Wrong value for k of layer 'a': "1", wanted a number)"},
      {R"({"k": true})", [](Reader& reader) { reader.number("k"); },
       "Wrong value for k of layer 'a': true, wanted a number"},
      {R"({"k": 1.0})", [](Reader& reader) { reader.integer("k"); },
       "Wrong value for k of layer 'a': 1.0, wanted a whole number"},
      {R"({"k": 9223372036854775808})", [](Reader& reader) { reader.integer("k"); },
       "Wrong value for k of layer 'a': 9223372036854775808, wanted a whole number below 2^63"},
      {R"({"k": -3.5e38})", [](Reader& reader) { reader.number("k"); },
       "Wrong value for k of layer 'a': -3.5e+38, wanted a number within float32"},
      {R"({"k": [1, 18446744073709551615]})", [](Reader& reader) { reader.integers("k"); },
       "Wrong value for k of layer 'a': [1,18446744073709551615], wanted whole numbers below 2^63"},
      {R"({"k": 18446744073709551615})", [](Reader& reader) { reader.pair("k"); },
       "Wrong value for k of layer 'a': 18446744073709551615, wanted a whole number below 2^63"},
      {R"({"k": 1})", [](Reader& reader) { reader.boolean("k", true); },
       "Wrong value for k of layer 'a': 1, wanted true or false"},
      {R"({"k": "a"})", [](Reader& reader) { reader.texts("k", {}); },
       R"(Wrong value for k of layer 'a': "a", wanted a list of texts)"},
      {R"({"k": ["a", 1]})", [](Reader& reader) { reader.texts("k", {}); },
       R"(Wrong value for k of layer 'a': ["a",1], wanted a list of texts)"},
      {R"({"k": 3})", [](Reader& reader) { reader.integers("k"); },
       "Wrong value for k of layer 'a': 3, wanted a list of whole numbers"},
      {R"({"k": [1, 2.5]})", [](Reader& reader) { reader.integers("k"); },
       "Wrong value for k of layer 'a': [1,2.5], wanted a list of whole numbers"},
      {R"({"k": [1, 2, 3]})", [](Reader& reader) { reader.pair("k"); },
       "Wrong value for k of layer 'a': [1,2,3], wanted a whole number or a pair of them"},
      {R"({"k": "1"})", [](Reader& reader) { reader.pair("k", {1, 1}); },
       R"(Wrong value for k of layer 'a': "1", wanted a whole number or a pair of them)"},
      {R"({"k": [1, "2"]})", [](Reader& reader) { reader.pair("k"); },
       R"(Wrong value for k of layer 'a': [1,"2"], wanted a list of whole numbers)"},
      {R"({"fliters": 1})", [](Reader& reader) { reader.integer("filters", 1), reader.finish(); },
       "Unknown option: fliters, nearest known: filters, in layer 'a'"},
      {R"({"zzz": 1})", [](Reader& reader) { reader.has("b"), reader.has("a"), reader.finish(); },
       "Unknown option: zzz, known: a, b, in layer 'a'"},
  };
  for (const auto& one : cases) EXPECT_EQ(errorOf(one.text, one.read), one.error) << one.text;
}

}  // namespace
}  // namespace bloomery
