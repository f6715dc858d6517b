// Memory that decoded batches come from.
#include "data/arrow/RecyclingPool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "base/RestingPages.h"
#include "base/Rests.h"

namespace bloomery::data {
namespace {

TEST(RecyclingPool, GivesAgainWhatWasLetGo) {
  arrow::MemoryPool& pool = *recyclingPool();
  std::shared_ptr<void> kept = keepRecycling();
  pool.ReleaseUnused();
  int64_t before = pool.bytes_allocated();
  uint8_t *first = nullptr, *second = nullptr;
  ASSERT_TRUE(pool.Allocate(1'000'000, &first).ok());
  pool.Free(first, 1'000'000);
  ASSERT_TRUE(pool.Allocate(990'000, &second).ok());
  EXPECT_EQ(second, first);
  pool.Free(second, 990'000);
  EXPECT_GT(pool.bytes_allocated(), before);
  kept.reset();
  EXPECT_EQ(pool.bytes_allocated(), before);
}

TEST(RecyclingPool, KeepsLittleThatNobodyUses) {
  arrow::MemoryPool& pool = *recyclingPool();
  std::shared_ptr<void> kept = keepRecycling();
  pool.ReleaseUnused();
  returnRestedPages(std::chrono::milliseconds(0));
  int64_t before = pool.bytes_allocated();
  std::vector<uint8_t*> buffers(100);
  for (uint8_t*& buffer : buffers) ASSERT_TRUE(pool.Allocate(1 << 20, &buffer).ok());
  EXPECT_EQ(std::set(buffers.begin(), buffers.end()).size(), buffers.size());
  for (uint8_t* buffer : buffers) pool.Free(buffer, 1 << 20);
  EXPECT_EQ(pool.bytes_allocated() - before, 32 << 20);
  EXPECT_EQ(numRestingBytes(), kRests ? 68u << 20 : 0u);
  pool.ReleaseUnused();
}

TEST(RecyclingPool, WhatItKeptRestsForTheNextUser) {
  arrow::MemoryPool& pool = *recyclingPool();
  returnRestedPages(std::chrono::milliseconds(0));
  uint8_t *first = nullptr, *second = nullptr;
  {
    std::shared_ptr<void> kept = keepRecycling();
    ASSERT_TRUE(pool.Allocate(1 << 20, &first).ok());
    pool.Free(first, 1 << 20);
    EXPECT_EQ(numRestingBytes(), 0u);
  }
  EXPECT_EQ(numRestingBytes(), kRests ? 1u << 20 : 0u);
  std::shared_ptr<void> kept = keepRecycling();
  ASSERT_TRUE(pool.Allocate(1 << 20, &second).ok());
  EXPECT_EQ(second == first, kRests);
  EXPECT_EQ(numRestingBytes(), 0u);
  pool.Free(second, 1 << 20);
}

TEST(RecyclingPool, KeepsNothingThatComesBackAfterItsLastUser) {
  arrow::MemoryPool& pool = *recyclingPool();
  int64_t before = pool.bytes_allocated();
  uint8_t* buffer = nullptr;
  {
    std::shared_ptr<void> kept = keepRecycling();
    ASSERT_TRUE(pool.Allocate(1 << 20, &buffer).ok());
  }
  pool.Free(buffer, 1 << 20);
  EXPECT_EQ(pool.bytes_allocated(), before);
}

TEST(RecyclingPool, KeepsValuesThroughEverySize) {
  arrow::MemoryPool& pool = *recyclingPool();
  std::shared_ptr<void> kept = keepRecycling();
  uint8_t* buffer = nullptr;
  int64_t size = 1000;
  ASSERT_TRUE(pool.Allocate(size, &buffer).ok());
  std::memset(buffer, 7, 1000);
  for (int64_t next : {5000, 65'535, 65'536, 65'537, 81'920, 81'921, 3'000'000, 3'000'001, 70'000, 2000}) {
    ASSERT_TRUE(pool.Reallocate(size, next, &buffer).ok());
    size = next;
    buffer[size - 1] = 9;
    for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(buffer[i], 7) << next;
  }
  pool.Free(buffer, size);
}

}  // namespace
}  // namespace bloomery::data
