#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "tenon/base/status.h"
#include "tenon/channel/ring.h"
#include "tenon/channel/stream.h"

namespace tenon::channel {

struct PipeOptions {
  /// What may be sent before the other side has acknowledged it.
  size_t window_bytes = size_t{16} << 20;
  /// Longer messages of the other side are refused.
  uint32_t max_message_bytes = uint32_t{64} << 20;
  /// After so long without a word the other side is asked for one, and given up.
  int keep_alive_ms = 5000, silence_ms = 20000;
  /// How long a broken connection may take to be made again, and the first one to be made.
  int grace_ms = 60000, first_ms = 10000;
};

/// Frames both ways over streams that may break: what was not acknowledged when one broke is sent again over the next,
/// so that every frame arrives once and in order. One thread receives; any may send.
class Pipe {
 public:
  /// A new connection and how many frames the other side has received.
  struct Dialed {
    std::unique_ptr<Stream> stream;
    uint64_t peer_received = 0;
  };
  /// Makes the connection again, telling how many frames were received. UNAVAILABLE and DEADLINE_EXCEEDED: it may be
  /// tried again; any other error is final.
  using Dial = std::function<Result<Dialed>(uint64_t received)>;

  /// The end that dials when the connection breaks has `dial`; the other waits for Resume.
  explicit Pipe(PipeOptions options, Dial dial = nullptr);
  ~Pipe();

  /// Gives the present stream up, so that nothing more is received over it: how many frames were.
  uint64_t Suspend();
  /// Goes on over `stream`. DATA_LOSS when the other side's count cannot be.
  Status Resume(std::unique_ptr<Stream> stream, uint64_t peer_received);

  /// Sends a frame if the window is open, without waiting for the other side. False when it is not.
  bool TrySend(wire::Verb verb, uint64_t number, std::string_view message);
  /// The same, waiting for the window. Whatever ended the pipe.
  Status Send(wire::Verb verb, uint64_t number, std::string_view message);
  /// Waits for the next frame. Whatever ended the pipe: DATA_LOSS when the other side broke the rules, UNAVAILABLE when
  /// the connection was not made again in time.
  Status Receive(Ring::Frame& frame);
  /// Receives frames until one of them is refused, or the pipe has ended: why. Exceptions of `take` are refusals.
  Status ReceiveAll(const std::function<Status(const Ring::Frame&)>& take);

  /// Waits until the window is open, or the pipe is over: whatever ended it.
  Status WaitForRoom();
  /// From now on a connection that breaks is not made again: the other side will be told goodbye, and may be quicker
  /// than Close, which must follow.
  void Finish();
  /// Ends it for good, after what has been sent has left, for at most `linger_ms`.
  void Close(const Status& why, int linger_ms = 0);
  /// Breaks the connection as a cut cable does; for tests.
  void Break();
  /// OK until it is over; then whatever ended it.
  Status state() const;
  /// When something was heard last, in NowMs.
  int64_t heard_ms() const { return heard_ms_.load(std::memory_order_relaxed); }

 private:
  bool PumpLocked();
  void BreakLocked(const std::shared_ptr<Stream>& stream, const Status& why);
  void CloseLocked(const Status& why);
  void Acknowledge(uint64_t received);
  bool SendLocked(wire::Verb verb, uint64_t number, std::string_view message);
  int64_t TimeOverMs() const;
  void Attend();
  void AttendUntilClosed();
  Result<std::shared_ptr<Stream>> StreamToRead();
  Status Redial(std::unique_lock<std::mutex>& lock);
  Status ReadSome(Stream& stream, char* bytes, size_t size, size_t* have);
  Result<bool> ReceiveFrom(const std::shared_ptr<Stream>& stream, Ring::Frame& frame);

  const PipeOptions options_;
  const Dial dial_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // of the stream, the window or the end
  std::condition_variable attend_;   // for the attending thread
  std::shared_ptr<Stream> stream_;
  Stream* reading_ = nullptr;  // what the receiving thread is at
  Status closed_;
  bool is_closed_ = false;
  bool finishing_ = false;  // Finish was called
  Status broken_;           // why there is no stream
  int64_t broken_since_ms_ = 0;

  // Frames that were sent and not acknowledged, as bytes. Those before `next_` have been written to the stream, and
  // `offset_` bytes of the one at `next_`.
  std::deque<std::string> sent_;
  uint64_t first_ = 0;  // number of the first of them
  size_t next_ = 0, offset_ = 0, unacknowledged_bytes_ = 0;
  // Words between the ends of the stream, which are not counted: between frames.
  std::string aside_;
  size_t aside_offset_ = 0;
  bool acknowledge_ = false, ask_ = false;
  bool blocked_ = false;  // the stream takes no more at present

  std::atomic<uint64_t> received_{0};
  size_t received_since_ = 0;  // bytes, since they were last acknowledged
  std::atomic<int64_t> heard_ms_;
  std::thread attendant_;
};

}  // namespace tenon::channel
