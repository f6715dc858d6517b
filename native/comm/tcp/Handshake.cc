#include "comm/tcp/Handshake.h"

#include <cstring>

#include "base/Error.h"

namespace bloomery::comm {

namespace {

struct Hello {
  char magic[8] = {'b', 'l', 'o', 'o', 'm', 'e', 'r', '1'};
  int32_t from = 0;
  int32_t to = 0;
};

// What each proof is of, lest one serve as another.
constexpr const char* kAccepting = "accepting";
constexpr const char* kConnecting = "connecting";
constexpr const char* kTaken = "taken";

std::string textOf(const Secret::Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

Handshake::Handshake(const Credentials& credentials, std::optional<int> peer,
                     std::optional<std::string> certificateName)
    : credentials_(credentials),
      certificateName_(std::move(certificateName)),
      connects_(peer.has_value()),
      peer_(peer.value_or(-1)),
      ownNonce_(textOf(unpredictableBytes())) {
  if (connects_) {
    checkCertificate();
    Hello hello{.from = credentials_.rank, .to = peer_};
    word_ = std::string(reinterpret_cast<const char*>(&hello), sizeof(hello)) + ownNonce_;
    expect(Step::kAnswer, 2 * Secret::kBytes);
  } else {
    expect(Step::kHello, sizeof(Hello) + Secret::kBytes);
  }
}

void Handshake::hear(const std::string& bytes) {
  check(!done() && bytes.size() == wanted_, "Wrong number of bytes in a handshake: ", bytes.size());
  switch (step_) {
    case Step::kHello:
      return hearHello(bytes);
    case Step::kAnswer:
      return hearAnswer(bytes);
    case Step::kProof:
      return hearProof(bytes);
    case Step::kWelcome:
      return hearWelcome(bytes);
  }
}

void Handshake::hearHello(const std::string& bytes) {
  Hello hello, ours;
  std::memcpy(&hello, bytes.data(), sizeof(hello));
  if (std::memcmp(hello.magic, ours.magic, sizeof(ours.magic)) != 0) throw Refused("it does not speak our protocol");
  // A rank accepts those above it and connects to those below.
  bool right = hello.to == credentials_.rank && hello.from > credentials_.rank && hello.from < credentials_.size;
  if (!right) throw Refused(message("it says rank ", hello.from, " to rank ", hello.to));
  peer_ = hello.from;
  checkCertificate();
  peerNonce_ = bytes.substr(sizeof(hello));
  word_ = ownNonce_ + proof(kAccepting);
  expect(Step::kProof, Secret::kBytes);
}

void Handshake::hearAnswer(const std::string& bytes) {
  peerNonce_ = bytes.substr(0, Secret::kBytes);
  checkProof(kAccepting, bytes.substr(Secret::kBytes));
  word_ = proof(kConnecting);
  expect(Step::kWelcome, Secret::kBytes);
}

void Handshake::hearProof(const std::string& bytes) {
  checkProof(kConnecting, bytes);
  word_ = proof(kTaken);
  wanted_ = 0;
}

void Handshake::hearWelcome(const std::string& bytes) {
  checkProof(kTaken, bytes);
  wanted_ = 0;
}

void Handshake::expect(Step step, size_t bytes) {
  step_ = step;
  wanted_ = bytes;
}

void Handshake::checkCertificate() const {
  if (certificateName_ && *certificateName_ != credentials_.nameOf(peer_)) {
    throw Refused(message("its certificate is not of rank ", peer_, ": '", *certificateName_, "'"));
  }
}

std::string Handshake::proof(const char* what) const {
  int from = connects_ ? credentials_.rank : peer_, to = connects_ ? peer_ : credentials_.rank;
  const std::string& first = connects_ ? ownNonce_ : peerNonce_;
  const std::string& second = connects_ ? peerNonce_ : ownNonce_;
  std::string text =
      message(what, " attempt ", credentials_.attempt, " of ", credentials_.size, " from ", from, " to ", to, ": ");
  return textOf(credentials_.secrets[static_cast<size_t>(peer_)].digest(text + first + second));
}

void Handshake::checkProof(const char* what, const std::string& given) const {
  std::string wanted = proof(what);
  Secret::Bytes a, b;
  std::memcpy(a.data(), wanted.data(), a.size());
  std::memcpy(b.data(), given.data(), b.size());
  if (!sameBytes(a, b)) throw Refused(message("it does not know the secret of rank ", peer_));
}

}  // namespace bloomery::comm
