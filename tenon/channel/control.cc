#include "tenon/channel/control.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tenon::channel {

namespace {

constexpr uint32_t kMagic = 0x54504345;
struct Notice {
  uint32_t magic = kMagic;
  uint32_t piece = 0;
  uint64_t size_bytes = 0;
};

}  // namespace

Result<std::pair<Fd, Fd>> MakeControlSockets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return ResourceExhausted(fmt::format("cannot make a pair of sockets: {}", std::strerror(errno)));
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

Status SendPiece(int socket, uint32_t piece, const SharedMemory& memory) {
  Notice notice{.piece = piece, .size_bytes = memory.size()};
  iovec part{&notice, sizeof(notice)};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof(space);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = memory.fd();
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  for (;;) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(notice)) return OkStatus();
    if (errno == EINTR) continue;
    if (errno == ETOOMANYREFS) {  // Too many descriptors are under way: the other side will take some.
      ::usleep(1000);
      continue;
    }
    return Unavailable(fmt::format("the other process does not take shared memory: {}", std::strerror(errno)));
  }
}

Result<std::optional<PieceNotice>> ReceivePiece(int socket, int timeout_ms) {
  pollfd wait{socket, POLLIN, 0};
  const int ready = ::poll(&wait, 1, timeout_ms);
  if (ready == 0 || (ready < 0 && errno == EINTR)) return std::optional<PieceNotice>();
  Notice notice;
  iovec part{&notice, sizeof(notice)};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * 4)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof(space);
  const ssize_t n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::optional<PieceNotice>();
  if (n <= 0) return Unavailable("the other process is gone");
  std::optional<PieceNotice> piece(PieceNotice{notice.piece, notice.size_bytes, Fd()});
  int descriptors = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {  // All of them are ours to close.
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
      piece->fd = Fd(fd);
      ++descriptors;
    }
  }
  if (n != sizeof(notice) || notice.magic != kMagic || descriptors != 1 || notice.piece == 0)
    return DataLoss("the control socket of the other process carries something else than shared memory");
  return piece;
}

}  // namespace tenon::channel
