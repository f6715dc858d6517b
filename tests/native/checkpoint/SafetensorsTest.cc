#include "checkpoint/Safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/Error.h"
#include "base/JsonMutator.h"
#include "base/Random.h"

namespace bloomery::checkpoint {
namespace {

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

ArenaLayout smallLayout() {
  ArenaLayout layout;
  layout.add("dense/kernel", {3, 2});
  layout.add("dense/bias", {2});
  return layout;
}

// The values of fixtures/make.py.
Arena smallValues(const ArenaLayout& layout) {
  Arena values(layout);
  for (int i = 0; i < 6; ++i) values.view(layout.slices()[0]).data[i] = static_cast<float>(i) / 4;
  values.view(layout.slices()[1]).data[0] = -1.5f;
  values.view(layout.slices()[1]).data[1] = 2.5f;
  return values;
}

std::string readFixture(const std::string& name) {
  std::ifstream in(std::string(BLOOMERY_FIXTURE_DIRECTORY) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string fileOf(const std::string& header, const std::string& data = std::string(32, '\0')) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + data;
}

// Zeros for both tensors, and this as the last value.
std::string dataWith(float last) {
  return std::string(28, '\0') + std::string(reinterpret_cast<const char*>(&last), sizeof(last));
}

std::string errorOf(const std::string& file, const ArenaLayout& layout) {
  Arena values(layout);
  try {
    readSafetensors(bytesOf(file), layout, values);
    return "";
  } catch (const UserError& error) {
    for (float value : values.all()) EXPECT_EQ(value, 0.0f) << "changed although: " << error.what();
    return error.what();
  }
}

TEST(Safetensors, readsWhatItWrote) {
  ArenaLayout layout;
  layout.add("conv2d/kernel", {3, 3, 1, 32});
  layout.add("conv2d/bias", {32});
  layout.add("schräg \"quoted\" \\ name", {7});
  layout.add("scalar", Shape());
  layout.add("dense/kernel", {100, 10});
  Arena values(layout);
  for (const Slice& slice : layout.slices()) {
    for (size_t i = 0; i < slice.size; ++i) {
      values.view(slice).data[i] = uniformFloat(philox(slice.offset, i, 0)[0]);
    }
  }
  std::string file = writeSafetensors(layout, values, {{"format", "bloomery"}, {"empty", ""}});
  Arena read(layout);
  readSafetensors(bytesOf(file), layout, read);
  EXPECT_EQ(std::memcmp(read.all().data(), values.all().data(), values.all().size_bytes()), 0);
}

TEST(Safetensors, dataBeginsAtAMultipleOfEight) {
  for (size_t length = 1; length < 20; ++length) {
    ArenaLayout layout;
    layout.add(std::string(length, 'a'), {1});
    std::string file = writeSafetensors(layout, Arena(layout), {});
    uint64_t headerBytes = 0;
    std::memcpy(&headerBytes, file.data(), sizeof(headerBytes));
    EXPECT_EQ(headerBytes % 8, 0u);
    EXPECT_EQ(file.size(), 8 + headerBytes + 4);
  }
}

TEST(Safetensors, readsWhatPythonWrote) {
  ArenaLayout layout = smallLayout();
  Arena values(layout), wanted = smallValues(layout);
  readSafetensors(bytesOf(readFixture("python.safetensors")), layout, values);
  EXPECT_EQ(std::memcmp(values.all().data(), wanted.all().data(), wanted.all().size_bytes()), 0);
}

// Python has read this very file: fixtures/make.py.
TEST(Safetensors, writesWhatPythonReads) {
  ArenaLayout layout = smallLayout();
  std::string file = writeSafetensors(layout, smallValues(layout), {{"format", "bloomery"}, {"writer", "engine"}});
  EXPECT_EQ(file, readFixture("engine.safetensors"));
}

TEST(Safetensors, saysWhatIsWrong) {
  const std::string kernel = R"("dense/kernel":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]})";
  const std::string bias = R"("dense/bias":{"dtype":"F32","shape":[2],"data_offsets":[24,32]})";
  auto biasWith = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"("dense/bias":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  auto both = [&](const std::string& second) { return fileOf("{" + kernel + "," + second + "}"); };
  std::string longHeader = fileOf("{}");
  longHeader[6] = 1;
  struct {
    const char* what;
    std::string file;
    std::string text;
  } cases[] = {
      {"nothing at all", "", "Not safetensors: 0 bytes, wanted at least 8"},
      {"length cut", "abc", "Not safetensors: 3 bytes, wanted at least 8"},
      {"header too long", longHeader, "Not safetensors: header of 281474976710658 bytes, at most 100000000"},
      {"header cut", fileOf("{" + kernel + "," + bias + "}").substr(0, 50),
       "Safetensors are truncated: header of 132 bytes, found 42"},
      {"data cut", both(bias).substr(0, both(bias).size() - 1),
       "Safetensors are truncated: tensor 'dense/bias' ends at byte 32, found 31"},
      {"not JSON", fileOf("{]"), "Not valid JSON: safetensors header, byte 2"},
      {"a zip file", "PK\3\4" + std::string(1000, '\0'), "Not safetensors: the header is not a JSON object"},
      {"not an object", fileOf("[]"), "Not safetensors: the header is not a JSON object"},
      {"tensor not an object", fileOf(R"({"dense/bias":3})"), "Not a JSON object: tensor 'dense/bias', found number"},
      {"missing tensor", fileOf("{" + kernel + "}", std::string(24, '\0')), "Missing tensor: dense/bias"},
      {"no tensor", fileOf("{}", ""), "Missing tensor: dense/kernel"},
      {"unknown tensor", both(R"("dense/biass":{"dtype":"F32","shape":[2],"data_offsets":[24,32]})"),
       "Unknown tensor: dense/biass, nearest known: dense/bias"},
      {"wrong shape", both(biasWith("F32", "[1,2]", "[24,32]")),
       "Wrong shape of tensor 'dense/bias': (1, 2), wanted (2,)"},
      {"huge shape", both(biasWith("F32", "[4611686018427387904,4,2]", "[24,32]")),
       "Wrong shape of tensor 'dense/bias': (4611686018427387904, 4, 2), wanted (2,)"},
      {"wrong type", both(biasWith("F64", "[2]", "[24,32]")), "Wrong type of tensor 'dense/bias': F64, wanted F32"},
      {"offsets too near", fileOf("{" + kernel + "," + biasWith("F32", "[2]", "[24,28]") + "}", std::string(28, '\0')),
       "Wrong size of tensor 'dense/bias': 4 bytes, wanted 8"},
      {"offsets backwards", both(biasWith("F32", "[2]", "[32,24]")), "Wrong data_offsets of tensor 'dense/bias'"},
      {"offsets negative", both(biasWith("F32", "[2]", "[-8,0]")), "Wrong data_offsets of tensor 'dense/bias'"},
      {"offsets beyond 2^63", both(biasWith("F32", "[2]", "[18446744073709551608,18446744073709551615]")),
       "Wrong value for data_offsets of tensor 'dense/bias': [18446744073709551608,18446744073709551615], wanted whole "
       "numbers below 2^63"},
      {"three offsets", both(biasWith("F32", "[2]", "[24,32,40]")), "Wrong data_offsets of tensor 'dense/bias'"},
      {"offsets of texts", both(biasWith("F32", "[2]", R"(["24","32"])")),
       R"(Wrong value for data_offsets of tensor 'dense/bias': ["24","32"], wanted a list of whole numbers)"},
      {"overlap", both(biasWith("F32", "[2]", "[16,24]")),
       "Tensors overlap: tensor 'dense/bias' begins at byte 16, the one before ends at 24"},
      {"gap", fileOf("{" + kernel + "," + biasWith("F32", "[2]", "[28,36]") + "}", std::string(36, '\0')),
       "Data without a tensor: tensor 'dense/bias' begins at byte 28, the one before ends at 24"},
      {"more data", both(bias) + "12345", "Data without a tensor: 5 bytes at the end"},
      {"unknown key", both(R"("dense/bias":{"dtype":"F32","shape":[2],"data_offsets":[24,32],"more":1})"),
       "Unknown option: more, known: data_offsets, dtype, shape, in tensor 'dense/bias'"},
      {"no type", both(R"("dense/bias":{"shape":[2],"data_offsets":[24,32]})"),
       "Missing option: dtype, in tensor 'dense/bias'"},
      {"metadata not texts", both(bias + R"(,"__metadata__":{"epoch":3})"),
       "Wrong __metadata__ of safetensors: wanted texts"},
      {"a tensor twice", both(bias + "," + bias),
       "Key stands twice in one JSON object: dense/bias, safetensors header"},
      {"not a number", fileOf("{" + kernel + "," + bias + "}", dataWith(NAN)),
       "Weight is not finite: nan, element 1 of tensor 'dense/bias'"},
      {"infinite", fileOf("{" + kernel + "," + bias + "}", dataWith(-INFINITY)),
       "Weight is not finite: -inf, element 1 of tensor 'dense/bias'"},
      {"metadata a list", both(bias + R"(,"__metadata__":[])"), "Wrong __metadata__ of safetensors: wanted texts"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(errorOf(one.file, smallLayout()), one.text) << one.what;
  }
}

TEST(Safetensors, matchingTensorsAreTakenAndTheOthersNamed) {
  ArenaLayout layout = smallLayout(), wider = smallLayout(), other, none;
  wider.add("head/kernel", {4});
  other.add("head/kernel", {4});
  std::string file = writeSafetensors(layout, smallValues(layout), {});
  Arena values(wider), others(other), nothing(none);
  EXPECT_EQ(readMatching(bytesOf(file), wider, values), std::vector<std::string>{"head/kernel"});
  EXPECT_EQ(values.view(wider.slices()[1]).data[1], 2.5f);
  EXPECT_THROW(readMatching(bytesOf(file), other, others), UserError);
  EXPECT_TRUE(readMatching(bytesOf(writeSafetensors(none, nothing, {})), none, nothing).empty());
}

TEST(Safetensors, orderOfTensorsAndMetadataDoNotMatter) {
  std::string header = R"({"dense/bias":{"shape":[2],"data_offsets":[0,8],"dtype":"F32"},"__metadata__":{},)"
                       R"("dense/kernel":{"dtype":"F32","shape":[3,2],"data_offsets":[8,32]}}   )";
  EXPECT_EQ(errorOf(fileOf(header), smallLayout()), "");
}

TEST(Safetensors, survivesTruncationAtEveryByte) {
  std::string file = readFixture("python.safetensors");
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_NE(errorOf(file.substr(0, length), smallLayout()), "") << length;
  }
}

// Headers that are nearly right, lengths that lie, data of another length or with other bytes.
struct State {
  ArenaLayout layout = smallLayout();
  Arena weights = smallValues(layout), mean = smallValues(layout);

  std::vector<TensorPart> parts() { return {{"", weights.all()}, {"optimizer:mean/", mean.all()}}; }
};

TEST(Safetensors, severalPartsComeBackEachUnderItsPrefix) {
  State from, to;
  from.mean.all()[0] = INFINITY;  // an optimizer may
  std::string file = "used before";
  writeSafetensors(from.layout, from.parts(), {{"state", "{}"}}, file);
  to.weights.clear();
  to.mean.clear();
  readSafetensors(bytesOf(file), to.layout, to.parts());
  EXPECT_TRUE(std::ranges::equal(to.weights.all(), from.weights.all()));
  EXPECT_TRUE(std::ranges::equal(to.mean.all(), from.mean.all()));
  EXPECT_EQ(readMetadata(bytesOf(file), "state"), "{}");
}

TEST(Safetensors, weightsAreReadOutOfAState) {
  State state;
  std::string file;
  writeSafetensors(state.layout, state.parts(), {}, file);
  Arena weights(state.layout);
  readSafetensors(bytesOf(file), state.layout, weights);
  EXPECT_TRUE(std::ranges::equal(weights.all(), state.weights.all()));
  std::string onlyWeights = writeSafetensors(state.layout, state.weights, {});
  try {
    readSafetensors(bytesOf(onlyWeights), state.layout, state.parts());
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "Missing tensor: optimizer:mean/dense/kernel");
  }
}

TEST(Safetensors, spoiledFilesAreUserErrorsOrRead) {
  const std::string file = readFixture("engine.safetensors");
  const std::string data = file.substr(file.size() - 32);
  const Json header = Json::parse(file.substr(8, file.size() - 40));
  int accepted = 0;
  for (uint64_t round = 0; round < 4000; ++round) {
    JsonMutator mutator(round);
    std::string text = mutator.below(4) == 0 ? header.dump() : mutator.mutated(header);
    std::string spoiled = fileOf(text, data);
    if (mutator.below(4) == 0) spoiled[mutator.below(8)] = static_cast<char>(mutator.below(256));
    if (mutator.below(4) == 0) spoiled[spoiled.size() - 1 - mutator.below(32)] = static_cast<char>(mutator.below(256));
    if (mutator.below(8) == 0) spoiled.resize(mutator.below(2 * spoiled.size()));
    if (errorOf(spoiled, smallLayout()).empty()) ++accepted;  // anything but a UserError or success fails the test
  }
  EXPECT_GT(accepted, 40);
  EXPECT_LT(accepted, 2000);
}

}  // namespace
}  // namespace bloomery::checkpoint
