#include "comm/host/MessageRing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/AnotherProcess.h"

namespace bloomery::comm {
namespace {

using Bytes = std::vector<std::byte>;

constexpr size_t kQuarter = MessageRing::kBytes / 4;

Bytes bytesOf(int value, size_t count) { return Bytes(count, static_cast<std::byte>(value)); }

struct Pair {
  RingMemory first{3}, second{3};
  std::optional<MessageRing> there = MessageRing::find(first, 0, 2, second.place());
  std::optional<MessageRing> here = MessageRing::find(second, 2, 0, first.place());
};

TEST(MessageRing, bringsMessagesBothWaysInOrder) {
  Pair pair;
  ASSERT_TRUE(pair.there && pair.here);
  for (int round = 0; round < 10; ++round) {  // past its end
    Bytes one = bytesOf(round, 70001), two = bytesOf(round + 100, kQuarter), came(one.size()), next(two.size());
    ASSERT_TRUE(pair.there->put(one));
    ASSERT_TRUE(pair.there->put(two));
    ASSERT_TRUE(pair.here->put(two));
    pair.here->take(came);
    pair.here->take(next);
    EXPECT_EQ(came, one);
    EXPECT_EQ(next, two);
    pair.there->take(next);
    EXPECT_EQ(next, two);
  }
}

TEST(MessageRing, refusesWhatItHasNoRoomFor) {
  Pair pair;
  EXPECT_FALSE(pair.there->put(bytesOf(1, MessageRing::kBytes + 1)));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(pair.there->put(bytesOf(i, kQuarter)));
  EXPECT_FALSE(pair.there->put(bytesOf(4, 1)));
  Bytes came(kQuarter);
  pair.here->take(came);
  EXPECT_EQ(came, bytesOf(0, kQuarter));
  EXPECT_FALSE(pair.there->put(bytesOf(4, kQuarter + 1)));
  EXPECT_TRUE(pair.there->put(bytesOf(4, kQuarter)));
  for (int i = 1; i < 5; ++i) {
    pair.here->take(came);
    EXPECT_EQ(came, bytesOf(i, kQuarter));
  }
}

// What does not fit in one piece before the end begins anew, and what is passed over has to be free, too.
TEST(MessageRing, keepsAMessageInOnePiece) {
  Pair pair;
  Bytes large = bytesOf(1, 3 * kQuarter), came(large.size());
  ASSERT_TRUE(pair.there->put(large));
  EXPECT_FALSE(pair.there->put(bytesOf(2, 2 * kQuarter)));
  pair.here->take(came);
  ASSERT_TRUE(pair.there->put(bytesOf(2, 2 * kQuarter)));
  EXPECT_FALSE(pair.there->put(bytesOf(3, 2 * kQuarter)));
  came.resize(2 * kQuarter);
  pair.here->take(came);
  EXPECT_EQ(came, bytesOf(2, 2 * kQuarter));
}

TEST(MessageRing, reachesAnotherProcess) {
  RingMemory first(2), second(2);
  MemoryPlace place = first.place();
  EXPECT_TRUE(inAnotherProcess([&] {
    auto ring = MessageRing::find(second, 1, 0, place);
    return ring && ring->put(bytesOf(5, 100000));
  }));
  auto ring = MessageRing::find(first, 0, 1, second.place());
  ASSERT_TRUE(ring);
  Bytes came(100000);
  ring->take(came);
  EXPECT_EQ(came, bytesOf(5, 100000));
}

TEST(MessageRing, isNotFoundWhereMemoryIsNotThePeers) {
  RingMemory own(2), peer(2), larger(3);
  auto finds = [&](const MemoryPlace& place) { return MessageRing::find(own, 0, 1, place).has_value(); };
  ASSERT_TRUE(finds(peer.place()));
  EXPECT_FALSE(finds({})) << "nobody's";
  EXPECT_FALSE(finds(larger.place())) << "of a group of another size";
  MemoryPlace place = peer.place();
  ++place.network;
  EXPECT_FALSE(finds(place)) << "behind another network";
  place = peer.place();
  place.mark[3] ^= std::byte{1};
  EXPECT_FALSE(finds(place)) << "another process that has the number";
  place = peer.place();
  place.process = 1 << 30;
  EXPECT_FALSE(finds(place)) << "no such process";
}

}  // namespace
}  // namespace bloomery::comm
