#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/base/status.h"
#include "tenon/channel/stream.h"

namespace tenon::channel {

/// How an end of an encrypted connection shows who it is. Files in PEM; empty where there is none.
struct Credentials {
  std::string certificate, key;
  std::string authority;       // who signed the other end's certificate
  std::string token;           // what both ends know; never sent
  uint64_t bytes_per_key = 0;  // after which an end takes another key; 0: as many as the ciphers are good for
  friend bool operator==(const Credentials&, const Credentials&) = default;
};
/// The token in a file: at least 32 bytes, without the end of its line. PERMISSION_DENIED when others than the owner
/// may read the file.
Result<std::string> ReadTokenFile(const std::string& path);

/// An encrypted stream (TLS 1.3).
class SecureStream : public Stream {
 public:
  /// Shows, without giving the token away, that this end knows it: 32 bytes that are worth nothing on another
  /// connection, and nothing for the other direction.
  virtual Result<std::string> Prove(std::string_view token, bool as_server) = 0;
  /// How many keys this end has written under.
  virtual uint64_t keys() const = 0;
};

/// Makes encrypted streams of sockets. Thread-safe.
class Tls {
 public:
  /// INVALID_ARGUMENT when credentials lack something: a certificate and an authority, or a token, at each end.
  /// NOT_FOUND when libtenon_tls.so is not there (it needs OpenSSL).
  static Result<std::shared_ptr<Tls>> Make(const Credentials& credentials, bool is_server);
  ~Tls();
  /// Encrypts a connection. `host`: what a client's other end must be certified as. UNAUTHENTICATED when an end does
  /// not believe the other, DEADLINE_EXCEEDED when it says nothing.
  Result<std::unique_ptr<SecureStream>> Wrap(Fd socket, const std::string& host, std::string peer,
                                             int64_t deadline_ms) const;
  Result<std::string> RandomBytes(size_t size) const;
  const Credentials& credentials() const { return credentials_; }

 private:
  struct Library;
  Tls(Credentials credentials, std::shared_ptr<Library> library)
      : credentials_(std::move(credentials)), library_(std::move(library)) {}
  const Credentials credentials_;
  const std::shared_ptr<Library> library_;
};

}  // namespace tenon::channel
