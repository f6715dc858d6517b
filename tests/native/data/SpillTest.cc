// Rows beyond the memory they may take go to disk and come back as they were.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/Error.h"
#include "base/NamedThread.h"
#include "base/TemporaryFolder.h"
#include "data/Batcher.h"
#include "data/Formats.h"
#include "data/StepRows.h"

namespace bloomery::data {
namespace {

constexpr int64_t kMebibyte = 1 << 20;
const std::string kKey = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";

bool isEmpty(const TemporaryFolder& folder) { return std::filesystem::is_empty(folder.path()); }

RowFormat largeRows() { return {{{DType::kUint8, 100'000}, {DType::kFloat32, 3}}, {{10, true}, {2, false}}}; }

std::byte pixel(uint64_t id, size_t i) { return static_cast<std::byte>((id * 131 + i) % 251); }

void append(RowStore& rows, uint64_t id) {
  rows.append(id, static_cast<float>(id) / 2);
  int64_t row = rows.numRows() - 1;
  std::byte* image = rows.features(row, 0);
  for (size_t i = 0; i < 100'000; i += 997) image[i] = pixel(id, i);
  image[99'999] = pixel(id, 99'999);
  float* numbers = reinterpret_cast<float*>(rows.features(row, 1));
  for (int i = 0; i < 3; ++i) numbers[i] = static_cast<float>(id) + static_cast<float>(i);
  rows.setLabel(row, 0, static_cast<int32_t>(id % 10));
  rows.values(row, 1)[0] = static_cast<float>(id);
  rows.values(row, 1)[1] = -static_cast<float>(id);
}

void expectRow(const StoredRow& row, uint64_t id) {
  ASSERT_EQ(row.rowId(), id);
  ASSERT_EQ(row.weight(), static_cast<float>(id) / 2);
  for (size_t i = 0; i < 100'000; i += 997) ASSERT_EQ(row.features(0)[i], pixel(id, i)) << id << " " << i;
  ASSERT_EQ(row.features(0)[99'999], pixel(id, 99'999));
  ASSERT_EQ(reinterpret_cast<const float*>(row.features(1))[2], static_cast<float>(id) + 2);
  ASSERT_EQ(row.label(0), static_cast<int32_t>(id % 10));
  ASSERT_EQ(row.values(1)[1], -static_cast<float>(id));
}

// Walks the whole order in steps, as the prefetch thread does.
void expectOrder(RowReader& reader, const Order& order, int64_t batchSize) {
  reader.begin(&order);
  for (int64_t position = 0; position < order.numRows(); position += batchSize) {
    int64_t count = std::min(batchSize, order.numRows() - position);
    reader.advance(count);
    auto lock = reader.lock();
    for (int64_t i = 0; i < count; ++i) {
      int64_t row = order.at(position + i);
      expectRow(reader.row(row), static_cast<uint64_t>(row));
    }
  }
  reader.end();
}

struct Budget {
  const char* name;
  int64_t mebibytes;
  bool encrypted;
};

class SpilledRows : public testing::TestWithParam<Budget> {};

// 150 chunks: three windows.
TEST_P(SpilledRows, comeBackAsTheyWere) {
  TemporaryFolder one, other;
  SpillOptions options{GetParam().mebibytes * kMebibyte, {one.path(), other.path()}, {}};
  if (GetParam().encrypted) options.key = readCipherKey(kKey, "key");
  SpillSpace space(options);
  RowStore rows(largeRows(), &space);
  for (uint64_t id = 0; id < 1495; ++id) append(rows, id);
  rows.finish();
  ASSERT_EQ(rows.rowsPerBlock(), 10);
  EXPECT_LE(rows.memoryBytes(), std::max<size_t>(1, static_cast<size_t>(GetParam().mebibytes)) << 20);
  EXPECT_TRUE(isEmpty(one) && isEmpty(other)) << "files have no names";
  {
    RowReader reader(rows);
    for (int64_t epoch = 1; epoch <= 2; ++epoch) expectOrder(reader, Order(1495, 10, 5, epoch, true), 64);
    expectOrder(reader, Order(1495, 10, 5, 1, false), 1000);
    reader.begin(nullptr);
    auto lock = reader.lock();
    for (int64_t row : {0, 1494, 700, 701, 3}) expectRow(reader.row(row), static_cast<uint64_t>(row));
    EXPECT_GT(reader.takeReadSeconds(), 0);
  }
  EXPECT_EQ(countNamedThreads(), 0);
}

INSTANTIATE_TEST_SUITE_P(Budgets, SpilledRows,
                         testing::Values(Budget{"none", 0, false}, Budget{"lessThanAWindow", 20, false},
                                         Budget{"someInMemory", 120, false}, Budget{"encrypted", 100, true}),
                         [](const auto& test) { return test.param.name; });

// Some chunks have ids that count on, some have others, and no row has a weight.
TEST(Spill, whatIsImpliedComesBackToo) {
  for (int64_t mebibytes : {0, 100}) {
    SCOPED_TRACE(mebibytes);
    TemporaryFolder folder;
    SpillSpace space({mebibytes * kMebibyte, {folder.path()}, readCipherKey(kKey, "key")});
    RowFormat format = noTarget(DType::kUint8, 100'000);
    format.hasWeights = false;
    RowStore rows(format, &space);
    auto idOf = [](int64_t row) { return static_cast<uint64_t>(row % 37 == 5 ? 5000 + row : row); };
    for (int64_t row = 0; row < 1495; ++row) {
      rows.append(idOf(row), 1);
      rows.features(row)[99'999] = pixel(idOf(row), 0);
    }
    rows.finish();
    RowReader reader(rows);
    Order order(1495, rows.rowsPerBlock(), 5, 1, true);
    reader.begin(&order);
    for (int64_t position = 0; position < 1495; ++position) {
      reader.advance(1);
      auto lock = reader.lock();
      StoredRow row = reader.row(order.at(position));
      ASSERT_EQ(row.rowId(), idOf(order.at(position)));
      ASSERT_EQ(row.weight(), 1.0f);
      ASSERT_EQ(row.features(0)[99'999], pixel(row.rowId(), 0));
    }
    reader.end();
  }
}

TEST(Spill, storesShareTheirMemory) {
  TemporaryFolder folder;
  SpillSpace space({20 * kMebibyte, {folder.path()}, {}});
  RowStore training(largeRows(), &space), validation(largeRows(), &space);
  for (uint64_t id = 0; id < 150; ++id) append(training, id);
  EXPECT_EQ(training.memoryBytes(), 15u * 1000512) << "all fits";
  for (uint64_t id = 0; id < 300; ++id) append(validation, id);
  // What is less than a window is for reading back, but for the chunks that are filled.
  EXPECT_LE(training.memoryBytes() + validation.memoryBytes(), static_cast<size_t>(3 * kMebibyte));
  EXPECT_EQ(space.numReadBuffers(), 18u);
  RowReader trainingReader(training), validationReader(validation);
  expectOrder(trainingReader, Order(150, 10, 5, 1, true), 7);
  expectOrder(validationReader, Order(300, 10, 5, 1, false), 7);
  expectOrder(trainingReader, Order(150, 10, 5, 2, true), 7);
}

TEST(Spill, memoryOfAWindowIsEnoughToReadWholeChunks) {
  struct Case {
    int64_t mebibytes;
    bool isWhole;
  };
  for (auto [mebibytes, isWhole] : {Case{300, true}, {130, true}, {70, true}, {40, false}}) {
    SCOPED_TRACE(mebibytes);
    TemporaryFolder folder;
    SpillSpace space({mebibytes * kMebibyte, {folder.path()}, {}});
    RowStore rows(largeRows(), &space);
    for (uint64_t id = 0; id < 3500; ++id) append(rows, id);
    rows.finish();
    RowReader reader(rows);
    for (int64_t epoch = 1; epoch <= 2; ++epoch) expectOrder(reader, Order(3500, 10, 5, epoch, true), 64);
    if (isWhole) {
      // A batch on the border of two windows may want both.
      EXPECT_LT(reader.numSingleRows(), 2 * 64 * 6);
    } else {
      EXPECT_GT(reader.numSingleRows(), 2 * 64 * 6);
    }
  }
}

TEST(Spill, rowsAreReadWhileOthersStillCome) {
  TemporaryFolder folder;
  SpillSpace space({3 * kMebibyte, {folder.path()}, readCipherKey(kKey, "key")});
  RowStore rows(largeRows(), &space);
  std::thread ingest([&] {
    for (uint64_t id = 0; id < 400; ++id) {
      append(rows, id);
      rows.publish();
    }
    rows.finish();
  });
  RowReader reader(rows);
  StreamedRows steps(rows, 8, 30, 4);
  std::vector<int64_t> step(8);
  std::vector<int> seen(400);
  for (size_t count = 1; count > 0;) {
    if (!steps.awaitNext()) continue;
    count = steps.next(step);
    auto lock = reader.lock();
    for (size_t i = 0; i < count; ++i) {
      expectRow(reader.row(step[i]), static_cast<uint64_t>(step[i]));
      ++seen[static_cast<size_t>(step[i])];
    }
  }
  ingest.join();
  EXPECT_EQ(seen, std::vector<int>(400, 1));
}

// The files that this process has open in the folder, which have no names.
std::vector<std::filesystem::path> openFiles(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    std::string target = std::filesystem::read_symlink(entry.path(), error);
    if (!error && target.find(folder) == 0) files.push_back(entry.path());
  }
  return files;
}

std::string contentsOf(const std::string& folder) {
  std::string all;
  for (const auto& path : openFiles(folder)) {
    std::ifstream file(path, std::ios::binary);
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  return all;
}

// Opens a file without a name once more.
class Reopened {
 public:
  explicit Reopened(const std::filesystem::path& path) : descriptor_(::open(path.c_str(), O_RDONLY)) {
    EXPECT_GE(descriptor_, 0) << path;
  }
  ~Reopened() { ::close(descriptor_); }

  // Has the disk hold it alone, as a system does that is short of memory.
  void forget() const {
    EXPECT_EQ(::fsync(descriptor_), 0);
    EXPECT_EQ(::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  void rememberPart() const {
    char bytes[10'000];
    EXPECT_EQ(::pread(descriptor_, bytes, sizeof bytes, 500'000), static_cast<ssize_t>(sizeof bytes));
  }
  int64_t numCachedPages() const {
    auto length = static_cast<size_t>(::lseek(descriptor_, 0, SEEK_END));
    std::vector<unsigned char> pages(length / 4096 + 1);
    void* mapped = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor_, 0);
    EXPECT_EQ(::mincore(mapped, length, pages.data()), 0);
    ::munmap(mapped, length);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char state) { return (state & 1) != 0; });
  }

 private:
  int descriptor_;
};

int64_t numCachedPages(const std::string& folder) {
  int64_t pages = 0;
  for (const auto& path : openFiles(folder)) pages = std::max(pages, Reopened(path).numCachedPages());
  return pages;
}

bool isInMemory(const std::string& folder) {
  struct statfs system{};
  EXPECT_EQ(::statfs(folder.c_str(), &system), 0);
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

TEST(Spill, whatThePageCacheForgotDoesNotComeBackToIt) {
  for (bool encrypted : {false, true}) {
    SCOPED_TRACE(encrypted);
    TemporaryFolder folder;
    if (isInMemory(folder.path())) GTEST_SKIP() << "tmpfs has no disk behind the page cache: " << folder.path();
    SpillOptions options{100 * kMebibyte, {folder.path()}, {}};
    if (encrypted) options.key = readCipherKey(kKey, "key");
    SpillSpace space(options);
    RowStore rows(largeRows(), &space);
    // No batch of 50 lies on the border of two windows, which are 50 chunks of 10 rows.
    for (uint64_t id = 0; id < 1500; ++id) append(rows, id);
    rows.finish();
    RowReader reader(rows);
    expectOrder(reader, Order(1500, 10, 5, 1, true), 50);  // from the page cache
    for (const auto& path : openFiles(folder.path())) Reopened(path).forget();
    ASSERT_EQ(numCachedPages(folder.path()), 0);
    for (int64_t epoch = 2; epoch <= 3; ++epoch) expectOrder(reader, Order(1500, 10, 5, epoch, true), 50);
    EXPECT_EQ(reader.numSingleRows(), 0);
    EXPECT_EQ(numCachedPages(folder.path()), 0);
    for (const auto& path : openFiles(folder.path())) Reopened(path).rememberPart();
    EXPECT_GT(numCachedPages(folder.path()), 0);
    expectOrder(reader, Order(1500, 10, 5, 4, true), 50);
  }
}

TEST(Spill, aFileThatLostItsEndIsAResourceError) {
  for (int64_t mebibytes : {3, 100}) {  // row by row, and a window at once
    SCOPED_TRACE(mebibytes);
    TemporaryFolder folder;
    SpillSpace space({mebibytes * kMebibyte, {folder.path()}, {}});
    RowStore rows(largeRows(), &space);
    for (uint64_t id = 0; id < 1500; ++id) append(rows, id);
    rows.finish();
    for (const auto& path : openFiles(folder.path())) std::filesystem::resize_file(path, 500'000);
    RowReader reader(rows);
    Order order(1500, 10, 5, 1, true);
    std::string failure;
    try {
      expectOrder(reader, order, 50);
    } catch (const ResourceError& error) {
      failure = error.what();
    }
    EXPECT_NE(failure.find("Rows on disk cannot be read back: folder " + folder.path()), std::string::npos) << failure;
    EXPECT_NE(failure.find(" bytes: the file is shorter"), std::string::npos) << failure;
  }
}

TEST(Spill, onlyEncryptedRowsCannotBeReadOnDisk) {
  for (bool encrypted : {false, true}) {
    TemporaryFolder folder;
    SpillOptions options{0, {folder.path()}, {}};
    if (encrypted) options.key = readCipherKey(kKey, "key");
    SpillSpace space(options);
    RowStore rows(oneClass(DType::kUint8, 1000), &space);
    const char* secret = "a secret that nobody should find";
    while (rows.numRows() < 5000) {
      std::byte* row = rows.append(0, 0, 1);
      std::memset(row, 0, 1000);
      std::memcpy(row + 100, secret, std::strlen(secret));
    }
    std::string contents = contentsOf(folder.path());
    EXPECT_GT(contents.size(), 3'000'000u);
    EXPECT_EQ(contents.find(secret) == std::string::npos, encrypted);
  }
}

std::string failureOf(const SpillOptions& options) {
  SpillSpace space(options);
  RowStore rows(largeRows(), &space);
  try {
    for (uint64_t id = 0; id < 100; ++id) append(rows, id);
  } catch (const ResourceError& error) {
    return error.what();
  }
  return "";
}

TEST(Spill, aFolderThatTakesNothingIsNamed) {
  EXPECT_EQ(failureOf({kMebibyte, {"/nowhere/at/all"}, {}}),
            "Rows beyond dataMemory cannot be kept on disk: folder /nowhere/at/all, 1000384 bytes: No such file or "
            "directory, dataMemory: 1048576 bytes, on disk so far: 0 bytes; raise dataMemory, or give a folder with "
            "more space");
  EXPECT_EQ(failureOf({kMebibyte, {}, {}}),
            "Rows beyond dataMemory cannot be kept on disk: no folder is given for them, dataMemory: 1048576 bytes, on "
            "disk so far: 0 bytes; raise dataMemory, or give a folder with more space");
}

TEST(Spill, oneOfTwoFoldersIsEnough) {
  TemporaryFolder folder;
  EXPECT_EQ(failureOf({kMebibyte, {"/nowhere/at/all", folder.path()}, {}}), "");
}

TEST(Spill, aFullDiskIsAResourceError) {
  TemporaryFolder folder;
  auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit small{3 << 20, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string failure = failureOf({kMebibyte, {folder.path()}, {}});
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_NE(failure.find(folder.path() + ", 1000384 bytes: File too large"), std::string::npos) << failure;
  EXPECT_NE(failure.find("on disk so far: 3010560 bytes; raise dataMemory"), std::string::npos) << failure;
}

TEST(Spill, batchesAreTheSameFromDisk) {
  TemporaryFolder folder;
  SpillSpace space({2 * kMebibyte, {folder.path()}, {}});
  RowStore memory(largeRows()), disk(largeRows(), &space);
  for (uint64_t id = 0; id < 100; ++id) {
    append(memory, id);
    append(disk, id);
  }
  Batcher fromMemory(memory), fromDisk(disk);
  Batch one(16, memory.format()), other(16, disk.format());
  std::vector<int64_t> rows = {99, 0, 50, 51, 7};
  fromMemory.assemble(rows, one);
  fromDisk.assemble(rows, other);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(one.rowIds[i], other.rowIds[i]);
    EXPECT_EQ(one.features[1].all()[i * 3 + 2], other.features[1].all()[i * 3 + 2]);
    EXPECT_EQ(one.features[0].all()[i * 100'000 + 997], other.features[0].all()[i * 100'000 + 997]);
  }
  EXPECT_EQ(one.targets[1].values[9], other.targets[1].values[9]);
  EXPECT_EQ(one.targets[0].weightSum, other.targets[0].weightSum);
}

}  // namespace
}  // namespace bloomery::data
