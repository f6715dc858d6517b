#include "comm/gloo/GlooConnector.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>

#include "base/NamedThread.h"
#include "comm/Ranks.h"

namespace bloomery::comm {
namespace {

constexpr Timeout kPlenty(20000);

std::vector<std::unique_ptr<GlooConnector>> makeConnectors(int size, Timeout timeout) {
  std::vector<std::unique_ptr<GlooConnector>> connectors;
  for (int rank = 0; rank < size; ++rank) {
    connectors.push_back(std::make_unique<GlooConnector>(rank, size, "127.0.0.1", timeout));
  }
  return connectors;
}

std::vector<std::string> addressesOf(std::vector<std::unique_ptr<GlooConnector>>& connectors) {
  std::vector<std::string> addresses;
  for (auto& connector : connectors) addresses.push_back(connector->address());
  return addresses;
}

size_t numSockets(bool onlyListening) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int descriptor = std::stoi(entry.path().filename().string());
    int listening = 0;
    socklen_t length = sizeof(listening);
    bool isSocket = getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0;
    if (isSocket && (listening != 0 || !onlyListening)) ++count;
  }
  return count;
}

TEST(GlooConnector, missingRankIsLostWhenTheTimeIsUp) {
  auto connectors = makeConnectors(3, Timeout(500));
  auto credentials = issueCredentials(3, 0, false);
  auto addresses = addressesOf(connectors);
  Cancellation cancellation;
  Log log;
  auto start = Clock::now();
  std::vector<std::future<Failure>> failures;
  for (size_t rank = 0; rank < 2; ++rank) {  // rank 2 listens but never connects
    failures.push_back(std::async(std::launch::async, [&, rank] {
      return failureOf([&] { connectors[rank]->connect(addresses, credentials[rank], cancellation, log); });
    }));
  }
  for (size_t rank = 0; rank < 2; ++rank) {
    Failure failure = failures[rank].get();
    EXPECT_EQ(failure.kind, "PeerLost") << failure.text;
    EXPECT_NE(failure.text.find(message("rank ", rank, " of 3")), std::string::npos) << failure.text;
  }
  EXPECT_LT(secondsSince(start), 2.0);
  connectors.clear();
  EXPECT_EQ(countNamedThreads(), 0);
}

TEST(GlooConnector, timeoutNamesWhomItWaitedFor) {
  auto connectors = makeConnectors(2, Timeout(300));
  auto credentials = issueCredentials(2, 0, false);
  auto addresses = addressesOf(connectors);
  Cancellation cancellation;
  Log log;
  Failure failure = failureOf([&] { connectors[0]->connect(addresses, credentials[0], cancellation, log); });
  EXPECT_EQ(failure.kind, "PeerLost");
  EXPECT_EQ(failure.text, "Not connected within 300 ms: waited for rank 1 on rank 0 of 2");
}

TEST(GlooConnector, deadRankIsLost) {
  auto connectors = makeConnectors(2, Timeout(500));
  auto credentials = issueCredentials(2, 0, false);
  auto addresses = addressesOf(connectors);
  connectors[1].reset();
  Cancellation cancellation;
  Log log;
  auto start = Clock::now();
  Failure failure = failureOf([&] { connectors[0]->connect(addresses, credentials[0], cancellation, log); });
  EXPECT_EQ(failure.kind, "PeerLost") << failure.text;
  EXPECT_LT(secondsSince(start), 2.0);
}

TEST(GlooConnector, connectingCanBeCancelled) {
  auto connectors = makeConnectors(3, kPlenty);
  auto credentials = issueCredentials(3, 0, false);
  auto addresses = addressesOf(connectors);
  Cancellation cancellation;
  Log log;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancellation.cancel();
  });
  auto start = Clock::now();
  EXPECT_EQ(failureOf([&] { connectors[0]->connect(addresses, credentials[0], cancellation, log); }).kind, "Cancelled");
  EXPECT_LT(secondsSince(start), 1.0);
  canceller.join();
}

TEST(GlooConnector, refusesAHostItCannotListenOn) {
  struct {
    const char* host;
    const char* text;
  } cases[] = {
      {"no-such-host.invalid", "Host of this worker has no address: 'no-such-host.invalid'"},
      {"192.0.2.1", "Cannot listen on this worker's host: '192.0.2.1': Cannot assign requested address"},
  };
  for (const auto& one : cases) {
    Failure failure = failureOf([&] { GlooConnector(0, 2, one.host, kPlenty); });
    EXPECT_EQ(failure.kind, "UserError");
    EXPECT_EQ(failure.text.find(one.text), 0u) << failure.text;
  }
}

TEST(GlooConnector, refusesAddressesOfAWrongRendezvous) {
  struct {
    const char* what;
    std::function<void(std::vector<std::string>&)> spoil;
  } cases[] = {
      {"too few", [](auto& addresses) { addresses.pop_back(); }},
      {"other order", [](auto& addresses) { std::swap(addresses[1], addresses[2]); }},
      {"cut short", [](auto& addresses) { addresses[1].pop_back(); }},
      {"empty", [](auto& addresses) { addresses[1].clear(); }},
      {"not ours", [](auto& addresses) { addresses[1][0] = 'X'; }},
  };
  for (const auto& one : cases) {
    auto connectors = makeConnectors(3, Timeout(500));
    auto credentials = issueCredentials(3, 0, false);
    auto addresses = addressesOf(connectors);
    one.spoil(addresses);
    Cancellation cancellation;
    Log log;
    Failure failure = failureOf([&] { connectors[0]->connect(addresses, credentials[0], cancellation, log); });
    EXPECT_EQ(failure.kind, "InternalError") << one.what << ": " << failure.text;
  }
}

TEST(GlooConnector, groupOfOneOpensNoSocket) {
  size_t before = numSockets(false);
  GlooConnector connector(0, 1, "no-such-host.invalid", kPlenty);
  EXPECT_EQ(connector.address(), "");
  Cancellation cancellation;
  Log log;
  auto communicator = connector.connect({""}, "", cancellation, log);
  EXPECT_EQ(communicator->allgather(5, kPlenty), std::vector<uint64_t>{5});
  EXPECT_EQ(numSockets(false), before);
}

TEST(GlooConnector, noPortStaysOpenOnceConnected) {
  auto ranks = connectOverLoopback(3);
  EXPECT_EQ(numSockets(true), 0u);
  ranks.clear();
  EXPECT_EQ(numSockets(false), 0u);
}

}  // namespace
}  // namespace bloomery::comm
