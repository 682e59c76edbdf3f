// libtenon_tls.so: TLS 1.3 by OpenSSL.
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "tenon/channel/tls/tls_library.h"

struct TenonTlsContext {
  SSL_CTX* ssl = nullptr;
  bool is_server = false;
  uint64_t bytes_per_key = 0;
  ~TenonTlsContext() { SSL_CTX_free(ssl); }
};

struct TenonTlsStream {
  SSL* ssl = nullptr;
  uint64_t bytes_per_key = 0;
  uint64_t written = 0;  // under the present key; a record counts as a full one
  uint64_t keys = 1;
  ~TenonTlsStream() { SSL_free(ssl); }
};

namespace {

constexpr int kInvalidArgument = 3, kInternal = 13, kUnauthenticated = 16;
// AES-GCM is good for some 2^24 records under one key; these are a quarter of them.
constexpr uint64_t kRecordBytes = uint64_t{1} << 14;
constexpr uint64_t kBytesPerKey = kRecordBytes << 22;

// OpenSSL's own sockets raise SIGPIPE, which ends a process that does not expect it, when the other side is gone.
int SocketWrite(BIO* bio, const char* bytes, int size) {
  const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(fd, bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}
int SocketRead(BIO* bio, char* bytes, int size) {
  const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::recv(fd, bytes, static_cast<size_t>(size), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (n == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(n);
}
long SocketControl(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;  // Nothing is kept back.
}
BIO* NewSocket(int fd) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals");
    if (made != nullptr) {
      BIO_meth_set_write(made, &SocketWrite);
      BIO_meth_set_read(made, &SocketRead);
      BIO_meth_set_ctrl(made, &SocketControl);
    }
    return made;
  }();
  BIO* const bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));  // NOLINT
  BIO_set_init(bio, 1);
  return bio;
}

// What OpenSSL says of the last failure, after `what`.
void Explain(char* error, const char* what) {
  const char* reason = nullptr;
  for (unsigned long code; (code = ERR_get_error()) != 0;) {
    if (const char* text = ERR_reason_error_string(code); text != nullptr) reason = text;
  }
  std::snprintf(error, TENON_TLS_ERROR_BYTES, "%s%s%s", what, reason != nullptr ? ": " : "",
                reason != nullptr ? reason : "");
}

// A key and a certificate by itself, for connections whose ends prove themselves by a token.
bool UseOwnCertificate(SSL_CTX* context) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), &X509_free);
  if (key == nullptr || certificate == nullptr) return false;
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400L * 3650);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("tenon"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  return X509_sign(certificate.get(), key.get(), EVP_sha256()) != 0 &&
         SSL_CTX_use_certificate(context, certificate.get()) == 1 && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

int MakeContext(const TenonTlsConfig* config, TenonTlsContext** result, char* error) {
  ERR_clear_error();
  auto context = std::unique_ptr<TenonTlsContext>(new (std::nothrow) TenonTlsContext);
  if (context != nullptr)
    context->ssl = SSL_CTX_new(config->is_server != 0 ? TLS_server_method() : TLS_client_method());
  if (context == nullptr || context->ssl == nullptr) {
    Explain(error, "no TLS");
    return kInternal;
  }
  context->is_server = config->is_server != 0;
  context->bytes_per_key = config->bytes_per_key != 0 ? config->bytes_per_key : kBytesPerKey;
  SSL_CTX* const ssl = context->ssl;
  SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION);
  // Every connection shows its certificates anew.
  SSL_CTX_set_num_tickets(ssl, 0);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Frames tell by themselves where they end, so a connection that is cut need not say goodbye.
  SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // The cheaper cipher first where the processor has it; the order of both ends is the same.
  SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  char what[TENON_TLS_ERROR_BYTES];
  if (*config->certificate != '\0') {
    if (SSL_CTX_use_certificate_chain_file(ssl, config->certificate) != 1) {
      std::snprintf(what, sizeof(what), "cannot use the certificate %s", config->certificate);
      Explain(error, what);
      return kInvalidArgument;
    }
    if (SSL_CTX_use_PrivateKey_file(ssl, config->key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ssl) != 1) {
      std::snprintf(what, sizeof(what), "cannot use the key %s", config->key);
      Explain(error, what);
      return kInvalidArgument;
    }
  } else if (context->is_server && !UseOwnCertificate(ssl)) {
    Explain(error, "cannot make a certificate");
    return kInternal;
  }
  if (*config->authority != '\0') {
    if (SSL_CTX_load_verify_locations(ssl, config->authority, nullptr) != 1) {
      std::snprintf(what, sizeof(what), "cannot use the authority's certificate %s", config->authority);
      Explain(error, what);
      return kInvalidArgument;
    }
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  } else {
    SSL_CTX_set_verify(ssl, SSL_VERIFY_NONE, nullptr);
  }
  *result = context.release();
  return 0;
}

void FreeContext(TenonTlsContext* context) { delete context; }

int MakeStream(TenonTlsContext* context, int fd, const char* host, TenonTlsStream** result, char* error) {
  ERR_clear_error();
  auto stream = std::unique_ptr<TenonTlsStream>(new (std::nothrow) TenonTlsStream);
  if (stream != nullptr) stream->ssl = SSL_new(context->ssl);
  BIO* const socket = stream == nullptr || stream->ssl == nullptr ? nullptr : NewSocket(fd);
  if (socket == nullptr) {
    Explain(error, "no TLS connection");
    return kInternal;
  }
  stream->bytes_per_key = context->bytes_per_key;
  SSL_set_bio(stream->ssl, socket, socket);
  if (context->is_server) {
    SSL_set_accept_state(stream->ssl);
  } else {
    SSL_set_connect_state(stream->ssl);
    if (*host != '\0') {
      X509_VERIFY_PARAM* const verify = SSL_get0_param(stream->ssl);
      // An address is certified as one; anything else is a name.
      if (X509_VERIFY_PARAM_set1_ip_asc(verify, host) != 1) {
        ERR_clear_error();
        if (SSL_set1_host(stream->ssl, host) != 1 || SSL_set_tlsext_host_name(stream->ssl, host) != 1) {
          Explain(error, "a name that no certificate can have");
          return kInvalidArgument;
        }
      }
    }
  }
  *result = stream.release();
  return 0;
}

void FreeStream(TenonTlsStream* stream) { delete stream; }

// What a return value that is no success means.
int64_t Outcome(TenonTlsStream* stream, int result, const char* what, char* error) {
  switch (SSL_get_error(stream->ssl, result)) {
    case SSL_ERROR_WANT_READ:
      return TENON_TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
      return TENON_TLS_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
      return TENON_TLS_CLOSED;
    case SSL_ERROR_SYSCALL:
      if (ERR_peek_error() == 0) return TENON_TLS_CLOSED;
      break;
    default:
      break;
  }
  if (const long verified = SSL_get_verify_result(stream->ssl); verified != X509_V_OK) {
    ERR_clear_error();
    std::snprintf(error, TENON_TLS_ERROR_BYTES, "%s: the peer's certificate: %s", what,
                  X509_verify_cert_error_string(verified));
  } else {
    Explain(error, what);
  }
  return TENON_TLS_FAILED;
}

int64_t Handshake(TenonTlsStream* stream, char* error) {
  ERR_clear_error();
  const int done = SSL_do_handshake(stream->ssl);
  return done == 1 ? 1 : Outcome(stream, done, "the TLS handshake failed", error);
}

int64_t Read(TenonTlsStream* stream, void* bytes, size_t size, char* error) {
  ERR_clear_error();
  size_t n = 0;
  const int done = SSL_read_ex(stream->ssl, bytes, size, &n);
  return done == 1 ? static_cast<int64_t>(n) : Outcome(stream, done, "reading by TLS failed", error);
}

int64_t Write(TenonTlsStream* stream, const void* bytes, size_t size, char* error) {
  ERR_clear_error();
  if (stream->written > stream->bytes_per_key) {
    // Not while a record has left in part: then the next call tries again.
    if (SSL_key_update(stream->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1) {
      stream->written = 0;
      ++stream->keys;
    }
    ERR_clear_error();
  }
  size_t n = 0;
  const int done = SSL_write_ex(stream->ssl, bytes, size, &n);
  if (done == 1) stream->written += n < kRecordBytes ? kRecordBytes : n;
  return done == 1 ? static_cast<int64_t>(n) : Outcome(stream, done, "writing by TLS failed", error);
}

int Proof(TenonTlsStream* stream, const void* key, size_t key_size, const char* label, void* proof, char* error) {
  ERR_clear_error();
  unsigned char secret[TENON_TLS_PROOF_BYTES];
  unsigned int size = TENON_TLS_PROOF_BYTES;
  if (key_size > INT_MAX ||
      SSL_export_keying_material(stream->ssl, secret, sizeof(secret), label, std::strlen(label), nullptr, 0, 0) != 1 ||
      HMAC(EVP_sha256(), key, static_cast<int>(key_size), secret, sizeof(secret), static_cast<unsigned char*>(proof),
           &size) == nullptr) {
    Explain(error, "cannot prove the token");
    return kUnauthenticated;
  }
  OPENSSL_cleanse(secret, sizeof(secret));
  return 0;
}

void PeerName(TenonTlsStream* stream, char* name, size_t size) {
  name[0] = '\0';
  if (const X509* certificate = SSL_get0_peer_certificate(stream->ssl); certificate != nullptr)
    X509_NAME_oneline(X509_get_subject_name(certificate), name, static_cast<int>(size));
}

int RandomBytes(void* bytes, size_t size, char* error) {
  if (size <= INT_MAX && RAND_bytes(static_cast<unsigned char*>(bytes), static_cast<int>(size)) == 1) return 0;
  Explain(error, "no random numbers");
  return kInternal;
}

uint64_t Keys(const TenonTlsStream* stream) { return stream->keys; }

}  // namespace

extern "C" __attribute__((visibility("default"))) const TenonTlsTable* tenon_tls_create(int32_t version) {
  static const TenonTlsTable table = {TENON_TLS_VERSION, &MakeContext, &FreeContext, &MakeStream, &FreeStream,
                                      &Handshake,        &Read,        &Write,       &Proof,      &PeerName,
                                      &RandomBytes,      &Keys};
  return version == TENON_TLS_VERSION ? &table : nullptr;
}
