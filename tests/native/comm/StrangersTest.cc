// What somebody without credentials can do to ranks that connect, and see of those that have: nothing.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "base/JsonValue.h"
#include "comm/Ranks.h"
#include "comm/Relay.h"

namespace bloomery::comm {
namespace {

constexpr Timeout kPlenty(20000);
constexpr const char* kSecretText = "what the tensors hold; ";

// Ranks that listen and have not connected yet.
struct Group {
  Group(int numRanks, bool encrypt, Timeout timeout = kPlenty, const std::string& host = "127.0.0.1",
        OnOneMachine onOneMachine = OnOneMachine::kShareMemory)
      : size(numRanks), credentials(issueCredentials(numRanks, 0, encrypt)) {
    for (int rank = 0; rank < size; ++rank) {
      connectors.push_back(std::make_unique<GlooConnector>(rank, size, host, timeout, onOneMachine));
      addresses.push_back(connectors.back()->address());
    }
    seen.assign(static_cast<size_t>(size), addresses);
  }

  SocketAddress portOf(size_t rank) const { return socketAddressOf(addresses[rank]); }
  std::future<std::unique_ptr<Communicator>> start(size_t rank) {
    return std::async(std::launch::async, [this, rank] {
      return connectors[rank]->connect(seen[rank], credentials[rank], cancellation, log);
    });
  }
  Communicators connectAll() {
    std::vector<std::future<std::unique_ptr<Communicator>>> connecting;
    for (size_t rank = 0; rank < connectors.size(); ++rank) connecting.push_back(start(rank));
    Communicators ranks;
    for (auto& one : connecting) ranks.push_back(one.get());
    return ranks;
  }
  std::vector<Failure> failuresToConnect() {
    std::vector<std::future<Failure>> connecting;
    for (size_t rank = 0; rank < connectors.size(); ++rank) {
      connecting.push_back(std::async(std::launch::async, [this, rank] {
        auto connector = std::move(connectors[rank]);  // gone once it has failed
        return failureOf([&] { connector->connect(seen[rank], credentials[rank], cancellation, log); });
      }));
    }
    std::vector<Failure> failures;
    for (auto& one : connecting) failures.push_back(one.get());
    return failures;
  }

  int size;
  std::vector<std::string> credentials;
  std::vector<std::unique_ptr<GlooConnector>> connectors;
  std::vector<std::string> addresses;
  std::vector<std::vector<std::string>> seen;  // by rank: the addresses that it is told
  Cancellation cancellation;
  Log log;
};

void expectRightSums(Communicators& ranks) {
  onAllRanks(ranks, [&](Communicator& communicator) {
    std::vector<float> values(300000, static_cast<float>(communicator.rank() + 1));
    communicator.allreduce(std::span<float>(values), kPlenty);
    float wanted = static_cast<float>(ranks.size() * (ranks.size() + 1) / 2);
    EXPECT_EQ(values.front(), wanted);
    EXPECT_EQ(values.back(), wanted);
  });
}

size_t countOf(const std::vector<std::string>& lines, const std::string& text) {
  return static_cast<size_t>(std::count_if(
      lines.begin(), lines.end(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

std::string randomBytes(size_t count) {
  std::mt19937 generator(7);
  std::string bytes(count, 0);
  for (char& byte : bytes) byte = static_cast<char>(generator());
  return bytes;
}

// Till the other end has hung up.
void awaitEnd(const Socket& socket) {
  timeval patience = {.tv_sec = 10, .tv_usec = 0};
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  char bytes[256];
  ssize_t count;
  do count = recv(socket.descriptor(), bytes, sizeof(bytes), 0);
  while (count > 0);
  EXPECT_FALSE(count < 0 && errno == EAGAIN) << "It did not hang up";
}

// Sends a text that is easy to find, from rank 0 to rank 1 and back.
void tellSecrets(Communicators& ranks) {
  onAllRanks(ranks, [](Communicator& communicator) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += kSecretText;
    for (int root : {0, 1}) communicator.broadcast(std::as_writable_bytes(std::span(text)), root, kPlenty);
  });
}

std::string swapIn(const std::string& credentials, const std::string& others, const char* key) {
  Json json = parseJson(credentials, "credentials"), other = parseJson(others, "credentials");
  json[key] = other[key];
  return json.dump();
}

class StrangersTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Wires, StrangersTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "encrypted" : "plain"; });

TEST_P(StrangersTest, thatComeFirstChangeNothingAndAreLogged) {
  Group group(3, GetParam());
  std::vector<Socket> strangers;
  for (size_t rank = 0; rank < 2; ++rank) {  // rank 2 awaits nobody
    for (const std::string& bytes : {randomBytes(10), randomBytes(100000), std::string("GET / HTTP/1.0\r\n\r\n"),
                                     std::string("bloomer1") + randomBytes(40), std::string()}) {
      strangers.push_back(connectTo(group.portOf(rank)));
      ASSERT_TRUE(strangers.back().open());
      sendAll(strangers.back(), bytes);
    }
  }
  auto start = Clock::now();
  auto ranks = group.connectAll();
  EXPECT_LT(secondsSince(start), 10.0);
  expectRightSums(ranks);
  EXPECT_EQ(countOf(group.log.drain(), "Refused a connection from 127.0.0.1:"), strangers.size());
  for (size_t rank = 0; rank < 3; ++rank) EXPECT_FALSE(connectTo(group.portOf(rank)).open()) << "port of rank " << rank;
}

TEST_P(StrangersTest, thatKeepComingDoNotHoldUpThePeers) {
  Group group(3, GetParam());
  std::atomic<bool> stop = false;
  std::thread crowd([&] {
    std::list<Socket> strangers;
    while (!stop) {
      strangers.push_back(connectTo(group.portOf(strangers.size() % 2)));
      if (!strangers.back().open()) strangers.pop_back();
      if (strangers.size() % 2 == 1) sendAll(strangers.back(), randomBytes(64));
      if (strangers.size() > 300) strangers.pop_front();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // hundreds a second, not all of a core
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  auto ranks = group.connectAll();
  stop = true;
  crowd.join();
  expectRightSums(ranks);
  EXPECT_GT(countOf(group.log.drain(), "Refused a connection"), 0u);
}

TEST_P(StrangersTest, whoReplayAHandshakeAreRefused) {
  Group recorded(2, GetParam());
  Relay relay(recorded.portOf(0));
  recorded.seen[1][0] = withSocketAddress(recorded.addresses[0], relay.address());
  auto first = recorded.connectAll();
  expectRightSums(first);
  std::string saidByOne = relay.sentByConnecting(), saidByZero = relay.sentByAccepting();
  ASSERT_GT(saidByOne.size(), 80u);

  // The same credentials again, which no fit would have.
  Group again(2, GetParam());
  again.credentials = recorded.credentials;
  auto zero = again.start(0);
  Socket replayed = connectTo(again.portOf(0));
  sendAll(replayed, saidByOne);
  awaitEnd(replayed);
  auto one = again.start(1);
  Communicators ranks;
  ranks.push_back(zero.get());
  ranks.push_back(one.get());
  expectRightSums(ranks);
  auto lines = again.log.drain();
  EXPECT_EQ(countOf(lines, "Refused a connection"), 1u);
  EXPECT_EQ(countOf(lines, "it does not know the secret of rank 1"), GetParam() ? 0u : 1u);

  // And to the one that connects.
  Group fooled(2, GetParam(), Timeout(700));
  fooled.credentials = recorded.credentials;
  Listener impostor("127.0.0.1");
  fooled.seen[1][0] = withSocketAddress(fooled.addresses[0], impostor.address());
  std::atomic<bool> stop = false;
  std::thread replies([&] {
    std::list<Socket> sockets;
    while (!stop) {
      if (Socket socket = impostor.accept(); socket.open()) {
        sendAll(socket, saidByZero.substr(0, 4000));
        sockets.push_back(std::move(socket));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  auto failures = fooled.failuresToConnect();
  stop = true;
  replies.join();
  for (const Failure& failure : failures) EXPECT_EQ(failure.kind, "PeerLost");
  EXPECT_EQ(failures[1].text.find("Not connected within 700 ms: waited for rank 0 on rank 1 of 2: "), 0u)
      << failures[1].text;
}

TEST_P(StrangersTest, ofAnotherAttemptAreRefused) {
  Group group(2, GetParam(), Timeout(700));
  group.credentials[1] = issueCredentials(2, 0, GetParam())[1];
  for (const Failure& failure : group.failuresToConnect()) EXPECT_EQ(failure.kind, "PeerLost");
  EXPECT_GT(countOf(group.log.drain(), "Refused a connection"), 0u);
}

TEST_P(StrangersTest, attemptIsPartOfTheProof) {
  Group group(2, GetParam(), Timeout(700));
  Json json = parseJson(group.credentials[1], "credentials");
  json["attempt"] = 1;
  group.credentials[1] = json.dump();
  for (const Failure& failure : group.failuresToConnect()) EXPECT_EQ(failure.kind, "PeerLost");
}

TEST_P(StrangersTest, readTheWireOnlyWhenItIsPlain) {
  Group group(2, GetParam(), kPlenty, "127.0.0.1", OnOneMachine::kConnections);
  Relay relay(group.portOf(0));
  group.seen[1][0] = withSocketAddress(group.addresses[0], relay.address());
  auto ranks = group.connectAll();
  tellSecrets(ranks);
  ranks.clear();
  bool readable = !GetParam();
  for (const std::string& sent : {relay.sentByConnecting(), relay.sentByAccepting()}) {
    EXPECT_GT(sent.size(), 100000u);
    EXPECT_EQ(sent.find(kSecretText) != std::string::npos, readable);
  }
  EXPECT_EQ(relay.sentByConnecting().find("bloomer1") != std::string::npos, readable);
}

TEST(Memory, isReadInPlaceOfTheWire) {
  for (OnOneMachine onOneMachine : {OnOneMachine::kShareMemory, OnOneMachine::kConnections}) {
    Group group(2, false, kPlenty, "127.0.0.1", onOneMachine);
    Relay relay(group.portOf(0));
    group.seen[1][0] = withSocketAddress(group.addresses[0], relay.address());
    auto ranks = group.connectAll();
    expectRightSums(ranks);  // of 1.2 MB
    ranks.clear();
    bool wire = onOneMachine == OnOneMachine::kConnections;
    for (const std::string& sent : {relay.sentByConnecting(), relay.sentByAccepting()}) {
      EXPECT_EQ(sent.size() > 1200000, wire) << sent.size();
      EXPECT_EQ(sent.size() < 1000, !wire) << sent.size();
    }
  }
}

// As from another machine or container.
TEST(Memory, isNotReadWhereItIsNotFound) {
  Group group(2, false);
  Relay relay(group.portOf(0));
  group.seen[1][0] = withSocketAddress(group.addresses[0], relay.address());
  constexpr size_t kNetwork = 16;  // behind the header
  ++group.seen[0][1][kNetwork];    // rank 0 does not find rank 1, which finds rank 0
  auto ranks = group.connectAll();
  expectRightSums(ranks);
  ranks.clear();
  EXPECT_GT(relay.sentByConnecting().size(), 1200000u);
  EXPECT_GT(relay.sentByAccepting().size(), 1200000u);
}

TEST_P(StrangersTest, whoWriteIntoAConnectionEndItAndNothingElse) {
  Group group(2, GetParam());
  Relay relay(group.portOf(0));
  group.seen[1][0] = withSocketAddress(group.addresses[0], relay.address());
  auto ranks = group.connectAll();
  expectRightSums(ranks);
  uint64_t unexpectedData[3] = {4711, 8, 0};  // for an unknown slot
  relay.inject({reinterpret_cast<const char*>(unexpectedData), sizeof(unexpectedData)});
  auto start = Clock::now();
  auto failures = failuresOf(ranks, [](auto& rank) {
    std::vector<float> values(300000, 1);
    while (true) rank->allreduce(std::span<float>(values), kPlenty);
  });
  EXPECT_LT(secondsSince(start), 5.0);
  for (auto& failure : failures) EXPECT_EQ(describe(failure).kind, "PeerLost") << describe(failure).text;
}

TEST(Encryption, refusesARankThatIsPlain) {
  Group group(2, true, Timeout(700));
  Json plain = parseJson(group.credentials[1], "credentials");
  plain.erase("tls");
  group.credentials[1] = plain.dump();
  for (const Failure& failure : group.failuresToConnect()) EXPECT_EQ(failure.kind, "PeerLost");
}

TEST(Encryption, refusesACertificateOfAForeignAuthority) {
  for (Timeout timeout : {Timeout(700), Timeout(1500)}) {  // of rank 1: also when rank 0 has given up
    Group group(2, true, Timeout(700));
    group.connectors[1] = std::make_unique<GlooConnector>(1, 2, "127.0.0.1", timeout);
    group.credentials[1] = swapIn(group.credentials[1], issueCredentials(2, 0, true)[1], "tls");
    auto failures = group.failuresToConnect();
    EXPECT_NE(failures[1].text.find("certificate verify failed"), std::string::npos) << failures[1].text;
  }
}

TEST(Encryption, refusesACertificateOfAnotherRank) {
  Group group(3, true, Timeout(700));
  group.credentials[1] = swapIn(group.credentials[1], group.credentials[2], "tls");
  group.failuresToConnect();
  EXPECT_GT(countOf(group.log.drain(), "its certificate is not of rank 1: 'bloomery rank 2 of 3, attempt 0'"), 0u);
}

// A peer that reads nothing must not keep this rank from ending.
TEST(Encryption, abortEndsAWriteThatNobodyReads) {
  auto ranks = connectOverLoopback(2, true);
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ranks[0]->abort();
  });
  auto start = Clock::now();
  std::vector<std::byte> bytes(64 << 20);
  EXPECT_EQ(failureOf([&] { ranks[0]->broadcast(bytes, 0, kPlenty); }).kind, "Cancelled");
  EXPECT_LT(secondsSince(start), 2.0);
  aborter.join();
}

bool hasIpv6Loopback() {
  std::ifstream addresses("/proc/net/if_inet6");
  std::string line;
  while (std::getline(addresses, line)) {
    if (line.starts_with("00000000000000000000000000000001 ")) return true;
  }
  return false;
}

struct Crowd {
  int size;
  bool encrypt;
  const char* host;
};

class CrowdTest : public testing::TestWithParam<Crowd> {};

INSTANTIATE_TEST_SUITE_P(Sizes, CrowdTest,
                         testing::Values(Crowd{2, false, "::1"}, Crowd{3, true, "::1"}, Crowd{8, false, "127.0.0.1"},
                                         Crowd{16, true, "127.0.0.1"}, Crowd{32, false, "127.0.0.1"},
                                         Crowd{32, true, "::1"}),
                         [](const auto& test) {
                           return message(test.param.size, test.param.encrypt ? "encrypted" : "plain",
                                          std::string(test.param.host) == "::1" ? "Ipv6" : "Ipv4");
                         });

TEST_P(CrowdTest, sumsTogether) {
  if (std::string(GetParam().host) == "::1" && !hasIpv6Loopback()) GTEST_SKIP() << "has no IPv6";
  auto ranks = connectOverLoopback(GetParam().size, GetParam().encrypt, GetParam().host);
  expectRightSums(ranks);
}

TEST(Crowd, mayMixIpv4AndIpv6) {
  if (!hasIpv6Loopback()) GTEST_SKIP() << "has no IPv6";
  Group group(3, false);
  for (size_t rank : {size_t(0), size_t(2)}) {
    group.connectors[rank] = std::make_unique<GlooConnector>(static_cast<int>(rank), 3, "::1", kPlenty);
    group.addresses[rank] = group.connectors[rank]->address();
  }
  group.seen.assign(3, group.addresses);
  auto ranks = group.connectAll();
  expectRightSums(ranks);
}

TEST(CredentialsTest, giveEachRankItsOwnOnly) {
  auto all = issueCredentials(3, 0, true);
  std::vector<Json> json;
  for (const std::string& one : all) json.push_back(parseJson(one, "credentials"));
  for (size_t a = 0; a < 3; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      if (a == b) continue;
      EXPECT_EQ(json[a]["secrets"][b], json[b]["secrets"][a]);
      EXPECT_EQ(all[a].find(json[b]["tls"]["key"].get<std::string>()), std::string::npos);
      size_t third = 3 - a - b;
      EXPECT_EQ(all[a].find(json[b]["secrets"][third].get<std::string>()), std::string::npos);
    }
  }
}

TEST(CredentialsTest, complainWithoutQuotingThemselves) {
  std::string text = issueCredentials(2, 0, true)[1];
  for (const std::string& wrong : {text.substr(0, 900), std::string(), text + "x"}) {
    Failure failure = failureOf([&] { Credentials::read(wrong, 1, 2); });
    EXPECT_EQ(failure.kind, "InternalError");
    EXPECT_EQ(failure.text, message("Not the credentials of rank 1 of 2: ", wrong.size(), " bytes"));
  }
  EXPECT_EQ(failureOf([&] { Credentials::read(text, 0, 2); }).kind, "InternalError");
}

}  // namespace
}  // namespace bloomery::comm
