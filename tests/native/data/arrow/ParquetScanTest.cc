#include "data/arrow/ParquetScan.h"

#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/TemporaryFolder.h"
#include "data/LocalFile.h"
#include "data/arrow/ArrowIngest.h"
#include "data/arrow/ArrowStructs.h"
#include "data/arrow/Batches.h"
#include "data/arrow/MemorySource.h"
#include "data/arrow/ParquetFile.h"
#include "data/arrow/ParquetWriter.h"
#include "data/arrow/RecyclingPool.h"

namespace bloomery::data {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t kMebibyte = 1 << 20;
const auto kFloats = arrow::list(arrow::float32());
const auto kWords = arrow::dictionary(arrow::int32(), arrow::utf8());

std::shared_ptr<arrow::Schema> twoColumns() {
  return arrow::schema({arrow::field("x", kFloats), arrow::field("y", arrow::int32())});
}

// Rows from `first` on: features (i, -i), label i % 10; a column that nobody wants between them.
std::shared_ptr<arrow::RecordBatch> numbered(int first, int count) {
  std::string x, y, other;
  for (int i = first; i < first + count; ++i) {
    const char* comma = i == first ? "" : ", ";
    x += message(comma, "[", i, ", ", -i, "]");
    y += message(comma, i % 10);
    other += message(comma, i);
  }
  return batchOf({{"x", kFloats, message("[", x, "]")},
                  {"other", arrow::int64(), message("[", other, "]")},
                  {"y", arrow::int32(), message("[", y, "]")}});
}

std::string fileOf(const std::shared_ptr<arrow::RecordBatch>& batch, const WriterOptions& options = {}) {
  TemporaryFolder folder;
  writeParquet(folder / "a.parquet", batch, options);
  return folder.read("a.parquet");
}

struct Scan {
  explicit Scan(int threads = 1, const std::shared_ptr<arrow::Schema>& files = twoColumns(),
                const std::shared_ptr<arrow::Schema>& constants = nullptr, int64_t readBytes = 64 * kMebibyte)
      : schema(files) {
    Exported<ArrowSchema> exported, exportedConstants;
    EXPECT_TRUE(arrow::ExportSchema(*files, &exported.value).ok());
    if (constants != nullptr) {
      EXPECT_TRUE(arrow::ExportSchema(*constants, &exportedConstants.value).ok());
      auto fields = files->fields();
      for (const auto& field : constants->fields()) fields.push_back(field);
      schema = arrow::schema(fields);
    }
    scan.emplace(&exported.value, constants == nullptr ? nullptr : &exportedConstants.value, threads, readBytes);
  }

  std::shared_ptr<MemorySource> add(const std::string& name, const std::string& bytes, int index,
                                    std::vector<int> groups) {
    auto source = std::make_shared<MemorySource>(name, bytes);
    scan->add(source, index, groups, nullptr);
    return source;
  }

  // The next batch, nullptr at the end.
  std::shared_ptr<arrow::RecordBatch> next() {
    void* array = scan->next(seconds(20));
    if (array == nullptr) {
      EXPECT_TRUE(scan->ended());
      return nullptr;
    }
    return arrow::ImportRecordBatch(static_cast<ArrowArray*>(array), schema).ValueOrDie();
  }

  // First features of all rows, after checking each row's number in its file.
  std::vector<int> rest() {
    std::vector<int> found;
    while (auto batch = next()) {
      EXPECT_EQ(batch->num_rows(), scan->numRows());
      const auto& lists = static_cast<const arrow::ListArray&>(*batch->column(0));
      const auto& values = static_cast<const arrow::FloatArray&>(*lists.values());
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        found.push_back(static_cast<int>(values.Value(lists.value_offset(row))));
        EXPECT_EQ(found.back() - 1000 * scan->file(), scan->firstRow() + row);
      }
    }
    return found;
  }

  std::shared_ptr<arrow::Schema> schema;
  std::optional<ParquetScan> scan;
};

std::vector<int> range(int first, int count) {
  std::vector<int> numbers(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = first + i;
  return numbers;
}

// The row groups of 10 rows of a file with rows from 1000 * index on.
std::vector<int> rowsOf(int index, const std::vector<int>& groups) {
  std::vector<int> rows;
  for (int group : groups) {
    for (int row : range(1000 * index + 10 * group, 10)) rows.push_back(row);
  }
  return rows;
}

TEST(ParquetScan, chosenRowGroupsComeInOrderWithTheirPlaceWhateverTheThreads) {
  std::vector<int> expected;
  for (int index = 0; index < 5; ++index) {
    auto rows = rowsOf(index, {0, 2, 3, 7});
    expected.insert(expected.end(), rows.begin(), rows.end());
  }
  for (int threads : {1, 2, 5}) {
    Scan scan(threads);
    for (int index = 0; index < 5; ++index) {
      scan.add("file", fileOf(numbered(1000 * index, 80), {.rowsPerGroup = 10}), index, {0, 2, 3, 7});
    }
    scan.scan->finish();
    EXPECT_EQ(scan.rest(), expected) << threads;
    EXPECT_EQ(scan.scan->numFilesDone(), 5);
  }
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

TEST(ParquetScan, filesMayBeAddedWhileOthersAreRead) {
  Scan scan(2);
  EXPECT_EQ(scan.scan->next(milliseconds(1)), nullptr);
  EXPECT_FALSE(scan.scan->ended());
  std::vector<int> found;
  for (int index = 0; index < 4; ++index) {
    scan.add("file", fileOf(numbered(1000 * index, 10)), index, {0});
    EXPECT_EQ(scan.next()->num_rows(), 10);
    EXPECT_EQ(scan.scan->file(), index);
  }
  scan.scan->finish();
  EXPECT_EQ(scan.next(), nullptr);
  EXPECT_EQ(scan.scan->numFilesDone(), 4);
}

TEST(ParquetScan, theLastFileMayGetMoreRowGroupsAndIsOpenedOnce) {
  Scan scan;
  auto source = std::make_shared<MemorySource>("a", fileOf(numbered(0, 50), {.rowsPerGroup = 10}));
  std::atomic<int> footers{0};  // of so short a file it is read with all that is before
  source->onRead = [&](int64_t position) { footers += position == 0 ? 1 : 0; };
  scan.scan->add(source, 0, {0}, nullptr);
  auto expectRows = [&](int first) {
    ASSERT_NE(scan.next(), nullptr);
    EXPECT_EQ(scan.scan->firstRow(), first);
    EXPECT_EQ(scan.scan->next(milliseconds(1)), nullptr);
    EXPECT_TRUE(scan.scan->isEmpty());
    EXPECT_FALSE(scan.scan->ended());
    EXPECT_EQ(scan.scan->numFilesDone(), 0);
  };
  expectRows(0);
  for (int group : {1, 3}) {
    scan.scan->addMore({group});
    expectRows(10 * group);
  }
  EXPECT_EQ(footers, 1);
  scan.add("b", fileOf(numbered(1000, 10)), 1, {0});
  EXPECT_EQ(scan.scan->numFilesDone(), 1);
  scan.scan->finish();
  EXPECT_EQ(scan.rest(), rowsOf(1, {0}));
  EXPECT_EQ(scan.scan->numFilesDone(), 2);
  EXPECT_THROW(scan.scan->addMore({0}), InternalError);
}

TEST(ParquetScan, itsThreadsArePreparedOnceForAllReads) {
  auto source = std::make_shared<MemorySource>("a", fileOf(numbered(0, 40), {.rowsPerGroup = 10}));
  source->onRead = [&](int64_t) { EXPECT_EQ(*source->prepared, 1); };
  {
    Scan scan;
    scan.scan->add(source, 0, {0, 1, 2, 3}, nullptr);
    scan.scan->finish();
    EXPECT_EQ(scan.rest(), range(0, 40));
    EXPECT_EQ(*source->prepared, 1);
  }
  EXPECT_EQ(*source->prepared, 0);
}

TEST(ParquetScan, aScanOfNoFilesEndsAtOnce) {
  Scan scan;
  scan.scan->finish();
  EXPECT_EQ(scan.next(), nullptr);
}

TEST(ParquetScan, constantsFollowTheColumnsOfTheFile) {
  auto constants = arrow::schema({arrow::field("day", arrow::int32()), arrow::field("test", arrow::boolean()),
                                  arrow::field("word", arrow::utf8())});
  Scan scan(2, twoColumns(), constants);
  for (int index = 0; index < 3; ++index) {
    auto values = batchOf({{"day", arrow::int32(), index == 2 ? "[null]" : message("[", index + 20, "]")},
                           {"test", arrow::boolean(), index == 1 ? "[true]" : "[false]"},
                           {"word", arrow::utf8(), message(R"(["w)", index, R"("])")}});
    Exported<ArrowArray> exported;
    ASSERT_TRUE(arrow::ExportRecordBatch(*values, &exported.value).ok());
    values.reset();
    scan.scan->add(std::make_shared<MemorySource>("file", fileOf(numbered(0, 3))), index, {0}, &exported.value);
    EXPECT_EQ(exported.value.release, nullptr);
  }
  scan.scan->finish();
  for (int index = 0; index < 3; ++index) {
    auto batch = scan.next();
    auto expected = [&](const char* json, const std::shared_ptr<arrow::DataType>& type) {
      return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
    };
    EXPECT_TRUE(batch->column(2)->Equals(expected(index == 0   ? "[20, 20, 20]"
                                                  : index == 1 ? "[21, 21, 21]"
                                                               : "[null, null, null]",
                                                  arrow::int32())));
    EXPECT_TRUE(batch->column(3)->Equals(
        expected(index == 1 ? "[true, true, true]" : "[false, false, false]", arrow::boolean())));
    std::string word = message(R"("w)", index, R"(")");
    EXPECT_TRUE(
        batch->column(4)->Equals(expected(message("[", word, ", ", word, ", ", word, "]").c_str(), arrow::utf8())));
  }
}

TEST(ParquetScan, everyTypeOfOneMeaningBecomesTheOneThatIsWanted) {
  auto f32 = arrow::float32();
  auto micros = arrow::timestamp(arrow::TimeUnit::MICRO);
  auto image = arrow::struct_({arrow::field("height", arrow::int32()), arrow::field("data", arrow::binary())});
  struct Case {
    std::shared_ptr<arrow::DataType> written, wanted;
    std::string json, becomes = {};
  };
  for (const Case& one : std::vector<Case>{
           {arrow::list(f32), kFloats, "[[1, 2], null, [3, 4]]"},
           {arrow::large_list(f32), kFloats, "[[1, 2], null, [], [3, 4]]"},
           {arrow::fixed_size_list(f32, 2), kFloats, "[[1, 2], [3, 4], [5, 6]]"},
           {arrow::binary(), arrow::binary(), R"(["ab", null, ""])"},
           {arrow::large_binary(), arrow::binary(), R"(["ab", null, "", "cde"])"},
           {arrow::fixed_size_binary(2), arrow::binary(), R"(["ab", null, "cd"])"},
           {arrow::int8(), arrow::int8(), "[1, null, -3]"},
           {arrow::boolean(), arrow::boolean(), "[true, null, false]"},
           {arrow::float64(), arrow::float64(), "[1.5, null]"},
           {arrow::list(arrow::list(f32)), arrow::list(kFloats), "[[[1, 2], [3]], null, [], [[4]]]"},
           {arrow::large_list(arrow::fixed_size_list(f32, 2)), arrow::list(kFloats),
            "[[[1, 2], [3, 4]], null, [[5, 6]]]"},
           {arrow::list(arrow::boolean()), arrow::list(arrow::uint8()), "[[true, false], null, [null]]",
            "[[1, 0], null, [null]]"},
           {arrow::utf8(), arrow::utf8(), R"(["ab", null, ""])"},
           {arrow::large_utf8(), arrow::utf8(), R"(["ab", null, "", "cde"])"},
           {arrow::dictionary(arrow::int8(), arrow::utf8()), arrow::utf8(), R"(["ab", null, "ab", "c"])"},
           {arrow::utf8(), kWords, R"(["ab", null, "ab", "c"])"},
           {arrow::dictionary(arrow::int8(), arrow::utf8()), kWords, R"(["ab", null, "ab", "c"])"},
           {arrow::list(arrow::utf8()), arrow::list(kWords), R"([["a", "b"], null, [], ["b", null]])"},
           {arrow::large_list(arrow::large_utf8()), arrow::list(arrow::utf8()),
            R"([["a", "b"], null, [], ["b", null]])"},
           {arrow::date32(), arrow::date32(), "[-1, null, 20000]"},
           {micros, micros, "[-1, null, 1700000000000001]"},
           {arrow::timestamp(arrow::TimeUnit::MICRO, "Europe/Berlin"), micros, "[-1, null, 1700000000000001]"},
           {arrow::timestamp(arrow::TimeUnit::MILLI, "UTC"), micros, "[-1, null, 1700000000001]",
            "[-1000, null, 1700000000001000]"},
           {arrow::list(arrow::timestamp(arrow::TimeUnit::MILLI)), arrow::list(micros), "[[1, null]]",
            "[[1000, null]]"},
           {arrow::duration(arrow::TimeUnit::MICRO), arrow::int64(), "[1, null]"},
           {arrow::decimal128(9, 2), arrow::float64(), R"(["1.25", null, "-0.10"])", "[1.25, null, -0.1]"},
           {arrow::decimal128(38, 20), arrow::float64(),
            R"(["0.30000000000000000001", "123456789012345678.10000000000000000000"])", "[0.3, 123456789012345678.1]"},
           {arrow::list(arrow::decimal128(18, 4)), arrow::list(arrow::float64()), R"([["0.0001", null]])",
            "[[0.0001, null]]"},
           {arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("height", arrow::int32())}),
            image, R"([{"data": "ab", "height": 3}, null])", R"([{"height": 3, "data": "ab"}, null])"},
       }) {
    SCOPED_TRACE(one.written->ToString());
    Scan scan(1, arrow::schema({arrow::field("x", one.wanted)}));
    scan.add("file", fileOf(batchOf({{"x", one.written, one.json}})), 0, {0});
    scan.scan->finish();
    auto expected =
        arrow::json::ArrayFromJSONString(one.wanted, one.becomes.empty() ? one.json : one.becomes).ValueOrDie();
    auto found = scan.next();
    ASSERT_TRUE(found->ValidateFull().ok());
    EXPECT_TRUE(found->column(0)->Equals(*expected)) << found->column(0)->ToString();
  }
}

TEST(ParquetScan, aTimestampThatIsTooFarAwayIsNamed) {
  Scan scan(1, arrow::schema({arrow::field("t", arrow::timestamp(arrow::TimeUnit::MICRO))}));
  scan.add("far", fileOf(batchOf({{"t", arrow::timestamp(arrow::TimeUnit::MILLI), "[1, 9223372036854775807]"}})), 0,
           {0});
  try {
    scan.next();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "Column cannot be read: A timestamp is out of range, column 't', file far");
  }
}

TEST(ParquetScan, textsStayInTheirDictionaryOverAllBatchesOfAGroup) {
  std::string words;
  for (int i = 0; i < 150'000; ++i) words += message(i == 0 ? "[" : ", ", R"(["w)", i % 7, R"(", "w)", i % 11, R"("])");
  Scan scan(2, arrow::schema({arrow::field("x", arrow::list(kWords))}));
  scan.add("file", fileOf(batchOf({{"x", arrow::list(arrow::utf8()), message(words, "]")}}), {.rowsPerGroup = 100'000}),
           0, {0, 1});
  scan.scan->finish();
  int64_t row = 0;
  while (auto batch = scan.next()) {
    const auto& lists = static_cast<const arrow::ListArray&>(*batch->column(0));
    const auto& places = static_cast<const arrow::DictionaryArray&>(*lists.values());
    const auto& found = static_cast<const arrow::StringArray&>(*places.dictionary());
    ASSERT_LE(found.length(), 11);
    for (int64_t i = 0; i < batch->num_rows(); ++i, ++row) {
      int64_t first = lists.value_offset(i);
      ASSERT_EQ(found.GetView(places.GetValueIndex(first)), message("w", row % 7));
      ASSERT_EQ(found.GetView(places.GetValueIndex(first + 1)), message("w", row % 11));
    }
  }
  EXPECT_EQ(row, 150'000);
}

TEST(ParquetScan, aFileOfAnotherSchemaIsNamed) {
  struct Case {
    std::shared_ptr<arrow::DataType> x;
    std::string json, error;
  };
  for (const Case& one : std::vector<Case>{
           {arrow::list(arrow::float64()), "[[1, 2]]",
            "Wrong type of column 'x': list<element: double>, wanted list<item: float>, file bad"},
           {arrow::list(arrow::int16()), "[[1, 2]]",
            "Wrong type of column 'x': list<element: int16>, wanted list<item: float>, file bad"},
           {arrow::utf8(), R"(["?"])", "Wrong type of column 'x': string, wanted list<item: float>, file bad"},
       }) {
    Scan scan(2);
    scan.add("good", fileOf(numbered(0, 10)), 0, {0});
    scan.add("bad", fileOf(batchOf({{"x", one.x, one.json}, {"y", arrow::int32(), "[1]"}})), 1, {0});
    scan.scan->finish();
    EXPECT_EQ(scan.next()->num_rows(), 10);
    try {
      scan.next();
      FAIL();
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()), one.error);
    }
  }
  Scan scan;
  scan.add("bad", fileOf(batchOf({{"x", kFloats, "[[1, 2]]"}, {"yy", arrow::int32(), "[1]"}})), 1, {0});
  EXPECT_THROW(scan.next(), UserError);
}

TEST(ParquetScan, aRowGroupThatIsNotThereIsAChangedFile) {
  Scan scan;
  scan.add("shorter", fileOf(numbered(0, 10)), 0, {0, 1});
  EXPECT_EQ(scan.next()->num_rows(), 10);
  try {
    scan.next();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "File has changed: no row group 1 of 1, file shorter");
  }
}

TEST(ParquetScan, whatASourceThrowsComesOutInItsPlaceAndAsItIs) {
  struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  for (int readThatFails : {1, 2, 3}) {
    Scan scan(3);
    scan.add("good", fileOf(numbered(0, 10)), 0, {0});
    auto bad = std::make_shared<MemorySource>("bad", fileOf(numbered(1000, 10)));
    bad->onRead = [&, source = bad.get()](int64_t) {
      if (source->reads == readThatFails) throw Broken("line is down");
    };
    scan.scan->add(bad, 1, {0}, nullptr);
    scan.scan->finish();
    EXPECT_EQ(scan.next()->num_rows(), 10);
    if (readThatFails > 1 && bad->reads < readThatFails) break;
    EXPECT_THROW(scan.next(), Broken) << readThatFails;
  }
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

TEST(ParquetScan, columnsThatLieTogetherAreReadAtOnce) {
  constexpr int kGroups = 4;
  Scan scan;
  auto source = scan.add("file", fileOf(numbered(0, 40 * kGroups), {.rowsPerGroup = 40}), 0, {0, 1, 2, 3});
  scan.scan->finish();
  EXPECT_EQ(scan.rest(), range(0, 40 * kGroups));
  // The footer, and each row group.
  EXPECT_LE(source->reads, 2 + kGroups);
}

// Binaries that no dictionary shortens, and classes.
std::shared_ptr<arrow::RecordBatch> images(int64_t count, int64_t bytes) {
  arrow::BinaryBuilder images(arrow::system_memory_pool());
  arrow::Int32Builder classes(arrow::system_memory_pool());
  std::string image(static_cast<size_t>(bytes), ' ');
  uint64_t random = 1;
  for (int64_t row = 0; row < count; ++row) {
    for (size_t i = 0; i + 8 <= image.size(); i += 8) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      std::memcpy(&image[i], &random, 8);
    }
    EXPECT_TRUE(images.Append(image).ok() && classes.Append(static_cast<int32_t>(row % 10)).ok());
  }
  auto schema = arrow::schema({arrow::field("x", arrow::binary()), arrow::field("y", arrow::int32())});
  return arrow::RecordBatch::Make(schema, count, {images.Finish().ValueOrDie(), classes.Finish().ValueOrDie()});
}

struct Measured {
  std::shared_ptr<arrow::Table> rows;
  int64_t mostBytes = 0;  // that Arrow held beside the rows kept here
  int64_t largestBatch = 0, numBatches = 0;
  int reads = 0;
};

// Reads one row group, and looks at Arrow's memory whenever bytes are asked for and rows come.
Measured measure(const std::string& file, const std::shared_ptr<arrow::Schema>& schema, int64_t readBytes) {
  Measured measured;
  recyclingPool()->ReleaseUnused();
  int64_t before = arrowBytesAllocated();
  std::atomic<int64_t> most = 0, kept = 0;
  auto look = [&] {
    int64_t held = arrowBytesAllocated() - before - kept;
    if (held > most) most = held;
  };
  auto source = std::make_shared<MemorySource>("file", file);
  source->onRead = [&](int64_t) { look(); };
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  {
    Scan scan(1, schema, nullptr, readBytes);
    scan.scan->add(source, 0, {0}, nullptr);
    scan.scan->finish();
    int64_t row = 0;
    while (auto batch = scan.next()) {
      look();
      EXPECT_EQ(scan.scan->firstRow(), row);
      row += batch->num_rows();
      int64_t bytes = bytesOf(*batch);
      measured.largestBatch = std::max(measured.largestBatch, bytes);
      kept += bytes;
      batches.push_back(std::move(batch));
    }
  }
  measured.rows = arrow::Table::FromRecordBatches(schema, batches).ValueOrDie();
  measured.mostBytes = most;
  measured.numBatches = static_cast<int64_t>(batches.size());
  measured.reads = source->reads;
  return measured;
}

TEST(ParquetScan, memoryDoesNotGrowWithTheRowGroup) {
  constexpr int64_t kRead = 8 * kMebibyte;
  // What is read, what waits, what is being decoded with the buffers that grow for it, pages, and what rests for
  // others.
  constexpr int64_t kMost = kRead + 24 * kMebibyte + 32 * kMebibyte;
  auto rows = images(100'000, 784);
  auto schema = rows->schema();
  std::string file = fileOf(rows, {.rowsPerGroup = 100'000});
  rows.reset();
  ASSERT_GT(file.size(), 74u << 20);
  Measured whole = measure(file, schema, 512 * kMebibyte), pieces = measure(file, schema, kRead);
  EXPECT_GT(whole.mostBytes, 74 * kMebibyte) << "the test sees what is held";
  EXPECT_LT(pieces.mostBytes, kMost);
  EXPECT_TRUE(pieces.rows->Equals(*whole.rows));
  EXPECT_LE(pieces.reads, 25) << "pieces are large";
}

// What was read is still in the processor's cache when it is decoded.
TEST(ParquetScan, filesOfThisMachineAreReadPieceByPiece) {
  auto rows = images(20'000, 784);
  std::string file = fileOf(rows, {.rowsPerGroup = 20'000});
  std::vector<std::shared_ptr<arrow::Table>> read;
  for (bool local : {false, true}) {
    auto source = std::make_shared<MemorySource>("file", file);
    source->local = local;
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    Scan scan(1, rows->schema(), nullptr, 512 * kMebibyte);
    scan.scan->add(source, 0, {0}, nullptr);
    scan.scan->finish();
    while (auto batch = scan.next()) batches.push_back(std::move(batch));
    read.push_back(arrow::Table::FromRecordBatches(rows->schema(), batches).ValueOrDie());
    // A page is a little more than a mebibyte.
    EXPECT_EQ(source->mostBytes < 2 * kMebibyte, local) << source->mostBytes;
  }
  EXPECT_TRUE(read[0]->Equals(*read[1]));
}

TEST(ParquetScan, rowsAreTheSameHoweverTheyAreRead) {
  std::string x = "[", words = "[", texts = "[", nested = "[";
  constexpr int kRows = 20'000;
  for (int i = 0; i < kRows; ++i) {
    const char* comma = i == 0 ? "" : ", ";
    x += i % 17 == 0 ? message(comma, "null") : message(comma, "[", i, ", ", i * 3, "]");
    words += message(comma, R"("w)", i % 100, R"(")");
    texts += message(comma, R"("text number )", i, R"(")");
    nested += message(comma, R"([["a)", i % 5, R"("], [], ["b", null]])");
  }
  auto batch = batchOf({{"x", kFloats, x + "]"},
                        {"word", arrow::utf8(), words + "]"},
                        {"text", arrow::utf8(), texts + "]"},
                        {"nested", arrow::list(arrow::list(arrow::utf8())), nested + "]"}});
  std::string file = fileOf(batch, {.rowsPerGroup = kRows});
  batch.reset();
  for (bool encoded : {false, true}) {
    auto schema = arrow::schema({arrow::field("nested", arrow::list(arrow::list(arrow::utf8()))),
                                 arrow::field("word", encoded ? kWords : arrow::utf8()), arrow::field("x", kFloats),
                                 arrow::field("text", arrow::utf8())});
    auto whole = measure(file, schema, kMebibyte * 64).rows;
    EXPECT_EQ(whole->num_rows(), kRows);
    for (int64_t readBytes : {int64_t{1}, int64_t{100'000}, int64_t{500'000}}) {
      EXPECT_TRUE(measure(file, schema, readBytes).rows->Equals(*whole)) << readBytes;
    }
  }
  recyclingPool()->ReleaseUnused();
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

// Whoever waits for the first rows need not take in megabytes of them.
TEST(ParquetScan, theFirstRowsOfAllComeFewAtATime) {
  auto rows = images(20'000, 784);
  std::string file = fileOf(rows, {.rowsPerGroup = 10'000});
  Scan scan(1, rows->schema());
  scan.add("first", file, 0, {1, 0});
  scan.add("second", file, 1, {0});
  scan.scan->finish();
  int64_t before = 0;
  std::vector<int64_t> largest(3, 0);  // of the first rows of each row group
  while (auto batch = scan.next()) {
    int64_t inGroup = before % 10'000;
    int64_t& most = largest[static_cast<size_t>(before / 10'000)];
    if (inGroup < 4096) most = std::max(most, batch->num_rows());
    before += batch->num_rows();
  }
  EXPECT_EQ(before, 30'000);
  EXPECT_EQ(largest[0], 256);
  EXPECT_GT(largest[1], 256) << "nobody waits for later ones";
  EXPECT_GT(largest[2], 256);
}

// Values that repeat take next to nothing in a file.
TEST(ParquetScan, whatADictionaryShortensComesInSmallBatchesToo) {
  auto floats = std::make_shared<arrow::FloatBuilder>(arrow::system_memory_pool());
  arrow::ListBuilder lists(arrow::system_memory_pool(), floats);
  for (int row = 0; row < 20'000; ++row) {
    ASSERT_TRUE(lists.Append().ok());
    for (int i = 0; i < 784; ++i) ASSERT_TRUE(floats->Append(static_cast<float>(i % 3)).ok());
  }
  arrow::BinaryBuilder binaries(arrow::system_memory_pool());
  for (int row = 0; row < 200; ++row) ASSERT_TRUE(binaries.Append(std::string(500'000, 'a')).ok());
  for (const auto& values : {lists.Finish().ValueOrDie(), binaries.Finish().ValueOrDie()}) {
    auto schema = arrow::schema({arrow::field("x", values->type())});
    std::string file = fileOf(arrow::RecordBatch::Make(schema, values->length(), {values}), {.rowsPerGroup = 20'000});
    ASSERT_LT(file.size(), 8u << 20);
    Measured measured = measure(file, schema, 8 * kMebibyte);
    EXPECT_LT(measured.largestBatch, 6 * kMebibyte);
    EXPECT_LT(measured.numBatches, 80) << "nor in too small ones";
    EXPECT_LT(measured.mostBytes, 64 * kMebibyte);
    EXPECT_EQ(measured.rows->num_rows(), values->length());
  }
}

TEST(ParquetScan, closingWakesAThreadThatWaitsForBytes) {
  auto source = std::make_shared<MemorySource>("stuck", fileOf(numbered(0, 10)));
  source->blocks = true;
  auto start = std::chrono::steady_clock::now();
  {
    Scan scan(2);
    scan.scan->add(source, 0, {0}, nullptr);
    while (!source->blocked) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(scan.scan->next(milliseconds(5)), nullptr);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5));
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

// Reading runs only so far ahead of whoever takes the rows.
TEST(ParquetScan, aScanThatNobodyFollowsWaits) {
  Scan scan(2);
  std::vector<std::shared_ptr<MemorySource>> sources;
  std::string bytes = fileOf(numbered(0, 10));
  for (int index = 0; index < 50; ++index) sources.push_back(scan.add("file", bytes, 0, {0}));
  scan.next();
  std::this_thread::sleep_for(milliseconds(50));
  auto begun = std::count_if(sources.begin(), sources.end(), [](const auto& source) { return source->reads > 0; });
  EXPECT_LE(begun, 6);
}

TEST(LocalFile, readsAnyRangeAndRefusesWhatIsNoFile) {
  TemporaryFolder folder;
  LocalFile file(folder.write("a", "0123456789"));
  EXPECT_EQ(file.size(), 10);
  std::string found(4, ' ');
  file.read(3, std::as_writable_bytes(std::span(found)));
  EXPECT_EQ(found, "3456");
  EXPECT_THROW(LocalFile(folder / "nowhere"), UserError);
  EXPECT_THROW(LocalFile{folder.path()}, UserError);
  folder.write("a", "01");
  try {
    file.read(3, std::as_writable_bytes(std::span(found)));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), message("File became shorter while it was read: ", folder / "a"));
  }
}

}  // namespace
}  // namespace bloomery::data
