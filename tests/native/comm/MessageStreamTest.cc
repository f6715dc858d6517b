#include "comm/tcp/MessageStream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "comm/Relay.h"

namespace bloomery::comm {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytesFrom(size_t first, size_t count) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((first + i) * 2654435761u >> 13);
  return bytes;
}

// Two connected sockets; an end is read and written by hand.
struct Wire {
  Wire() {
    Listener listener("127.0.0.1");
    near = connectTo(listener.address());
    while (!far.open()) far = listener.accept();
    fcntl(near.descriptor(), F_SETFL, O_NONBLOCK);
  }
  Socket near, far;
};

// Moves bytes at both ends till body() is true; gives up after ten seconds.
template <typename Body>
bool advanceTill(MessageStream& one, MessageStream& other, Body body) {
  for (int i = 0; i < 10000 && !body(); ++i) {
    one.advance();
    other.advance();
    if (body()) return true;
    pollfd sockets[] = {{one.descriptor(), one.events(), 0}, {other.descriptor(), other.events(), 0}};
    poll(sockets, 2, 1);
  }
  return body();
}

std::string endOf(MessageStream& stream) {
  for (int i = 0; i < 1000; ++i) {
    try {
      stream.advance();
    } catch (const StreamEnded& end) {
      return end.what();
    }
    pollfd socket = {stream.descriptor(), stream.events(), 0};
    poll(&socket, 1, 10);
  }
  return "none";
}

// Both ends are in this process.
class MessagePaths : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) share();
  }
  void share() {
    one.share(ringOf(0).value());
    other.share(ringOf(1).value());
  }
  std::optional<MessageRing> ringOf(size_t end) const {
    return MessageRing::find(memories[end], static_cast<int>(end), static_cast<int>(1 - end),
                             memories[1 - end].place());
  }

  RingMemory memories[2] = {RingMemory(2), RingMemory(2)};
  Wire wire;
  MessageStream one{{std::move(wire.near), nullptr}}, other{{std::move(wire.far), nullptr}};
};

INSTANTIATE_TEST_SUITE_P(Paths, MessagePaths, testing::Bool(),
                         [](const auto& test) { return test.param ? "memory" : "wire"; });

TEST_P(MessagePaths, bringMessagesOfAnySizeBothWaysInOrder) {
  const std::vector<size_t> sizes = {1, 0, 5, 70000, 0, 0, 16, 9000001, 3, 1048576, 17};
  std::vector<Bytes> sent, there(sizes.size()), here(sizes.size());
  int sentHere = 0, sentThere = 0, cameHere = 0, cameThere = 0;
  for (size_t i = 0; i < sizes.size(); ++i) sent.push_back(bytesFrom(i, sizes[i]));
  for (size_t i = 0; i < sizes.size(); ++i) {
    there[i].resize(sizes[i]);
    here[i].resize(sizes[i]);
    one.send(i, sent[i], sentHere);
    other.send(i, sent[i], sentThere);
    other.receive(i, there[i], cameThere);
    one.receive(i, here[i], cameHere);
  }
  int all = static_cast<int>(sizes.size());
  EXPECT_TRUE(advanceTill(one, other, [&] { return cameHere == all && cameThere == all; }));
  EXPECT_EQ(sentHere, all);
  EXPECT_EQ(sentThere, all);
  EXPECT_EQ(there, sent);
  EXPECT_EQ(here, sent);
  EXPECT_EQ(one.events(), 0);
}

using MemoryPath = MessagePaths;
INSTANTIATE_TEST_SUITE_P(Only, MemoryPath, testing::Values(true), [](const auto&) { return "memory"; });

TEST_P(MemoryPath, copiesALargeMessageAtOnce) {
  Bytes sent = bytesFrom(3, 1 << 20), wanted = sent, came(sent.size());
  int gone = 0, arrived = 0;
  one.send(7, sent, gone);
  one.advance();
  EXPECT_EQ(gone, 1);
  EXPECT_FALSE(one.concerns(gone));
  EXPECT_EQ(one.events(), 0);
  std::ranges::fill(sent, std::byte{0});  // it is the caller's again
  other.receive(7, came, arrived);
  EXPECT_TRUE(advanceTill(one, other, [&] { return arrived == 1; }));
  EXPECT_EQ(came, wanted);
}

// What the ring has no room for goes over the connection, in its turn.
TEST_P(MemoryPath, goesOverTheConnectionWhileTheRingIsFull) {
  constexpr size_t kMessages = 40;
  std::vector<Bytes> sent, came(kMessages, Bytes(MessageRing::kBytes / 4));
  int gone = 0, arrived = 0;
  for (size_t i = 0; i < kMessages; ++i) sent.push_back(bytesFrom(i, came[i].size()));
  for (size_t i = 0; i < kMessages; ++i) one.send(i, sent[i], gone);
  one.advance();
  EXPECT_GE(gone, 4);
  EXPECT_EQ(one.events(), POLLOUT);  // more than the ring and the connection hold
  for (size_t i = 0; i < kMessages; ++i) other.receive(i, came[i], arrived);
  EXPECT_TRUE(advanceTill(one, other, [&] { return gone == kMessages && arrived == kMessages; }));
  EXPECT_EQ(came, sent);
}

TEST_P(MemoryPath, mayBeginBetweenTwoMessages) {
  Wire another;
  MessageStream first({std::move(another.near), nullptr}), second({std::move(another.far), nullptr});
  Bytes small = bytesFrom(1, 100), large = bytesFrom(2, 70000), smallCame(100), largeCame(70000);
  int gone = 0, arrived = 0;
  first.send(1, small, gone);
  first.share(ringOf(0).value());
  first.send(2, large, gone);
  first.advance();  // the header of the second comes with the first
  second.receive(1, smallCame, arrived);
  ASSERT_TRUE(advanceTill(first, second, [&] { return arrived == 1; }));
  second.share(ringOf(1).value());
  second.receive(2, largeCame, arrived);
  EXPECT_TRUE(advanceTill(first, second, [&] { return gone == 2 && arrived == 2; }));
  EXPECT_EQ(smallCame, small);
  EXPECT_EQ(largeCame, large);
}

// By hand, what an end that is not sound could send.
TEST_P(MemoryPath, endsWhenTheRingCannotHaveWhatIsToldOf) {
  constexpr uint64_t kInRing = uint64_t{1} << 63;
  struct {
    uint64_t slot, numBytes;
    size_t awaited;
  } cases[] = {{7, kInRing | 70001, 70000},
               {8, kInRing | 70000, 70000},
               {7, kInRing | 40000, 40000},
               {7, kInRing | (MessageRing::kBytes + 1), MessageRing::kBytes + 1}};
  for (const auto& told : cases) {
    Wire another;
    MessageStream stream({std::move(another.near), nullptr});
    stream.share(ringOf(0).value());
    Bytes came(told.awaited);
    int done = 0;
    stream.receive(7, came, done);
    sendAll(another.far, std::string(reinterpret_cast<const char*>(&told), 2 * sizeof(uint64_t)));
    EXPECT_EQ(endOf(stream), "it sent what was not asked for") << told.awaited;
    EXPECT_EQ(done, 0);
  }
}

TEST_P(MessagePaths, keepWhatComesBeforeItIsAskedFor) {
  Bytes sent = bytesFrom(3, 100), came(100);
  int done = 0;
  for (uint64_t slot = 0; slot < 3; ++slot) one.send(slot, sent, done);
  one.advance();
  ASSERT_EQ(done, 3);
  for (uint64_t slot = 0; slot < 3; ++slot) {
    int arrived = 0;
    std::ranges::fill(came, std::byte{0});
    other.receive(slot, came, arrived);
    EXPECT_TRUE(advanceTill(one, other, [&] { return arrived == 1; })) << slot;
    EXPECT_EQ(came, sent);
  }
}

TEST(MessageStream, endsWhenWhatComesWasNotAskedFor) {
  struct {
    uint64_t slot, numBytes;
  } wrong[] = {{8, 100}, {7, 99}, {7, 101}, {7, ~uint64_t{0}}};
  for (const auto& header : wrong) {
    Wire wire;
    MessageStream stream({std::move(wire.near), nullptr});
    Bytes came(100);
    int done = 0;
    stream.receive(7, came, done);
    sendAll(wire.far, std::string(reinterpret_cast<const char*>(&header), sizeof(header)));
    EXPECT_EQ(endOf(stream), "it sent what was not asked for");
    EXPECT_EQ(done, 0);
  }
}

TEST(MessageStream, saysWhetherThePeerClosedOrReset) {
  for (bool reset : {false, true}) {
    Wire wire;
    MessageStream stream({std::move(wire.near), nullptr}), other({std::move(wire.far), nullptr});
    Bytes came(100);
    int done = 0;
    stream.receive(7, came, done);
    other.close(reset);
    EXPECT_EQ(endOf(stream), reset ? "it reset the connection" : "it closed the connection");
  }
}

TEST(MessageStream, bringsWhatWasSentBeforeThePeerClosed) {
  Wire wire;
  MessageStream stream({std::move(wire.near), nullptr}), other({std::move(wire.far), nullptr});
  Bytes sent = bytesFrom(1, 5000), came(5000);
  int gone = 0, done = 0;
  other.send(7, sent, gone);
  other.advance();
  ASSERT_EQ(gone, 1);
  other.close(false);
  stream.receive(7, came, done);
  stream.receive(8, came, done);
  EXPECT_EQ(endOf(stream), "it closed the connection");
  EXPECT_EQ(done, 1);
  EXPECT_EQ(came, sent);
}

TEST(MessageStream, knowsWhomItWouldTell) {
  Wire wire;
  MessageStream stream({std::move(wire.near), nullptr});
  Bytes bytes(100);
  int sent = 0, came = 0, nobody = 0;
  stream.receive(1, bytes, came);
  EXPECT_TRUE(stream.concerns(came));
  EXPECT_FALSE(stream.concerns(nobody));
  stream.send(1, bytes, sent);
  EXPECT_TRUE(stream.concerns(sent));
  stream.advance();
  EXPECT_EQ(sent, 1);
  EXPECT_FALSE(stream.concerns(sent));
  stream.close(true);
  EXPECT_FALSE(stream.concerns(came));
}

}  // namespace
}  // namespace bloomery::comm
