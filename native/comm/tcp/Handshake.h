// The words by which two ranks prove to each other that they know the secret of the pair: bytes in, bytes out, no
// socket. Each side answers to a nonce that the other has just made, so that words heard before are worth nothing;
// the proofs cover the attempt, both ranks and who connected, so that none serves in another place.
//
//   connecting rank                                    accepting rank
//   magic, its rank, peer's rank, nonce        ->
//                                              <-      nonce, proof
//   proof                                      ->
//                                              <-      proof that it took the connection
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "comm/Credentials.h"

namespace bloomery::comm {

// The other side is not who it should be.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Handshake {
 public:
  // Borrows the credentials. peer: whom this rank connects to; nothing when it accepts whoever proves to be a peer.
  // certificateName: who the other side is by its verified certificate, when there is one.
  Handshake(const Credentials& credentials, std::optional<int> peer, std::optional<std::string> certificateName);

  // What has to be sent now; each word is given once.
  std::string takeWord() { return std::exchange(word_, {}); }
  // How many bytes have to come next; none when all was said.
  size_t wanted() const { return wanted_; }
  // Exactly so many; Refused when they are not what a peer says.
  void hear(const std::string& bytes);

  bool done() const { return wanted_ == 0; }
  int peer() const { return peer_; }

 private:
  enum class Step { kHello, kAnswer, kProof, kWelcome };

  void hearHello(const std::string& bytes);
  void hearAnswer(const std::string& bytes);
  void hearProof(const std::string& bytes);
  void hearWelcome(const std::string& bytes);
  void expect(Step step, size_t bytes);
  void checkCertificate() const;
  std::string proof(const char* what) const;
  void checkProof(const char* what, const std::string& proof) const;

  const Credentials& credentials_;
  std::optional<std::string> certificateName_;
  bool connects_;
  int peer_;
  Step step_;
  size_t wanted_ = 0;
  std::string word_;
  std::string ownNonce_;
  std::string peerNonce_;
};

}  // namespace bloomery::comm
