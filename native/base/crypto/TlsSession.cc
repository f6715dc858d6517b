#include "base/crypto/TlsSession.h"

#include <openssl/err.h>

#include <cerrno>
#include <cstring>

#include "base/Error.h"
#include "base/crypto/OpenSsl.h"

namespace bloomery {

namespace {

void require(bool good, const char* what) { check(good, "TLS cannot be set up: ", what, ": ", takeOpenSslError()); }

// Of earlier calls, lest they are taken for those of the next.
void forgetErrors() {
  ERR_clear_error();
  errno = 0;
}

constexpr size_t kReadBufferBytes = size_t{128} << 10;

}  // namespace

struct TlsIdentity::State {
  OpenSslOwner<SSL_CTX, SSL_CTX_free> context;
};

TlsIdentity::TlsIdentity(const TlsCredentials& credentials) : state_(std::make_unique<State>()) {
  initOpenSsl();
  state_->context.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX* context = state_->context.get();
  require(context != nullptr && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1, "version");
  // Sessions are neither kept nor resumed: every connection proves everything anew.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  require(SSL_CTX_set_num_tickets(context, 0) == 1, "tickets");
  // What could not be written at once may be moved, and a write goes on where it ended.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Several records are taken from the socket by one call, instead of one record by two.
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadBufferBytes);
  OwnedCertificate authority = readCertificate(credentials.authority);
  require(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) == 1, "authority");
  require(SSL_CTX_use_certificate(context, readCertificate(credentials.certificate).get()) == 1, "certificate");
  require(SSL_CTX_use_PrivateKey(context, readKey(credentials.key).get()) == 1, "key");
  require(SSL_CTX_check_private_key(context) == 1, "certificate of another key");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_verify_depth(context, 1);
}

TlsIdentity::~TlsIdentity() = default;

struct TlsSession::State {
  OpenSslOwner<SSL, SSL_free> session;
};

TlsSession::TlsSession(const TlsIdentity& identity, int socket, Role role) : state_(std::make_unique<State>()) {
  state_->session.reset(SSL_new(identity.state_->context.get()));
  require(state_->session != nullptr && SSL_set_fd(state_->session.get(), socket) == 1, "session");
  role == Role::kConnects ? SSL_set_connect_state(state_->session.get()) : SSL_set_accept_state(state_->session.get());
}

TlsSession::~TlsSession() = default;

TlsSession::Result TlsSession::handshake() {
  forgetErrors();
  return resultOf(SSL_do_handshake(state_->session.get()), 0);
}

TlsSession::Result TlsSession::read(void* data, size_t bytes) {
  forgetErrors();
  size_t done = 0;
  int returned = SSL_read_ex(state_->session.get(), data, bytes, &done);
  return resultOf(returned, done);
}

TlsSession::Result TlsSession::write(const void* data, size_t bytes) {
  forgetErrors();
  size_t done = 0;
  int returned = SSL_write_ex(state_->session.get(), data, bytes, &done);
  return resultOf(returned, done);
}

TlsSession::Result TlsSession::resultOf(int returned, size_t bytes) {
  int systemError = errno;
  if (returned > 0) return {Status::kDone, bytes};
  switch (SSL_get_error(state_->session.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return {Status::kWantsToRead};
    case SSL_ERROR_WANT_WRITE:
      return {Status::kWantsToWrite};
    case SSL_ERROR_ZERO_RETURN:
      return {Status::kClosed};
    case SSL_ERROR_SYSCALL:
      if (systemError == ECONNRESET || systemError == EPIPE) return {Status::kReset};
      reason_ = systemError == 0 ? "connection lost" : std::strerror(systemError);
      return {Status::kFailed};
    default:
      break;
  }
  // An end that TLS was not told of: whoever wanted to forge one could reset the connection as well.
  if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    return {Status::kClosed};
  }
  reason_ = "TLS: " + takeOpenSslError();
  return {Status::kFailed};
}

std::string TlsSession::peerName() const {
  OwnedCertificate certificate(SSL_get1_peer_certificate(state_->session.get()));
  if (certificate == nullptr || SSL_get_verify_result(state_->session.get()) != X509_V_OK) return {};
  char name[256] = {};
  int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name, sizeof(name));
  return length < 0 ? std::string() : std::string(name, static_cast<size_t>(length));
}

}  // namespace bloomery
