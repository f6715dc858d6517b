// Columns that are decoded straight from their pages hold what was written, however rows, pages and batches are cut.
#include "data/arrow/GroupRows.h"

#include <arrow/io/memory.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <random>

#include "base/Error.h"
#include "data/arrow/ArrowIngest.h"
#include "data/arrow/Batches.h"

namespace bloomery::data {
namespace {

using Random = std::mt19937_64;

int64_t below(Random& random, int64_t limit) { return std::uniform_int_distribution<int64_t>(0, limit - 1)(random); }

std::shared_ptr<arrow::Array> finish(arrow::ArrayBuilder& builder) { return builder.Finish().ValueOrDie(); }

// How often values repeat, so that pages have dictionaries or not, and how many of them are null.
struct Kind {
  bool repeats;
  double nulls;
};

std::shared_ptr<arrow::Array> numbers(const std::shared_ptr<arrow::DataType>& type, int64_t count, Kind kind,
                                      Random& random) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  EXPECT_TRUE(arrow::MakeBuilder(arrow::system_memory_pool(), type, &builder).ok());
  std::bernoulli_distribution isNull(kind.nulls);
  for (int64_t i = 0; i < count; ++i) {
    if (isNull(random)) {
      EXPECT_TRUE(builder->AppendNull().ok());
      continue;
    }
    int64_t value = below(random, kind.repeats ? 20 : int64_t{1} << 30);
    if (type->id() == arrow::Type::BINARY) {
      std::string bytes(static_cast<size_t>(value % 7), 'a');
      EXPECT_TRUE(static_cast<arrow::BinaryBuilder&>(*builder).Append(bytes + std::to_string(value)).ok());
    } else {
      auto scalar = arrow::MakeScalar(arrow::int64(), value).ValueOrDie();
      EXPECT_TRUE(builder->AppendScalar(*scalar->CastTo(type).ValueOrDie()).ok());
    }
  }
  return finish(*builder);
}

// Lists of these lengths, some null or empty instead.
std::shared_ptr<arrow::Array> lists(const std::shared_ptr<arrow::Field>& element, int64_t rows, bool isRagged,
                                    double nullRows, double nullElements, bool repeats, Random& random) {
  arrow::Int32Builder offsets(arrow::system_memory_pool());
  arrow::TypedBufferBuilder<bool> valid(arrow::system_memory_pool());
  std::bernoulli_distribution isNull(nullRows);
  int32_t end = 0, length = static_cast<int32_t>(1 + below(random, 40));
  int64_t numNulls = 0;
  for (int64_t row = 0; row < rows; ++row) {
    EXPECT_TRUE(offsets.Append(end).ok());
    bool none = isNull(random);
    numNulls += none ? 1 : 0;
    EXPECT_TRUE(valid.Append(!none).ok());
    if (none) continue;
    end += isRagged ? static_cast<int32_t>(below(random, 4) == 0 ? 0 : below(random, 60)) : length;
  }
  EXPECT_TRUE(offsets.Append(end).ok());
  auto values = numbers(element->type(), end, {repeats, element->nullable() ? nullElements : 0}, random);
  auto places = finish(offsets);
  auto bits = valid.Finish().ValueOrDie();
  return std::make_shared<arrow::ListArray>(arrow::list(element), rows, places->data()->buffers[1], values,
                                            numNulls > 0 ? bits : nullptr, numNulls);
}

struct Written {
  std::shared_ptr<arrow::Table> table;
  std::shared_ptr<arrow::Buffer> file;
};

Written write(const std::shared_ptr<arrow::Table>& table, int64_t rowsPerGroup, Random& random) {
  auto file = arrow::io::BufferOutputStream::Create(1024, arrow::system_memory_pool()).ValueOrDie();
  parquet::WriterProperties::Builder properties;
  properties.memory_pool(arrow::system_memory_pool());
  properties.data_pagesize(200 + below(random, 5000));
  properties.write_batch_size(1 + below(random, 100));
  properties.dictionary_pagesize_limit(100 + below(random, 2000));
  if (below(random, 2) == 0) properties.disable_dictionary();
  properties.compression(below(random, 2) == 0 ? parquet::Compression::SNAPPY : parquet::Compression::UNCOMPRESSED);
  bool isSecond = below(random, 2) == 0;
  properties.data_page_version(isSecond ? parquet::ParquetDataPageVersion::V2 : parquet::ParquetDataPageVersion::V1);
  arrow::Status status =
      parquet::arrow::WriteTable(*table, arrow::system_memory_pool(), file, rowsPerGroup, properties.build());
  EXPECT_TRUE(status.ok()) << status.ToString();
  return {table, file->Finish().ValueOrDie()};
}

std::unique_ptr<parquet::arrow::FileReader> readerOf(const std::shared_ptr<arrow::Buffer>& file) {
  auto opened = parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(file),
                                                 parquet::ReaderProperties(arrow::system_memory_pool()));
  return parquet::arrow::FileReader::Make(arrow::system_memory_pool(), std::move(opened)).ValueOrDie();
}

// All columns, whose leaves are counted from the first on.
std::vector<GroupRows::Column> columnsOf(parquet::arrow::FileReader& reader, bool& areDirect) {
  std::shared_ptr<arrow::Schema> schema;
  EXPECT_TRUE(reader.GetSchema(&schema).ok());
  const parquet::SchemaDescriptor& leaves = *reader.parquet_reader()->metadata()->schema();
  std::vector<GroupRows::Column> columns;
  int leaf = 0;
  for (const auto& field : schema->fields()) {
    areDirect &= DirectColumn::canRead(*field, *leaves.Column(leaf));
    columns.push_back({field, {}});
    for (; leaf < leaves.num_columns() && leaves.GetColumnRoot(leaf)->name() == field->name(); ++leaf) {
      columns.back().leaves.push_back(leaf);
    }
  }
  return columns;
}

std::shared_ptr<arrow::Table> readAll(const std::shared_ptr<arrow::Buffer>& file, bool& areDirect, Random& random) {
  auto reader = readerOf(file);
  auto columns = columnsOf(*reader, areDirect);
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int group = 0; group < reader->num_row_groups(); ++group) {
    auto rows = GroupRows::open(*reader, group, columns).ValueOrDie();
    while (true) {
      int64_t most = 1 + below(random, below(random, 2) == 0 ? 10 : 500);
      auto batch = rows.next(most).ValueOrDie();
      if (batch == nullptr) break;
      EXPECT_GT(batch->num_rows(), 0);
      EXPECT_LE(batch->num_rows(), most);
      EXPECT_TRUE(batch->ValidateFull().ok()) << batch->ValidateFull().ToString();
      batches.push_back(batch);
    }
  }
  return arrow::Table::FromRecordBatches(batches).ValueOrDie();
}

void expectSame(const Written& written, bool mustBeDirect, Random& random) {
  bool areDirect = true;
  auto found = readAll(written.file, areDirect, random);
  EXPECT_EQ(areDirect, mustBeDirect);
  ASSERT_EQ(found->num_rows(), written.table->num_rows());
  for (int i = 0; i < found->num_columns(); ++i) {
    EXPECT_TRUE(found->column(i)->Equals(*written.table->column(i))) << written.table->field(i)->ToString();
  }
}

std::shared_ptr<arrow::DataType> anyType(Random& random, bool binariesToo) {
  std::vector<std::shared_ptr<arrow::DataType>> types = {arrow::float32(), arrow::float64(), arrow::int32(),
                                                         arrow::int64(),   arrow::date32(),  arrow::binary()};
  return types[static_cast<size_t>(below(random, binariesToo ? 6 : 5))];
}

TEST(GroupRows, directColumnsHoldWhatWasWritten) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    int64_t rows = 1 + below(random, 3000);
    std::vector<std::shared_ptr<arrow::Field>> fields;
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (int column = 0; column < 3; ++column) {
      bool repeats = below(random, 2) == 0, isNullable = below(random, 2) == 0;
      double nulls = isNullable && below(random, 2) == 0 ? 0.2 : 0;
      if (below(random, 2) == 0) {
        auto type = anyType(random, true);
        fields.push_back(arrow::field(message("c", column), type, isNullable));
        arrays.push_back(numbers(type, rows, {repeats, nulls}, random));
      } else {
        auto element = arrow::field("element", anyType(random, false), below(random, 2) == 0);
        double nullElements = below(random, 2) == 0 ? 0.1 : 0;
        arrays.push_back(lists(element, rows, below(random, 2) == 0, nulls, nullElements, repeats, random));
        fields.push_back(arrow::field(message("c", column), arrays.back()->type(), isNullable));
      }
    }
    auto table = arrow::Table::Make(arrow::schema(fields), arrays, rows);
    expectSame(write(table, 1 + below(random, rows), random), /*mustBeDirect=*/true, random);
  }
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

// Arrow's reader reads these, in batches of its own, beside the others.
TEST(GroupRows, columnsOfOtherKindsComeBesideThem) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    int64_t rows = 1 + below(random, 2000);
    auto element = arrow::field("element", arrow::float32());
    auto flat = numbers(arrow::int32(), rows, {false, 0.1}, random);
    auto small = numbers(arrow::int16(), rows, {true, 0.1}, random);
    auto inner = lists(element, rows, true, 0.1, 0.1, false, random);
    auto pairs = arrow::StructArray::Make(std::vector{flat, inner}, std::vector<std::string>{"a", "b"}).ValueOrDie();
    auto table =
        arrow::Table::Make(arrow::schema({arrow::field("flat", flat->type()), arrow::field("small", small->type()),
                                          arrow::field("pairs", pairs->type()), arrow::field("inner", inner->type())}),
                           {flat, small, pairs, inner}, rows);
    expectSame(write(table, 1 + below(random, rows), random), /*mustBeDirect=*/false, random);
  }
  EXPECT_EQ(arrowBytesAllocated(), 0);
}

// Whatever bytes are changed, there are rows or an error, and no more.
TEST(GroupRows, damagedFilesGiveRowsOrErrors) {
  Random random(7);
  auto element = arrow::field("element", arrow::float32());
  auto some = lists(element, 400, true, 0.1, 0.1, true, random);
  auto equal = lists(element, 400, false, 0, 0, false, random);
  auto images = numbers(arrow::binary(), 400, {false, 0.1}, random);
  auto table =
      arrow::Table::Make(arrow::schema({arrow::field("some", some->type()), arrow::field("equal", equal->type()),
                                        arrow::field("images", images->type())}),
                         {some, equal, images}, 400);
  int numErrors = 0, numRead = 0;
  for (int round = 0; round < 400; ++round) {
    Written written = write(table, 150, random);
    std::string bytes = written.file->ToString();
    for (int i = 0; i < 3; ++i) {
      bytes[static_cast<size_t>(below(random, written.file->size()))] ^= static_cast<char>(1 << below(random, 8));
    }
    bool areDirect = true;
    try {
      auto reader = readerOf(std::make_shared<arrow::Buffer>(bytes));
      auto columns = columnsOf(*reader, areDirect);
      for (int group = 0; group < reader->num_row_groups(); ++group) {
        auto rows = GroupRows::open(*reader, group, columns);
        while (rows.ok()) {
          auto batch = rows->next(100);
          if (!batch.ok()) ++numErrors;
          if (!batch.ok() || *batch == nullptr) break;
          EXPECT_TRUE((*batch)->ValidateFull().ok()) << (*batch)->ValidateFull().ToString();
          ++numRead;
        }
      }
    } catch (const parquet::ParquetException&) {
      ++numErrors;
    }
  }
  EXPECT_GT(numErrors, 20);
  EXPECT_GT(numRead, 20);
}

}  // namespace
}  // namespace bloomery::data
