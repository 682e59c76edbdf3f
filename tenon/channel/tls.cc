#include "tenon/channel/tls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "tenon/base/code_file.h"
#include "tenon/channel/tls/tls_library.h"

namespace tenon::channel {

namespace {

constexpr size_t kLeastToken = 32, kLongestToken = 4096;
constexpr int kDrainMs = 200;
constexpr size_t kDrainBytes = size_t{64} << 10;

// Of the library that lies beside this code, else where the system looks.
Result<const TenonTlsTable*> Load() {
  static std::mutex mutex;
  static const TenonTlsTable* loaded = nullptr;
  std::lock_guard lock(mutex);
  if (loaded != nullptr) return loaded;
  const char* const file = "libtenon_tls.so";
  const auto beside = [file](const char* folder) {
    return FileBeside(reinterpret_cast<const void*>(&Load), std::string(folder) + file);
  };
  std::string why;
  void* library = nullptr;
  // Beside a plugin; of a program in bin, in lib beside it, or where packages put plugins.
  for (const std::string& path : {beside(""), beside("../lib/"), beside("../lib/pjrt/"), std::string(file)}) {
    if (path.empty()) continue;
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    why += fmt::format("{}{}", why.empty() ? "" : "; ", ::dlerror());
  }
  if (library == nullptr) {
    return NotFound(fmt::format(
        "connections to other machines need libtenon_tls.so, which is built where OpenSSL is (Debian: libssl-dev): {}",
        why));
  }
  auto* create = reinterpret_cast<TenonTlsCreate*>(::dlsym(library, TENON_TLS_SYMBOL));
  const TenonTlsTable* table = create == nullptr ? nullptr : create(TENON_TLS_VERSION);
  if (table == nullptr || table->version != TENON_TLS_VERSION)
    return FailedPrecondition(fmt::format("{} is not of version {}", file, TENON_TLS_VERSION));
  loaded = table;
  return table;
}

class TlsStream final : public SecureStream {
 public:
  TlsStream(const TenonTlsTable& table, TenonTlsStream* stream, Fd socket, std::string peer,
            std::shared_ptr<void> context)
      : table_(table),
        context_(std::move(context)),
        socket_(std::move(socket)),
        stream_(stream),
        peer_(std::move(peer)) {}
  ~TlsStream() override { table_.free_stream(stream_); }

  Status Handshake(int64_t deadline_ms) {
    for (;;) {
      char error[TENON_TLS_ERROR_BYTES] = {};
      const int64_t done = table_.handshake(stream_, error);
      if (done == 1) break;
      if (done == TENON_TLS_CLOSED) return Unavailable("the other side closed the connection during the handshake");
      if (done == TENON_TLS_FAILED) {
        Drain();
        return Unauthenticated(error);
      }
      const int left = static_cast<int>(std::max<int64_t>(deadline_ms - NowMs(), 0));
      if (!Wait(done == TENON_TLS_WANTS_WRITE ? POLLOUT : POLLIN, left) || left == 0)
        return DeadlineExceeded(fmt::format("{} did not finish the TLS handshake in time", peer_));
    }
    char name[256];
    table_.peer_name(stream_, name, sizeof(name));
    if (name[0] != '\0') peer_ += fmt::format(" ({})", name);
    return OkStatus();
  }

  Result<size_t> TryRead(char* bytes, size_t size) override {
    std::lock_guard lock(mutex_);
    char error[TENON_TLS_ERROR_BYTES] = {};
    return Moved(table_.read(stream_, bytes, size, error), error, &read_wants_write_, TENON_TLS_WANTS_WRITE);
  }
  Result<size_t> TryWrite(const char* bytes, size_t size) override {
    std::lock_guard lock(mutex_);
    char error[TENON_TLS_ERROR_BYTES] = {};
    return Moved(table_.write(stream_, bytes, size, error), error, &write_wants_read_, TENON_TLS_WANTS_READ);
  }
  bool WaitReadable(int timeout_ms) override {
    return Wait(static_cast<short>(read_wants_write_ ? POLLIN | POLLOUT : POLLIN), timeout_ms);
  }
  bool WaitWritable(int timeout_ms) override {
    return Wait(static_cast<short>(write_wants_read_ ? POLLIN | POLLOUT : POLLOUT), timeout_ms);
  }
  void Shutdown() override { ::shutdown(socket_.get(), SHUT_RDWR); }
  std::string peer() const override { return peer_; }

  Result<std::string> Prove(std::string_view token, bool as_server) override {
    std::lock_guard lock(mutex_);
    std::string proof(TENON_TLS_PROOF_BYTES, '\0');
    char error[TENON_TLS_ERROR_BYTES] = {};
    const char* const label = as_server ? "EXPORTER-tenon-server-1" : "EXPORTER-tenon-client-1";
    if (const int code = table_.proof(stream_, token.data(), token.size(), label, proof.data(), error); code != 0)
      return Status(static_cast<Code>(code), error);
    return proof;
  }
  uint64_t keys() const override {
    std::lock_guard lock(mutex_);
    return table_.keys(stream_);
  }

 private:
  // Closing a socket with bytes unread would take back what was sent last: the alert that says why.
  void Drain() {
    ::shutdown(socket_.get(), SHUT_WR);
    const int64_t until = NowMs() + kDrainMs;
    char bytes[4096];
    for (size_t left = kDrainBytes; left != 0 && NowMs() < until;) {
      if (!Wait(POLLIN, kDrainMs)) return;
      const ssize_t n = ::recv(socket_.get(), bytes, std::min(left, sizeof(bytes)), 0);
      if (n <= 0) return;
      left -= static_cast<size_t>(n);
    }
  }
  static Result<size_t> Moved(int64_t n, const char* error, std::atomic<bool>* wants_other, int64_t other) {
    *wants_other = n == other;
    if (n >= 0) return static_cast<size_t>(n);
    if (n == TENON_TLS_WANTS_READ || n == TENON_TLS_WANTS_WRITE) return size_t{0};
    if (n == TENON_TLS_CLOSED) return Unavailable("the other side closed the connection");
    return Unauthenticated(error);  // An alert, or bytes that are not the other end's.
  }
  bool Wait(short what, int timeout_ms) {
    pollfd wait{socket_.get(), what, 0};
    return ::poll(&wait, 1, timeout_ms) != 0;
  }

  const TenonTlsTable& table_;
  const std::shared_ptr<void> context_;
  const Fd socket_;
  mutable std::mutex mutex_;
  TenonTlsStream* const stream_;
  std::atomic<bool> read_wants_write_{false}, write_wants_read_{false};
  std::string peer_;
};

}  // namespace

struct Tls::Library {
  const TenonTlsTable* table = nullptr;
  TenonTlsContext* context = nullptr;
  ~Library() {
    if (context != nullptr) table->free_context(context);
  }
};

Tls::~Tls() = default;

Result<std::shared_ptr<Tls>> Tls::Make(const Credentials& credentials, bool is_server) {
  const bool certified = !credentials.certificate.empty();
  if (certified != !credentials.key.empty()) return InvalidArgument("a certificate and its key come together");
  if (credentials.token.empty() && (!certified || credentials.authority.empty())) {
    return InvalidArgument(fmt::format(
        "a connection to another machine wants a token, or a certificate with its key and the authority "
        "that signed the other side's; got {}{}",
        certified ? "a certificate" : "no certificate", credentials.authority.empty() ? " and no authority" : ""));
  }
  if (!credentials.token.empty() && credentials.token.size() < kLeastToken) {
    return InvalidArgument(
        fmt::format("a token of {} bytes; the shortest has {}", credentials.token.size(), kLeastToken));
  }
  auto library = std::make_shared<Library>();
  TENON_ASSIGN_OR_RETURN(library->table, Load());
  const TenonTlsConfig config = {is_server ? 1 : 0, credentials.certificate.c_str(), credentials.key.c_str(),
                                 credentials.authority.c_str(), credentials.bytes_per_key};
  char error[TENON_TLS_ERROR_BYTES] = {};
  if (const int code = library->table->make_context(&config, &library->context, error); code != 0)
    return Status(static_cast<Code>(code), error);
  return std::shared_ptr<Tls>(new Tls(credentials, std::move(library)));
}

Result<std::unique_ptr<SecureStream>> Tls::Wrap(Fd socket, const std::string& host, std::string peer,
                                                int64_t deadline_ms) const {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  TenonTlsStream* raw = nullptr;
  char error[TENON_TLS_ERROR_BYTES] = {};
  // Where no authority is known, the token tells who is at the other end.
  const std::string name = credentials_.authority.empty() ? std::string() : host;
  if (const int code = library_->table->make_stream(library_->context, socket.get(), name.c_str(), &raw, error);
      code != 0)
    return Status(static_cast<Code>(code), error);
  auto stream = std::make_unique<TlsStream>(*library_->table, raw, std::move(socket), std::move(peer), library_);
  TENON_RETURN_IF_ERROR(stream->Handshake(deadline_ms));
  return std::unique_ptr<SecureStream>(std::move(stream));
}

Result<std::string> Tls::RandomBytes(size_t size) const {
  std::string bytes(size, '\0');
  char error[TENON_TLS_ERROR_BYTES] = {};
  if (const int code = library_->table->random_bytes(bytes.data(), size, error); code != 0)
    return Status(static_cast<Code>(code), error);
  return bytes;
}

Result<std::string> ReadTokenFile(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (!file || ::fstat(file.get(), &info) != 0)
    return NotFound(fmt::format("cannot read the token file {}: {}", path, std::strerror(errno)));
  if ((info.st_mode & 077) != 0) {
    return PermissionDenied(
        fmt::format("the token file {} has mode {:o}: others may use it; wanted 600", path, info.st_mode & 0777));
  }
  std::string token(kLongestToken + 1, '\0');
  const ssize_t n = ::read(file.get(), token.data(), token.size());
  token.resize(n < 0 ? 0 : static_cast<size_t>(n));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.size() < kLeastToken || token.size() > kLongestToken) {
    return InvalidArgument(
        fmt::format("the token in {} has {} bytes, wanted {} to {}", path, token.size(), kLeastToken, kLongestToken));
  }
  return token;
}

}  // namespace tenon::channel
