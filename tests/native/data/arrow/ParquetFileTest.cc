// Parquet files as the rows of a RowStore: what ParquetFile and ParquetRows make of them.
#include "data/arrow/ParquetFile.h"

#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include "base/TemporaryFolder.h"
#include "data/Formats.h"
#include "data/arrow/ArrowIngest.h"
#include "data/arrow/Batches.h"
#include "data/arrow/MemorySource.h"
#include "data/arrow/ParquetRows.h"
#include "data/arrow/ParquetWriter.h"

namespace bloomery::data {
namespace {

// Two features and one of ten classes.
struct Stores {
  explicit Stores(const RowFormat& format = oneClass(DType::kFloat32, 2)) : training(format), validation(format) {}
  RowStore training, validation;
};

void ingest(ParquetRows& rows, Stores& stores, const std::string& indicator = {}) {
  ArrowIngest ingest({{"x"}, {"y"}, "", indicator}, {{{10}, true, false, false}}, &stores.training, &stores.validation);
  ingest.schema(rows.schema());
  while (void* batch = rows.next()) ingest.ingest(batch, rows.partition(), rows.firstRow());
}

Column labels(const std::string& json) { return {"y", arrow::int32(), json}; }
Column features(const std::string& json) { return {"x", arrow::list(arrow::float32()), json}; }

// Rows from `first` on: features (i, -i), label i % 10.
std::shared_ptr<arrow::RecordBatch> numbered(int first, int count) {
  std::string x, y;
  for (int i = first; i < first + count; ++i) {
    x += message(i == first ? "" : ", ", "[", i, ", ", -i, "]");
    y += message(i == first ? "" : ", ", i % 10);
  }
  return batchOf({features("[" + x + "]"), labels("[" + y + "]")});
}

template <typename Action>
std::string userErrorOf(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string errorOf(const std::string& path) {
  return userErrorOf([&] {
    ParquetRows rows({{path}}, {"x", "y"});
    Stores stores;
    ingest(rows, stores);
  });
}

TEST(ParquetRows, everyTypeThatSparkSendsBecomesTheSameRows) {
  auto f32 = arrow::float32();
  // The bytes of the floats (1, 2) and (3, 4).
  auto bytes = [](const std::shared_ptr<arrow::DataType>& type) {
    const float rows[2][2] = {{1, 2}, {3, 4}};
    std::unique_ptr<arrow::ArrayBuilder> builder;
    EXPECT_TRUE(arrow::MakeBuilder(arrow::system_memory_pool(), type, &builder).ok());
    for (const float* row : rows) {
      auto* data = reinterpret_cast<const uint8_t*>(row);
      if (type->id() == arrow::Type::BINARY) {
        EXPECT_TRUE(static_cast<arrow::BinaryBuilder&>(*builder).Append(data, 8).ok());
      } else if (type->id() == arrow::Type::LARGE_BINARY) {
        EXPECT_TRUE(static_cast<arrow::LargeBinaryBuilder&>(*builder).Append(data, 8).ok());
      } else {
        EXPECT_TRUE(static_cast<arrow::FixedSizeBinaryBuilder&>(*builder).Append(data).ok());
      }
    }
    return builder->Finish().ValueOrDie();
  };
  auto array = [](const std::shared_ptr<arrow::DataType>& type) {
    return arrow::json::ArrayFromJSONString(type, "[[1, 2], [3, 4]]").ValueOrDie();
  };
  std::vector<std::shared_ptr<arrow::Array>> cases = {
      array(arrow::list(f32)),
      array(arrow::list(arrow::field("element", f32, false))),
      array(arrow::large_list(f32)),
      array(arrow::fixed_size_list(f32, 2)),
      array(arrow::list(arrow::float64())),
      array(arrow::list(arrow::int64())),
      array(arrow::list(arrow::uint8())),
      array(arrow::list(arrow::int8())),
      bytes(arrow::binary()),
      bytes(arrow::large_binary()),
      bytes(arrow::fixed_size_binary(8)),
  };
  for (const auto& values : cases) {
    for (bool keepsArrowTypes : {true, false}) {
      SCOPED_TRACE(message(values->type()->ToString(), keepsArrowTypes ? ", Arrow's schema kept" : ""));
      TemporaryFolder folder;
      auto schema = arrow::schema({arrow::field("x", values->type()), arrow::field("y", arrow::int64())});
      auto classes = arrow::json::ArrayFromJSONString(arrow::int64(), "[7, 8]").ValueOrDie();
      writeParquet(folder / "a.parquet", arrow::RecordBatch::Make(schema, 2, {values, classes}),
                   {.keepsArrowTypes = keepsArrowTypes});
      ParquetRows rows({{folder.path()}}, {"x", "y"});
      Stores stores;
      ingest(rows, stores);
      ASSERT_EQ(stores.training.numRows(), 2);
      for (int64_t row = 0; row < 2; ++row) {
        const float* found = reinterpret_cast<const float*>(stores.training.features(row));
        EXPECT_EQ(found[0], static_cast<float>(2 * row + 1));
        EXPECT_EQ(found[1], static_cast<float>(2 * row + 2));
        EXPECT_EQ(stores.training.label(row), 7 + row);
      }
    }
  }
  cases.clear();
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

std::shared_ptr<arrow::DataType> vectorType() {
  return arrow::struct_({arrow::field("type", arrow::int8(), false), arrow::field("size", arrow::int32()),
                         arrow::field("indices", arrow::list(arrow::field("element", arrow::int32(), false))),
                         arrow::field("values", arrow::list(arrow::field("element", arrow::float64(), false)))});
}

TEST(ParquetRows, vectorsOfSparkAreFeatures) {
  TemporaryFolder folder;
  Column vectors{"x", vectorType(), R"([[1, null, null, [1.5, 2]], [0, 2, [1], [4]], [0, 2, [], []]])"};
  writeParquet(folder / "a.parquet", batchOf({vectors, labels("[7, 8, 9]")}), {.keepsArrowTypes = false});
  ParquetRows rows({{folder.path()}}, {"x", "y"});
  Stores stores;
  ingest(rows, stores);
  std::vector<float> found;
  for (int64_t row = 0; row < 3; ++row) {
    const float* values = reinterpret_cast<const float*>(stores.training.features(row));
    found.insert(found.end(), values, values + 2);
  }
  EXPECT_EQ(found, (std::vector<float>{1.5f, 2, 0, 4, 0, 0}));
}

TEST(ParquetRows, vectorsThatDoNotHoldTogetherAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"[0, 2, [2], [4]]", "Index out of a vector: 2, size 2"},
      {"[0, 2, [-1], [4]]", "Index out of a vector: -1, size 2"},
      {"[0, 2, [0, 1], [4]]", "Vector is not valid: "},
      {"[0, null, [0], [4]]", "Vector is not valid: "},
      {"[0, 2, null, [4]]", "Vector is not valid: "},
      {"[1, null, null, null]", "Vector is not valid: "},
      {"[0, 1, [0, 0], [4, 5]]", "Wrong size of vector: 1 values, wanted 2"}};
  for (const auto& [vector, expected] : cases) {
    TemporaryFolder folder;
    std::string path = folder / "a.parquet";
    writeParquet(path, batchOf({{"x", vectorType(), message("[", vector, "]")}, labels("[7]")}));
    EXPECT_EQ(errorOf(path).substr(0, std::string(expected).size()), expected) << vector;
  }
}

TEST(ParquetRows, rowIdsAreThePlaceOfTheFileByNameAndTheRowInIt) {
  TemporaryFolder folder;
  writeParquet(folder / "part-2.parquet", numbered(250, 3));
  writeParquet(folder / "part-1.parquet", numbered(0, 250), {.rowsPerGroup = 40});
  writeParquet(folder / "_part-0.parquet", numbered(900, 1));
  writeParquet(folder / ".part-0.parquet", numbered(900, 1));
  folder.write("_SUCCESS", "");
  folder.write("part-0.txt", "not for us");
  std::filesystem::create_directory(folder / "part-3.parquet");
  ParquetRows rows({{folder.path()}}, {"x", "y"});
  EXPECT_EQ(rows.numFiles(), 2u);
  EXPECT_EQ(rows.numRows(false), 253);
  Stores stores;
  ingest(rows, stores);
  ASSERT_EQ(stores.training.numRows(), 253);
  for (int64_t i = 0; i < 253; ++i) {
    EXPECT_EQ(stores.training.rowId(i), i < 250 ? makeRowId(0, i) : makeRowId(1, i - 250));
    EXPECT_EQ(*reinterpret_cast<const float*>(stores.training.features(i)), static_cast<float>(i));
    EXPECT_EQ(stores.training.label(i), i % 10);
  }
}

TEST(ParquetRows, foldersAreColumnsOfTheFilesInside) {
  TemporaryFolder folder;
  auto write = [&](const std::string& path, int first) {
    std::filesystem::create_directories(std::filesystem::path(folder / path).parent_path());
    writeParquet(folder / path, batchOf({features(message("[[", first, ", 0]]"))}));
  };
  write("y=7/part-0.parquet", 0);
  write("y=3/deep/part-0.parquet", 1);
  write("_y=9/part-0.parquet", 9);
  ParquetRows rows({{folder.path()}}, {"x", "y"});
  Stores stores;
  ingest(rows, stores);
  ASSERT_EQ(stores.training.numRows(), 2);
  for (int64_t row : {0, 1}) {
    EXPECT_EQ(stores.training.label(row), row == 0 ? 3 : 7);
    EXPECT_EQ(*reinterpret_cast<const float*>(stores.training.features(row)), row == 0 ? 1.0f : 0.0f);
    EXPECT_EQ(stores.training.rowId(row), makeRowId(static_cast<int>(row), 0));
  }
}

TEST(ParquetRows, valuesOfFoldersThatAreNoNumbersAreRefused) {
  struct Case {
    std::string path, error;
  };
  for (const Case& one : std::vector<Case>{
           {"y=two/a.parquet", "Wrong value of column 'y' in a folder's name: two, wanted a number, file "},
           {"z=1/a.parquet", "Not every file lies in a folder for column 'y', file "},
           {"y=__HIVE_DEFAULT_PARTITION__/a.parquet",
            "Label is null: column 'y', row 0 of partition 1; drop such rows"},
           {"y=2.5/a.parquet",
            "Label is not a whole number: 2.5, column 'y', row 0 of partition 1; a class is one, so index the labels"},
       }) {
    TemporaryFolder folder;
    for (const std::string& path : {std::string("y=1/a.parquet"), one.path}) {
      std::filesystem::create_directories(std::filesystem::path(folder / path).parent_path());
      writeParquet(folder / path, batchOf({features("[[1, 2]]")}));
    }
    std::string expected = one.error.ends_with("file ") ? one.error + (folder / one.path) : one.error;
    EXPECT_EQ(errorOf(folder.path()), expected);
  }
}

// Rows of 1 MiB come in several batches.
TEST(ParquetRows, largeRowsComeInSmallBatches) {
  TemporaryFolder folder;
  constexpr int64_t kWidth = 1 << 20;
  arrow::BinaryBuilder bytes(arrow::system_memory_pool());
  for (int i = 0; i < 40; ++i) {
    std::string row(static_cast<size_t>(kWidth), '\0');
    for (size_t k = 0; k < row.size(); ++k) row[k] = static_cast<char>((k * 2654435761u + static_cast<size_t>(i)) >> 7);
    ASSERT_TRUE(bytes.Append(row).ok());
  }
  auto schema = arrow::schema({arrow::field("x", arrow::binary())});
  writeParquet(folder / "a.parquet", arrow::RecordBatch::Make(schema, 40, {bytes.Finish().ValueOrDie()}));
  ParquetFile file = ParquetFile::open(folder / "a.parquet");
  file.start({"x"});
  int64_t sum = 0, batches = 0;
  for (auto batch = file.next(); batch != nullptr; batch = file.next(), ++batches) {
    EXPECT_LE(batch->num_rows(), 16);
    sum += batch->num_rows();
  }
  EXPECT_EQ(sum, 40);
  EXPECT_GE(batches, 3);
}

TEST(ParquetRows, sourcesForValidationAreMarked) {
  TemporaryFolder folder;
  writeParquet(folder / "train.parquet", numbered(0, 5));
  writeParquet(folder / "test.parquet", numbered(5, 3));
  ParquetRows rows({{folder / "train.parquet"}, {folder / "test.parquet", true}}, {"x", "y"}, "mark");
  EXPECT_EQ(rows.numRows(false), 5);
  EXPECT_EQ(rows.numRows(true), 3);
  Stores stores;
  ingest(rows, stores, "mark");
  EXPECT_EQ(stores.training.numRows(), 5);
  ASSERT_EQ(stores.validation.numRows(), 3);
  EXPECT_EQ(stores.validation.rowId(2), makeRowId(1, 2));
  EXPECT_EQ(stores.validation.label(2), 7);
}

TEST(ParquetRows, filesMayDifferInWhatDoesNotMatter) {
  TemporaryFolder folder;
  writeParquet(folder / "a.parquet",
               batchOf({labels("[1]"), {"other", arrow::utf8(), R"(["?"])"}, features("[[1, 2]]")}));
  auto strict = arrow::list(arrow::field("element", arrow::float32(), false));
  writeParquet(folder / "b.parquet", batchOf({{"x", strict, "[[3, 4], [5, 6]]"}, labels("[2, 3]")}));
  writeParquet(folder / "c.parquet", batchOf({features("[]"), labels("[]")}));
  ParquetRows rows({{folder.path()}}, {"x", "y", "x"});
  Stores stores;
  ingest(rows, stores);
  ASSERT_EQ(stores.training.numRows(), 3);
  EXPECT_EQ(stores.training.label(2), 3);
  EXPECT_EQ(reinterpret_cast<const float*>(stores.training.features(2))[1], 6.0f);
}

TEST(ParquetRows, columnsThatNobodyWantsAreNotRead) {
  TemporaryFolder folder;
  std::string path = folder / "a.parquet";
  writeParquet(path, batchOf({features("[[1, 2]]"), {"unused", arrow::int64(), "[12345]"}, labels("[1]")}),
               {.checksums = true});
  auto metadata = parquet::ParquetFileReader::OpenFile(path)->metadata();
  int64_t place = metadata->RowGroup(0)->ColumnChunk(1)->data_page_offset();
  std::string content = folder.read("a.parquet");
  for (size_t i = 0; i < 12; ++i) content[static_cast<size_t>(place) + i] ^= 0x55;
  folder.write("a.parquet", content);
  EXPECT_EQ(errorOf(path), "no error");
  std::string text = userErrorOf([&] {
    ParquetRows rows({{path}}, {"x", "unused"});
    while (rows.next() != nullptr) {
    }
  });
  EXPECT_EQ(text.find(message("Not a readable Parquet file; write it again or remove it: ", path, ": ")), 0u) << text;
}

TEST(ParquetRows, whatIsWrongIsSaidInOneSentence) {
  TemporaryFolder folder;
  std::string good = folder / "good.parquet";
  writeParquet(good, numbered(0, 3));
  std::string empty = folder / "empty";
  std::filesystem::create_directory(empty);
  folder.write("empty/readme.txt", "");
  std::string text = folder.write("text.parquet", "x,y\n1,2\n and some more text\n");
  std::string names = folder / "names.parquet";
  writeParquet(names,
               batchOf({features("[[1, 2]]"), {"why", arrow::int32(), "[1]"}, {"lable", arrow::int32(), "[1]"}}));
  std::string words = folder / "words.parquet";
  writeParquet(words, batchOf({{"x", arrow::utf8(), R"(["one"])"}, labels("[1]")}));
  std::string twice = folder / "twice.parquet";
  writeParquet(twice, batchOf({features("[[1, 2]]"), labels("[1]"), labels("[2]")}));
  std::string range = folder / "range.parquet";
  writeParquet(range, batchOf({features("[[1, 2], [3, 4]]"), labels("[1, 10]")}));
  struct Case {
    std::string path, error;
  };
  for (const Case& one : std::vector<Case>{
           {folder / "nowhere", message("File or folder does not exist: ", folder / "nowhere")},
           {empty, message("No Parquet file in folder: ", empty, ", names must end in .parquet")},
           {names, message("Unknown column: y, nearest known: why, file ", names)},
           {twice, message("Two columns have the same name: y, file ", twice)},
           {words, "Wrong type of features column 'x': string, wanted a vocabulary or hashBuckets for its texts"},
           {range,
            "Label out of range: 10, classes: 10, column 'y', row 1 of partition 0; classes count from 0, so index the "
            "labels or give the last layer more units"},
       }) {
    EXPECT_EQ(errorOf(one.path), one.error);
  }
  std::string error = errorOf(text);
  EXPECT_EQ(error.find(message("Not a readable Parquet file; write it again or remove it: ", text, ": ")), 0u) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

TEST(ParquetRows, filesThatDifferInAColumnAreBothNamed) {
  TemporaryFolder folder;
  std::string a = folder / "a.parquet", b = folder / "b.parquet";
  writeParquet(a, batchOf({features("[[1, 2]]"), labels("[1]")}));
  struct Case {
    Column x, y;
    std::string what;
  };
  for (const Case& one : std::vector<Case>{
           {features("[[1, 2]]"), {"y", arrow::int64(), "[1]"}, "'y': int32 in A, int64 in B"},
           {{"x", arrow::list(arrow::float64()), "[[1, 2]]"},
            labels("[1]"),
            "'x': list<element: float> in A, list<element: double> in B"},
       }) {
    writeParquet(b, batchOf({one.x, one.y}), {.keepsArrowTypes = false});
    std::string expected = "Files differ in the type of column " + one.what;
    expected.replace(expected.find("in A"), 4, "in " + a);
    expected.replace(expected.rfind("in B"), 4, "in " + b);
    EXPECT_EQ(errorOf(folder.path()), expected);
  }
}

// Cut off anywhere, or with any byte changed, a file gives rows or a UserError, and nothing stays behind.
class DamagedFile : public testing::TestWithParam<int64_t> {};  // how much of a row group is held

TEST_P(DamagedFile, isRowsOrAUserError) {
  TemporaryFolder folder;
  writeParquet(folder / "a.parquet", numbered(0, 60), {.rowsPerGroup = 25, .checksums = true});
  std::string content = folder.read("a.parquet");
  auto readAll = [](const std::string& bytes) {
    ParquetFile file(std::make_shared<MemorySource>("damaged", bytes), GetParam());
    file.start({"x", "y"});
    while (file.next() != nullptr) {
    }
  };
  readAll(content);
  for (size_t length = 0; length < content.size(); length += 7) {
    EXPECT_THROW(readAll(content.substr(0, length)), UserError) << length;
  }
  int refused = 0;
  for (size_t place = 4; place < content.size(); place += 5) {
    std::string damaged = content;
    damaged[place] ^= 0x41;
    try {
      readAll(damaged);
    } catch (const UserError& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    } catch (const ResourceError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(content.size() / 5 / 4));
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

INSTANTIATE_TEST_SUITE_P(ReadBytes, DamagedFile, testing::Values(1 << 20, 1));

// Of a row group that is much larger than a batch, no more than pieces are in memory.
TEST(ParquetFile, largeRowGroupsOfThisMachineTakeLittleMemory) {
  TemporaryFolder folder;
  constexpr int64_t kRows = 4 << 20;
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < kRows; ++i) ASSERT_TRUE(builder.Append(i * 1'000'003'000'017).ok());
  auto schema = arrow::schema({arrow::field("x", arrow::int64())});
  writeParquet(folder / "a.parquet", arrow::RecordBatch::Make(schema, kRows, {builder.Finish().ValueOrDie()}),
               {.rowsPerGroup = kRows});
  builder.Reset();
  int64_t before = arrowBytesAllocated(), most = 0, rows = 0;
  ParquetFile file = ParquetFile::open(folder / "a.parquet");
  file.start({"x"});
  while (auto batch = file.next()) {
    rows += batch->num_rows();
    most = std::max(most, arrowBytesAllocated() - before);
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_LT(most, 12 << 20) << "of a row group of 32 MB";
}

}  // namespace
}  // namespace bloomery::data
