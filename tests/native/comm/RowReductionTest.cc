#include "comm/RowReduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>

#include "comm/Ranks.h"

namespace bloomery::comm {
namespace {

constexpr Timeout kPlenty(20000);
constexpr int64_t kRows = 1000;
constexpr int64_t kWidth = 20;

// Counts what a rank reduces.
class CountingRank final : public Communicator {
 public:
  explicit CountingRank(Communicator& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void allreduce(std::span<float> values, Timeout timeout) override {
    numFloats += values.size();
    inner_.allreduce(values, timeout);
  }
  void allreduce(std::span<double> values, Timeout timeout) override { inner_.allreduce(values, timeout); }
  std::vector<uint64_t> allgather(uint64_t value, Timeout timeout) override { return inner_.allgather(value, timeout); }
  void broadcast(std::span<std::byte> bytes, int root, Timeout timeout) override {
    inner_.broadcast(bytes, root, timeout);
  }
  void abort() override { inner_.abort(); }

  size_t numFloats = 0;

 private:
  Communicator& inner_;
};

// A table with the marks and the reduction of one rank.
struct Table {
  explicit Table(int ranks)
      : values(kRows * kWidth),
        rows(TensorView{values.data(), {kRows, kWidth}}),
        counts(static_cast<size_t>(ranks)),
        reduction(rows, counts, ranks * kRows, wire) {}

  void touch(int64_t row, float value) {
    rows.mark(row);
    for (float& element : rows.row(row)) element += value;
  }
  // As the first bucket brings it.
  void run(Communicator& communicator) {
    std::ranges::fill(counts, 0.0f);
    counts[static_cast<size_t>(communicator.rank())] = static_cast<float>(rows.count());
    communicator.allreduce(counts, kPlenty);
    reduction.run(communicator, kPlenty);
  }

  std::vector<float> values;
  TouchedRows rows;
  std::vector<float> counts;
  GradientWire wire{WireSpec{}};
  RowReduction reduction;
};

struct Case {
  const char* name;
  std::vector<int64_t> numRows;  // that each rank touches
  bool all = false;              // count as touched afterwards
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class RowReductionTest : public testing::TestWithParam<std::tuple<Case, bool>> {};

TEST_P(RowReductionTest, addsUpWhatADenseOneAddsUpInFewerBytes) {
  const auto& [test, gloo] = GetParam();
  int size = static_cast<int>(test.numRows.size());
  auto ranks = gloo ? connectOverLoopback(size) : makeLocalGroup(size);
  std::vector<std::vector<float>> results(ranks.size());
  onAllRanks(ranks, [&, &test = test](Communicator& communicator) {
    CountingRank rank(communicator);
    Table table(size);
    auto index = static_cast<size_t>(communicator.rank());
    for (unsigned step = 0; step < 3; ++step) {
      // Whole numbers add up exactly in any order.
      std::vector<float> expected(kRows * kWidth);
      std::set<int64_t> touched;
      for (size_t other = 0; other < ranks.size(); ++other) {
        std::mt19937 random(static_cast<unsigned>(10 * other) + step);
        for (int64_t i = 0; i < test.numRows[other]; ++i) {
          int64_t row = test.numRows[other] == kRows ? i : random() % kRows;
          float value = static_cast<float>(random() % 100);
          touched.insert(row);
          for (int64_t k = 0; k < kWidth; ++k) expected[static_cast<size_t>(row * kWidth + k)] += value;
          if (other == index) table.touch(row, value);
        }
      }
      rank.numFloats = 0;
      table.run(rank);
      ASSERT_EQ(table.values, expected);
      EXPECT_EQ(table.rows.all(), test.all);
      if (!test.all) {
        EXPECT_TRUE(std::ranges::equal(table.rows.rows(), touched));
        EXPECT_LE(rank.numFloats, table.values.size() / 2);
      }
      table.rows.clear();
      for (float value : table.values) ASSERT_EQ(value, 0.0f);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Groups, RowReductionTest,
                         testing::Combine(testing::Values(Case{"few", {7, 20}}, Case{"oneHasNone", {0, 20}},
                                                          Case{"nobodyHasAny", {0, 0}}, Case{"three", {5, 9, 100}},
                                                          Case{"one", {30}}, Case{"manyTogether", {200, 200}, true},
                                                          Case{"oneHasAll", {3, kRows}, true},
                                                          Case{"six", {230, 230, 230, 230, 230, 230}, true}),
                                          testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  (std::get<1>(test.param) ? "OverGloo" : "");
                         });

// Fractions round by the order they are added in, and that must be one order for all.
TEST(RowReduction, ranksGetTheSameBits) {
  auto ranks = connectOverLoopback(4);
  std::vector<std::vector<float>> results(ranks.size());
  onAllRanks(ranks, [&](Communicator& communicator) {
    Table table(4);
    std::mt19937 random(static_cast<unsigned>(communicator.rank()));
    for (int i = 0; i < 40; ++i) table.touch(random() % 90, 1.0f / static_cast<float>(1 + random() % 1000));
    table.run(communicator);
    results[static_cast<size_t>(communicator.rank())] = table.values;
  });
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST(RowReduction, refusesRowsThatWereNotAnnounced) {
  auto ranks = makeLocalGroup(1);
  Table table(1);
  table.counts[0] = 1;
  for (int64_t row : {3, 4}) table.touch(row, 1.0f);
  EXPECT_EQ(failureOf([&] { table.reduction.run(*ranks[0], kPlenty); }).kind, "InternalError");
}

}  // namespace
}  // namespace bloomery::comm
