#include "comm/Communicator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/NamedThread.h"
#include "base/Random.h"
#include "comm/Ranks.h"

namespace bloomery::comm {
namespace {

constexpr Timeout kPlenty(20000);

struct Case {
  const char* transport;
  int size;
};

class CommunicatorTest : public testing::TestWithParam<Case> {
 protected:
  Communicators connect() const {
    std::string transport = GetParam().transport;
    if (transport == "local") return makeLocalGroup(size());
    return connectOverLoopback(size(), transport == "encrypted", "127.0.0.1",
                               transport == "sockets" ? OnOneMachine::kConnections : OnOneMachine::kShareMemory);
  }
  int size() const { return GetParam().size; }
};

INSTANTIATE_TEST_SUITE_P(All, CommunicatorTest,
                         testing::Values(Case{"local", 1}, Case{"local", 2}, Case{"local", 3}, Case{"local", 4},
                                         Case{"gloo", 1}, Case{"gloo", 2}, Case{"gloo", 3}, Case{"gloo", 4},
                                         Case{"sockets", 2}, Case{"sockets", 3}, Case{"sockets", 4},
                                         Case{"encrypted", 2}, Case{"encrypted", 3}, Case{"encrypted", 4}),
                         [](const auto& test) { return test.param.transport + std::to_string(test.param.size); });

float valueOf(int rank, size_t index) { return uniformFloat(philox(static_cast<uint64_t>(rank), index, 0)[0]) - 0.5f; }

TEST_P(CommunicatorTest, knowsItsPlace) {
  Communicators ranks = connect();
  ASSERT_EQ(ranks.size(), static_cast<size_t>(size()));
  for (int rank = 0; rank < size(); ++rank) {
    EXPECT_EQ(ranks[static_cast<size_t>(rank)]->rank(), rank);
    EXPECT_EQ(ranks[static_cast<size_t>(rank)]->size(), size());
  }
}

TEST_P(CommunicatorTest, allreduceSumsWithTheSameBitsEverywhere) {
  Communicators ranks = connect();
  for (size_t count : {0, 1, 2, 3, 5, 7, 64, 1000, 300000, 1200007}) {
    std::vector<std::vector<float>> results(ranks.size());
    onAllRanks(ranks, [&](Communicator& communicator) {
      auto& values = results[static_cast<size_t>(communicator.rank())];
      values.resize(count);
      for (size_t i = 0; i < count; ++i) values[i] = valueOf(communicator.rank(), i);
      communicator.allreduce(std::span<float>(values), kPlenty);
    });
    for (size_t i = 0; i < count; i += 1 + count / 1000) {
      double sum = 0;
      for (int rank = 0; rank < size(); ++rank) sum += valueOf(rank, i);
      ASSERT_NEAR(results[0][i], sum, 1e-6) << "value " << i << " of " << count;
    }
    for (const auto& result : results) {
      ASSERT_TRUE(count == 0 || std::memcmp(result.data(), results[0].data(), count * sizeof(float)) == 0) << count;
    }
  }
}

TEST_P(CommunicatorTest, allreduceSumsDoubles) {
  Communicators ranks = connect();
  onAllRanks(ranks, [&](Communicator& communicator) {
    double values[] = {static_cast<double>(int64_t{1} << 40), 0.5, static_cast<double>(communicator.rank())};
    communicator.allreduce(std::span<double>(values), kPlenty);
    EXPECT_EQ(values[0], static_cast<double>(size()) * static_cast<double>(int64_t{1} << 40));
    EXPECT_EQ(values[1], 0.5 * size());
    EXPECT_EQ(values[2], size() * (size() - 1) / 2);
  });
}

TEST_P(CommunicatorTest, allgatherGivesEverybodysValueByRank) {
  Communicators ranks = connect();
  onAllRanks(ranks, [&](Communicator& communicator) {
    auto values = communicator.allgather(~uint64_t{0} - static_cast<uint64_t>(communicator.rank()), kPlenty);
    ASSERT_EQ(values.size(), static_cast<size_t>(size()));
    for (size_t rank = 0; rank < values.size(); ++rank) EXPECT_EQ(values[rank], ~uint64_t{0} - rank);
  });
}

TEST_P(CommunicatorTest, broadcastGivesTheRootsBytes) {
  Communicators ranks = connect();
  for (int root = 0; root < size(); ++root) {
    for (size_t count : {0, 1, 13, 5000000}) {
      onAllRanks(ranks, [&](Communicator& communicator) {
        std::vector<std::byte> bytes(count, static_cast<std::byte>(communicator.rank() + 10));
        communicator.broadcast(bytes, root, kPlenty);
        for (size_t i = 0; i < count; i += 1 + count / 100) ASSERT_EQ(bytes[i], static_cast<std::byte>(root + 10));
      });
    }
  }
}

// Where workers are placed changes between attempts.
TEST(GlooCommunicator, sumsHaveTheSameBitsWhetherMessagesGoThroughMemoryOrNot) {
  std::vector<std::vector<float>> results;
  for (OnOneMachine onOneMachine : {OnOneMachine::kShareMemory, OnOneMachine::kConnections}) {
    auto ranks = connectOverLoopback(3, false, "127.0.0.1", onOneMachine);
    results.emplace_back(1200007);
    onAllRanks(ranks, [&](Communicator& communicator) {
      std::vector<float> values(results.back().size());
      for (size_t i = 0; i < values.size(); ++i) values[i] = valueOf(communicator.rank(), i);
      communicator.allreduce(std::span<float>(values), kPlenty);
      if (communicator.rank() == 2) results.back() = values;
    });
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(GlooCommunicator, countsTheBytesThatItSends) {
  auto ranks = connectOverLoopback(2);
  int64_t before = ranks[0]->bytesSent();  // of the greeting
  for (auto failure : failuresOf(ranks, [](auto& rank) {
         std::vector<float> values(1000, 1.0f);
         rank->allreduce(values, kPlenty);
       })) {
    EXPECT_EQ(failure, nullptr);
  }
  EXPECT_EQ(ranks[0]->bytesSent() - before, 4000);  // its half to the other, and the sums of that half
}

TEST_P(CommunicatorTest, manyOperationsInARowStayApart) {
  Communicators ranks = connect();
  onAllRanks(ranks, [&](Communicator& communicator) {
    for (int i = 0; i < 300; ++i) {
      float value = static_cast<float>(i + communicator.rank());
      communicator.allreduce(std::span(&value, 1), kPlenty);
      ASSERT_EQ(value, static_cast<float>(size() * i + size() * (size() - 1) / 2));
      ASSERT_EQ(communicator.allgather(static_cast<uint64_t>(i), kPlenty).front(), static_cast<uint64_t>(i));
    }
  });
}

TEST_P(CommunicatorTest, othersLosePeerAtOnceWhenItCloses) {
  if (size() == 1) GTEST_SKIP() << "has no peer";
  Communicators ranks = connect();
  auto start = Clock::now();
  auto failures = failuresOf(ranks, [&](std::unique_ptr<Communicator>& communicator) {
    if (communicator->rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      communicator.reset();
      return;
    }
    std::vector<float> values(1000);
    communicator->allreduce(std::span<float>(values), kPlenty);
  });
  EXPECT_LT(secondsSince(start), 2.0);
  for (int rank = 0; rank < size(); ++rank) {
    Failure failure = describe(failures[static_cast<size_t>(rank)]);
    EXPECT_EQ(failure.kind, rank == 1 ? "none" : "PeerLost");
    if (rank == 1) continue;
    std::string during = message(" during allreduce of 4000 bytes on rank ", rank, " of ", size());
    EXPECT_NE(failure.text.find("Lost contact with rank "), std::string::npos) << failure.text;
    EXPECT_NE(failure.text.find(during), std::string::npos) << failure.text;
  }
}

TEST_P(CommunicatorTest, peerThatNeverComesIsLostAfterTheTimeout) {
  if (size() == 1) GTEST_SKIP() << "has no peer";
  Communicators ranks = connect();
  auto start = Clock::now();
  auto failures = failuresOf(ranks, [&](std::unique_ptr<Communicator>& communicator) {
    if (communicator->rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      return;
    }
    std::vector<float> values(1000);
    communicator->allreduce(std::span<float>(values), Timeout(400));
  });
  EXPECT_LT(secondsSince(start), 3.0);
  for (int rank = 1; rank < size(); ++rank) {
    Failure failure = describe(failures[static_cast<size_t>(rank)]);
    EXPECT_EQ(failure.kind, "PeerLost") << failure.text;
  }
  if (size() == 2) {
    EXPECT_NE(describe(failures[1]).text.find("Lost contact with rank 0 during"), std::string::npos)
        << describe(failures[1]).text;
  }
  // What failed stays failed: no later call may wait, let alone succeed.
  start = Clock::now();
  for (auto& rank : ranks) {
    EXPECT_EQ(failureOf([&] { rank->allgather(1, kPlenty); }).kind, "PeerLost");
  }
  EXPECT_LT(secondsSince(start), 1.0);
}

TEST_P(CommunicatorTest, abortEndsWaitsHereAndThere) {
  Communicators ranks = connect();
  if (size() == 1) {
    ranks[0]->abort();
    float value = 1;
    EXPECT_EQ(failureOf([&] { ranks[0]->allreduce(std::span(&value, 1), kPlenty); }).kind, "Cancelled");
    return;
  }
  // Rank 1 never comes; the others wait for it, and rank 0 is told to stop while it waits.
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ranks[0]->abort();
  });
  auto start = Clock::now();
  auto failures = failuresOf(ranks, [&](std::unique_ptr<Communicator>& communicator) {
    if (communicator->rank() == 1) return;
    std::vector<float> values(2000000);
    communicator->allreduce(std::span<float>(values), kPlenty);
  });
  aborter.join();
  EXPECT_LT(secondsSince(start), 1.0);
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == 1) continue;
    EXPECT_EQ(describe(failures[static_cast<size_t>(rank)]).kind, rank == 0 ? "Cancelled" : "PeerLost");
  }
  EXPECT_EQ(failureOf([&] { ranks[1]->allgather(1, kPlenty); }).kind, "PeerLost");
}

TEST_P(CommunicatorTest, leavesNoThreadBehind) {
  {
    Communicators ranks = connect();
  }
  EXPECT_EQ(countNamedThreads(), 0);
}

TEST(LocalGroup, refusesOperationsThatDoNotMatch) {
  auto ranks = makeLocalGroup(2);
  auto failures = failuresOf(ranks, [&](std::unique_ptr<Communicator>& communicator) {
    std::vector<float> values(static_cast<size_t>(communicator->rank()) + 1);
    communicator->allreduce(std::span<float>(values), kPlenty);
  });
  std::string kinds = describe(failures[0]).kind + describe(failures[1]).kind;
  EXPECT_TRUE(kinds == "InternalErrorPeerLost" || kinds == "PeerLostInternalError") << kinds;
}

}  // namespace
}  // namespace bloomery::comm
