#include "tenon/channel/stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "tenon/base/network.h"

namespace tenon::channel {

namespace {

class SocketStream final : public Stream {
 public:
  SocketStream(Fd socket, std::string peer) : socket_(std::move(socket)), peer_(std::move(peer)) {
    ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  }
  Result<size_t> TryRead(char* bytes, size_t size) override {
    const ssize_t n = ::recv(socket_.get(), bytes, size, 0);
    if (n > 0) return static_cast<size_t>(n);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return size_t{0};
    return n == 0 ? Unavailable("the other side closed the connection") : Lost(errno);
  }
  Result<size_t> TryWrite(const char* bytes, size_t size) override {
    const ssize_t n = ::send(socket_.get(), bytes, size, MSG_NOSIGNAL);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno == EAGAIN || errno == EINTR) return size_t{0};
    return Lost(errno);
  }
  bool WaitReadable(int timeout_ms) override { return Wait(POLLIN, timeout_ms); }
  bool WaitWritable(int timeout_ms) override { return Wait(POLLOUT, timeout_ms); }
  void Shutdown() override { ::shutdown(socket_.get(), SHUT_RDWR); }
  std::string peer() const override { return peer_; }

 private:
  static Status Lost(int error) { return Unavailable(fmt::format("the connection broke: {}", std::strerror(error))); }
  bool Wait(short what, int timeout_ms) {
    pollfd wait{socket_.get(), what, 0};
    return ::poll(&wait, 1, timeout_ms) != 0;
  }
  const Fd socket_;
  const std::string peer_;
};

int LeftMs(int64_t deadline_ms) { return static_cast<int>(std::clamp<int64_t>(deadline_ms - NowMs(), 0, 1'000'000)); }

void SetUp(int socket, int silence_ms) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // Otherwise bytes into a cut cable are sent again for a quarter of an hour.
  const unsigned timeout = static_cast<unsigned>(silence_ms);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

Result<Addresses> Find(const Address& address, bool passive) {
  Result<Addresses> found = Resolve(address.host, address.port, passive);
  return found.ok() ? std::move(found) : std::move(found).status().WithContext("cannot find " + address.text());
}

std::string PeerName(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(address, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  return Address{host, port}.text();
}

}  // namespace

std::unique_ptr<Stream> MakeSocketStream(Fd socket, std::string peer) {
  return std::make_unique<SocketStream>(std::move(socket), std::move(peer));
}

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status WriteFully(Stream& stream, std::string_view bytes, int64_t deadline_ms) {
  while (!bytes.empty()) {
    TENON_ASSIGN_OR_RETURN(const size_t n, stream.TryWrite(bytes.data(), bytes.size()));
    bytes.remove_prefix(n);
    if (n != 0) continue;
    if (!stream.WaitWritable(LeftMs(deadline_ms)))
      return DeadlineExceeded(fmt::format("{} did not take {} bytes in time", stream.peer(), bytes.size()));
  }
  return OkStatus();
}

Status ReadFully(Stream& stream, char* bytes, size_t size, int64_t deadline_ms) {
  while (size != 0) {
    TENON_ASSIGN_OR_RETURN(const size_t n, stream.TryRead(bytes, size));
    bytes += n;
    size -= n;
    // Bytes that drip do not lengthen the time.
    if (NowMs() > deadline_ms || (n == 0 && !stream.WaitReadable(LeftMs(deadline_ms)))) {
      if (size != 0)
        return DeadlineExceeded(fmt::format("{} sent nothing in time, {} bytes lack", stream.peer(), size));
    }
  }
  return OkStatus();
}

Status ReadFrame(Stream& stream, uint32_t max_bytes, Ring::Frame& frame, int64_t deadline_ms) {
  wire::FrameHeader header;
  TENON_RETURN_IF_ERROR(ReadFully(stream, reinterpret_cast<char*>(&header), sizeof(header), deadline_ms));
  if (header.size > max_bytes)
    return DataLoss(fmt::format("a frame announces {} bytes, at most {} are taken", header.size, max_bytes));
  frame.verb = static_cast<wire::Verb>(header.verb);
  frame.number = header.number;
  frame.message.resize(header.size);
  return ReadFully(stream, frame.message.data(), header.size, deadline_ms);
}

std::string EncodeFrame(wire::Verb verb, uint64_t number, std::string_view message) {
  const wire::FrameHeader header{static_cast<uint32_t>(message.size()), static_cast<uint32_t>(verb), number};
  std::string bytes;
  bytes.reserve(sizeof(header) + message.size());
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(message);
  return bytes;
}

std::string Address::text() const { return host.find(':') == host.npos ? host + ":" + port : "[" + host + "]:" + port; }

Result<Address> ParseAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  Address address;
  if (colon != text.npos) {
    address.host = text.substr(0, colon);
    address.port = text.substr(colon + 1);
  }
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  else if (address.host.find(':') != address.host.npos)
    address.host.clear();  // An address of version 6 without brackets: where it ends cannot be known.
  const bool number =
      !address.port.empty() && address.port.size() <= 5 &&
      std::all_of(address.port.begin(), address.port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (address.host.empty() || !number || std::stoi(address.port) > 65535)
    return InvalidArgument(fmt::format("'{}' is no address, wanted HOST:PORT", text));
  return address;
}

Result<Fd> Connect(const Address& address, int64_t deadline_ms, int silence_ms) {
  TENON_ASSIGN_OR_RETURN(const Addresses found, Find(address, false));
  std::string why = "no address";
  for (const addrinfo* info = found.get(); info != nullptr; info = info->ai_next) {
    Fd socket(::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
      why = std::strerror(errno);
      continue;
    }
    int error = ::connect(socket.get(), info->ai_addr, info->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      pollfd wait{socket.get(), POLLOUT, 0};
      socklen_t size = sizeof(error);
      if (::poll(&wait, 1, LeftMs(deadline_ms)) == 0)
        error = ETIMEDOUT;
      else
        ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) {
      SetUp(socket.get(), silence_ms);
      return socket;
    }
    why = std::strerror(error);
  }
  return Unavailable(fmt::format("cannot connect to {}: {}", address.text(), why));
}

Result<Fd> Listen(const Address& address, int* port) {
  TENON_ASSIGN_OR_RETURN(const Addresses found, Find(address, true));
  const addrinfo& info = *found;
  Fd socket(::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (socket) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  if (!socket || ::bind(socket.get(), info.ai_addr, info.ai_addrlen) != 0 || ::listen(socket.get(), 64) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return Unavailable(fmt::format("cannot listen at {}: {}", address.text(), std::strerror(errno)));
  *port = PortOf(own);
  return socket;
}

Result<Fd> Accept(int socket, int timeout_ms, int silence_ms, std::string* peer) {
  pollfd wait{socket, POLLIN, 0};
  if (::poll(&wait, 1, timeout_ms) <= 0) return Fd();
  sockaddr_storage from{};
  socklen_t size = sizeof(from);
  Fd connection(::accept4(socket, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) {
    // The stranger has gone again, or descriptors are short for the moment.
    if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK)
      return Unavailable(fmt::format("the listening socket is closed: {}", std::strerror(errno)));
    // It stays readable while there is no descriptor for who waits there.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) ::poll(nullptr, 0, timeout_ms);
    return Fd();
  }
  SetUp(connection.get(), silence_ms);
  *peer = PeerName(reinterpret_cast<sockaddr*>(&from), size);
  return connection;
}

}  // namespace tenon::channel
