#include "comm/Credentials.h"

#include "base/Error.h"
#include "base/JsonValue.h"
#include "base/crypto/Cipher.h"

namespace bloomery::comm {

namespace {

std::string certificateName(int rank, int size, int attempt) {
  return message("bloomery rank ", rank, " of ", size, ", attempt ", attempt);
}

}  // namespace

std::string Credentials::nameOf(int peer) const { return certificateName(peer, size, attempt); }

std::vector<std::string> issueCredentials(int size, int attempt, bool encrypt) {
  check(size > 0, "No such group: ", size);
  std::vector<std::vector<std::string>> secrets(static_cast<size_t>(size),
                                                std::vector<std::string>(static_cast<size_t>(size)));
  for (size_t a = 0; a < secrets.size(); ++a) {
    for (size_t b = 0; b <= a; ++b) secrets[a][b] = secrets[b][a] = Secret::random().hexadecimal();
  }
  std::optional<CertificateAuthority> authority;
  if (encrypt) authority.emplace(message("bloomery, attempt ", attempt));
  std::vector<std::string> all;
  for (int rank = 0; rank < size; ++rank) {
    Json json = {{"attempt", attempt}, {"rank", rank}, {"size", size}, {"secrets", secrets[static_cast<size_t>(rank)]}};
    if (authority) {
      TlsCredentials tls = authority->issue(certificateName(rank, size, attempt));
      json["tls"] = {{"authority", tls.authority}, {"certificate", tls.certificate}, {"key", tls.key}};
    }
    all.push_back(json.dump());
  }
  return all;
}

Credentials Credentials::read(const std::string& text, int rank, int size) {
  Credentials credentials;
  bool good = false;
  try {
    Json json = parseJson(text, "credentials");
    JsonReader reader(json, "credentials");
    credentials.attempt = static_cast<int>(reader.integer("attempt"));
    credentials.rank = static_cast<int>(reader.integer("rank"));
    credentials.size = static_cast<int>(reader.integer("size"));
    for (const std::string& secret : reader.texts("secrets", {})) {
      credentials.secrets.emplace_back(readCipherKey(secret, "secret"));
    }
    if (reader.has("tls")) {
      JsonReader tls(reader.value("tls"), "credentials, tls");
      credentials.tls = TlsCredentials{tls.text("authority"), tls.text("certificate"), tls.text("key")};
      tls.finish();
    }
    reader.finish();
    good = credentials.rank == rank && credentials.size == size && std::ssize(credentials.secrets) == size;
  } catch (const UserError&) {
    // The reader's message may quote a key.
  }
  check(good, "Not the credentials of rank ", rank, " of ", size, ": ", text.size(), " bytes");
  return credentials;
}

}  // namespace bloomery::comm
