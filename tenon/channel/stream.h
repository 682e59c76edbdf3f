#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/base/status.h"
#include "tenon/channel/ring.h"
#include "tenon/channel/shared_memory.h"

namespace tenon::channel {

/// Bytes both ways between two processes. One thread may read while another writes; any thread may shut it down.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Reads what is there, at most `size` bytes. 0 when nothing is there now; UNAVAILABLE at the end and when the
  /// connection breaks, UNAUTHENTICATED when what came is not the other end's.
  virtual Result<size_t> TryRead(char* bytes, size_t size) = 0;
  /// Writes what can be written now; 0 when nothing can: then the same bytes are to be offered next, of which some may
  /// be on their way. UNAVAILABLE when the other side is gone.
  virtual Result<size_t> TryWrite(const char* bytes, size_t size) = 0;
  /// Wait at most so long until TryRead, or TryWrite, may have more to do. False when the time is over.
  virtual bool WaitReadable(int timeout_ms) = 0;
  virtual bool WaitWritable(int timeout_ms) = 0;
  /// Ends both directions and wakes whoever waits.
  virtual void Shutdown() = 0;
  /// Who is at the other end, for people.
  virtual std::string peer() const = 0;
};

/// A stream over a connected socket, as it is: for sockets inside of one machine, and under encryption.
std::unique_ptr<Stream> MakeSocketStream(Fd socket, std::string peer);

/// A moment, in milliseconds of the steady clock.
int64_t NowMs();

/// Until `deadline_ms` of NowMs: DEADLINE_EXCEEDED says what was waited for.
Status WriteFully(Stream& stream, std::string_view bytes, int64_t deadline_ms);
Status ReadFully(Stream& stream, char* bytes, size_t size, int64_t deadline_ms);
/// A frame whose message has at most `max_bytes`. DATA_LOSS for a longer one, before anything is read of it.
Status ReadFrame(Stream& stream, uint32_t max_bytes, Ring::Frame& frame, int64_t deadline_ms);
/// The bytes of a frame.
std::string EncodeFrame(wire::Verb verb, uint64_t number, std::string_view message);

/// "HOST:PORT", where HOST may be a name, an address or an address in brackets. INVALID_ARGUMENT otherwise.
struct Address {
  std::string host, port;
  std::string text() const;
};
Result<Address> ParseAddress(std::string_view text);
/// A connected socket, without delay of small writes, that fails when the other side has been silent for `silence_ms`.
Result<Fd> Connect(const Address& address, int64_t deadline_ms, int silence_ms);
/// A listening socket. Port 0 lets the system choose one; `port` is what was chosen.
Result<Fd> Listen(const Address& address, int* port);
/// The next connection to a listening socket, set up as Connect does; nothing when `timeout_ms` is over.
Result<Fd> Accept(int socket, int timeout_ms, int silence_ms, std::string* peer);

}  // namespace tenon::channel
