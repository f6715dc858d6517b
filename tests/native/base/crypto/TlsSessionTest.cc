#include "base/crypto/TlsSession.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "base/Error.h"

namespace bloomery {
namespace {

using Status = TlsSession::Status;

// The two ends of a connection in this process.
class TlsSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets_), 0);
  }
  void TearDown() override {
    for (int one : sockets_) ::close(one);
  }

  void begin(const TlsCredentials& connecting, const TlsCredentials& accepting) {
    client_ = std::make_unique<TlsSession>(TlsIdentity(connecting), sockets_[0], TlsSession::Role::kConnects);
    server_ = std::make_unique<TlsSession>(TlsIdentity(accepting), sockets_[1], TlsSession::Role::kAccepts);
  }
  // How the handshakes end, the connecting side's first.
  std::pair<Status, Status> shakeHands() {
    Status client = Status::kWantsToRead, server = Status::kWantsToRead;
    for (int i = 0; i < 10; ++i) {
      if (client == Status::kWantsToRead) client = client_->handshake().status;
      if (server == Status::kWantsToRead) server = server_->handshake().status;
    }
    return {client, server};
  }

  int sockets_[2];
  std::unique_ptr<TlsSession> client_, server_;
  CertificateAuthority authority_{"ours"};
};

TEST_F(TlsSessionTest, partiesOfOneAuthorityLearnEachOthersNames) {
  begin(authority_.issue("rank 1"), authority_.issue("rank 0"));
  EXPECT_EQ(shakeHands(), std::pair(Status::kDone, Status::kDone));
  EXPECT_EQ(client_->peerName(), "rank 0");
  EXPECT_EQ(server_->peerName(), "rank 1");
}

TEST_F(TlsSessionTest, bytesArriveAndDoNotShowOnTheWay) {
  begin(authority_.issue("a"), authority_.issue("b"));
  shakeHands();
  std::string text = "nobody reads this, and nobody reads that";
  EXPECT_EQ(client_->write(text.data(), text.size()).bytes, text.size());
  char wire[500];
  ssize_t length = recv(sockets_[1], wire, sizeof(wire), MSG_PEEK);
  ASSERT_GT(length, static_cast<ssize_t>(text.size()));
  EXPECT_EQ(std::string(wire, static_cast<size_t>(length)).find("reads"), std::string::npos);
  char heard[100];
  auto result = server_->read(heard, sizeof(heard));
  EXPECT_EQ(std::string(heard, result.bytes), text);
  EXPECT_EQ(server_->read(heard, sizeof(heard)).status, Status::kWantsToRead);
}

TEST_F(TlsSessionTest, aWriteGoesOnWhereItStopped) {
  begin(authority_.issue("a"), authority_.issue("b"));
  shakeHands();
  std::string text(3 << 20, 'x'), heard;
  for (size_t i = 0; i < text.size(); i += 1000) text[i] = static_cast<char>('a' + i / 1000 % 26);
  size_t sent = 0;
  int numWaits = 0;
  std::vector<char> piece(50000);
  while (heard.size() < text.size()) {
    if (sent < text.size()) {
      auto result = client_->write(text.data() + sent, text.size() - sent);
      if (result.status == Status::kWantsToWrite) ++numWaits;
      sent += result.bytes;
      if (result.status == Status::kDone) continue;
    }
    auto result = server_->read(piece.data(), piece.size());
    ASSERT_TRUE(result.status == Status::kDone || result.status == Status::kWantsToRead);
    heard.append(piece.data(), result.bytes);
  }
  EXPECT_EQ(heard, text);
  EXPECT_GT(numWaits, 0);
}

TEST_F(TlsSessionTest, aForeignAuthorityIsRefusedByBoth) {
  CertificateAuthority foreign("ours");
  begin(foreign.issue("rank 1"), authority_.issue("rank 0"));
  auto [client, server] = shakeHands();
  EXPECT_EQ(client, Status::kFailed);
  EXPECT_EQ(client_->reason(), "TLS: certificate verify failed");
  EXPECT_NE(server, Status::kDone);

  // Whoever would not look at our certificate still has to show one that we take.
  TlsCredentials deceived = foreign.issue("rank 1");
  deceived.authority = authority_.issue("any").authority;
  TearDown();
  SetUp();
  begin(deceived, authority_.issue("rank 0"));
  server = shakeHands().second;
  EXPECT_EQ(server, Status::kFailed);
  EXPECT_EQ(server_->reason(), "TLS: certificate verify failed");
  EXPECT_EQ(server_->peerName(), "");
}

TEST_F(TlsSessionTest, plainTextIsRefused) {
  begin(authority_.issue("a"), authority_.issue("b"));
  std::string text = "GET / HTTP/1.0\r\n\r\n";
  ASSERT_GT(::send(sockets_[0], text.data(), text.size(), 0), 0);
  EXPECT_EQ(server_->handshake().status, Status::kFailed);
}

TEST_F(TlsSessionTest, changedBytesAreNoticed) {
  begin(authority_.issue("a"), authority_.issue("b"));
  shakeHands();
  std::string text = "twelve bytes";
  client_->write(text.data(), text.size());
  char wire[500], heard[100];
  ssize_t length = recv(sockets_[1], wire, sizeof(wire), 0);
  wire[length - 1] ^= 1;
  ASSERT_EQ(::send(sockets_[0], wire, static_cast<size_t>(length), 0), length);
  EXPECT_EQ(server_->read(heard, sizeof(heard)).status, Status::kFailed);
}

TEST_F(TlsSessionTest, theEndOfTheOtherSideIsTold) {
  begin(authority_.issue("a"), authority_.issue("b"));
  shakeHands();
  shutdown(sockets_[0], SHUT_RDWR);
  char heard[10];
  EXPECT_EQ(server_->read(heard, sizeof(heard)).status, Status::kClosed);
}

TEST(TlsIdentity, refusesAKeyThatIsNotItsCertificates) {
  CertificateAuthority authority("ours");
  TlsCredentials one = authority.issue("one"), mixed = authority.issue("two");
  mixed.key = one.key;
  EXPECT_THROW(TlsIdentity{mixed}, InternalError);
  mixed.key = "no key";
  EXPECT_THROW(TlsIdentity{mixed}, InternalError);
}

}  // namespace
}  // namespace bloomery
