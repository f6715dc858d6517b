#include "comm/host/SharedValues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/Random.h"
#include "comm/Ranks.h"

namespace bloomery::comm {
namespace {

constexpr Timeout kPlenty(20000);
constexpr size_t kMost = 1200007;

float valueOf(int rank, size_t index) { return uniformFloat(philox(static_cast<uint64_t>(rank), index, 0)[0]) - 0.5f; }

// What each rank has when all have summed `count` of their values from `first` on, in shared memory or not.
std::vector<std::vector<float>> sumsOf(Communicators& ranks, size_t first, size_t count, bool shares) {
  std::vector<std::vector<float>> results(ranks.size());
  onAllRanks(ranks, [&](Communicator& communicator) {
    Arena arena(kMost, Arena::Memory::kShareable);
    if (shares) communicator.share(arena, kPlenty);
    std::span<float> all = arena.all();
    for (size_t i = 0; i < all.size(); ++i) all[i] = valueOf(communicator.rank(), i);
    communicator.allreduce(all.subspan(first, count), kPlenty);
    results[static_cast<size_t>(communicator.rank())].assign(all.begin(), all.end());
    communicator.allgather(0, kPlenty);  // the memory is there till nobody sums any more
  });
  return results;
}

// Where workers are placed changes between attempts.
TEST(SharedValues, haveTheBitsThatConnectionsGive) {
  for (int size : {2, 3, 4, 7}) {
    Communicators shared = connectOverLoopback(size);
    Communicators sockets = connectOverLoopback(size, false, "127.0.0.1", OnOneMachine::kConnections);
    for (auto [first, count] : std::initializer_list<std::pair<size_t, size_t>>{
             {0, 1}, {0, 16384}, {48, 16385}, {1, 70003}, {0, kMost}, {64, 1048576}}) {
      auto ours = sumsOf(shared, first, count, true), plain = sumsOf(sockets, first, count, false);
      for (size_t rank = 0; rank < ours.size(); ++rank) {
        ASSERT_EQ(ours[rank], plain[rank]) << size << " ranks, " << count << " values from " << first;
      }
      ASSERT_NE(ours[0][first], valueOf(0, first));
    }
  }
}

TEST(SharedValues, countBytesAsTheRingDoes) {
  auto sent = [](bool shares) {
    Communicators ranks = connectOverLoopback(2);
    int64_t bytes = 0;
    onAllRanks(ranks, [&](Communicator& communicator) {
      Arena arena(100000, Arena::Memory::kShareable);
      if (shares) communicator.share(arena, kPlenty);
      int64_t before = communicator.bytesSent();
      communicator.allreduce(arena.all(), kPlenty);
      if (communicator.rank() == 1) bytes = communicator.bytesSent() - before;
      communicator.allgather(0, kPlenty);
    });
    return bytes;
  };
  EXPECT_EQ(sent(false), 400000);
  EXPECT_EQ(sent(true), 400000 + 2);  // and a word each time when all meet
}

// One rank's memory is its own: nobody's values are shared then.
TEST(SharedValues, areSharedByAllOrByNobody) {
  Communicators ranks = connectOverLoopback(3);
  onAllRanks(ranks, [&](Communicator& communicator) {
    bool own = communicator.rank() == 1;
    Arena arena(100000, own ? Arena::Memory::kOwn : Arena::Memory::kShareable);
    communicator.share(arena, kPlenty);
    std::ranges::fill(arena.all(), 1.0f);
    communicator.allreduce(arena.all(), kPlenty);
    EXPECT_EQ(std::ranges::count(arena.all(), 3.0f), 100000);
  });
}

TEST(SharedValues, mayBeOthersLater) {
  Communicators ranks = connectOverLoopback(2);
  onAllRanks(ranks, [&](Communicator& communicator) {
    for (size_t size : {50000, 200000, 30000}) {
      Arena arena(size, Arena::Memory::kShareable), other(size);
      communicator.share(arena, kPlenty);
      for (Arena* one : {&arena, &other}) {  // what is not shared is summed as well
        std::ranges::fill(one->all(), 1.0f);
        communicator.allreduce(one->all(), kPlenty);
        EXPECT_EQ(std::ranges::count(one->all(), 2.0f), static_cast<ptrdiff_t>(size));
      }
    }
  });
}

// A peer that is gone, or late, may still write to what this rank has let go.
TEST(SharedValues, outliveTheirOwner) {
  Communicators ranks = connectOverLoopback(2);
  auto found = failuresOf(ranks, [&](std::unique_ptr<Communicator>& communicator) {
    Arena arena(kMost, Arena::Memory::kShareable);
    communicator->share(arena, kPlenty);
    if (communicator->rank() == 1) {
      communicator.reset();
      return;
    }
    communicator->allreduce(arena.all(), kPlenty);
  });
  EXPECT_EQ(describe(found[0]).kind, "PeerLost");
}

}  // namespace
}  // namespace bloomery::comm
