#include "tenon/channel/pipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/wire/codec.h"

namespace tenon::channel {

using wire::Verb;

namespace {

// Messages are read in steps, so that a false length allocates nothing.
constexpr size_t kStep = size_t{1} << 20;
// Waits are cut into pieces, after which it is seen whether the pipe was closed.
constexpr int kWaitMs = 200;
constexpr int kFirstRedialMs = 20, kLastRedialMs = 1000;

}  // namespace

Pipe::Pipe(PipeOptions options, Dial dial)
    : options_(options), dial_(std::move(dial)), broken_since_ms_(NowMs()), heard_ms_(NowMs()) {
  attendant_ = std::thread([this] { Attend(); });
}

Pipe::~Pipe() {
  Close(Cancelled("the connection is not wanted any more"));
  attendant_.join();
}

uint64_t Pipe::Suspend() {
  std::unique_lock lock(mutex_);
  BreakLocked(stream_, Unavailable("another connection took its place"));
  changed_.wait(lock, [this] { return reading_ == nullptr; });
  return received_.load(std::memory_order_relaxed);
}

Status Pipe::Resume(std::unique_ptr<Stream> stream, uint64_t peer_received) {
  std::lock_guard lock(mutex_);
  if (is_closed_) return closed_;
  if (peer_received < first_ || peer_received > first_ + sent_.size()) {
    return DataLoss(
        fmt::format("the other side says that it received {} frames; {} to {} were sent and not acknowledged",
                    peer_received, first_, first_ + sent_.size()));
  }
  next_ = sent_.size();
  Acknowledge(peer_received);
  next_ = offset_ = 0;
  aside_.clear();
  aside_offset_ = 0;
  acknowledge_ = ask_ = blocked_ = false;
  stream_ = std::move(stream);
  heard_ms_ = NowMs();
  (void)PumpLocked();
  changed_.notify_all();
  attend_.notify_all();
  return OkStatus();
}

// The other side has that many frames. With the lock.
void Pipe::Acknowledge(uint64_t received) {
  while (first_ < received && next_ != 0 && !sent_.empty()) {
    unacknowledged_bytes_ -= sent_.front().size();
    sent_.pop_front();
    ++first_;
    --next_;
  }
  changed_.notify_all();
}

void Pipe::BreakLocked(const std::shared_ptr<Stream>& stream, const Status& why) {
  if (stream == nullptr || stream != stream_) return;
  stream_->Shutdown();
  stream_ = nullptr;
  broken_ = why;
  broken_since_ms_ = NowMs();
  changed_.notify_all();
  attend_.notify_all();
}

void Pipe::Break() {
  std::lock_guard lock(mutex_);
  BreakLocked(stream_, Unavailable("the connection was broken"));
}

// Writes what the stream takes now. False when there is more. With the lock.
bool Pipe::PumpLocked() {
  while (stream_ != nullptr) {
    std::string_view bytes;
    if (aside_offset_ < aside_.size()) {
      bytes = std::string_view(aside_).substr(aside_offset_);
    } else if (offset_ == 0 && !blocked_ && (acknowledge_ || ask_)) {  // Blocked: the frame has been offered.
      const uint64_t received = received_.load(std::memory_order_relaxed);
      aside_ = acknowledge_ ? EncodeFrame(Verb::kAck, 0, wire::Encode(wire::Ack{received}))
                            : EncodeFrame(Verb::kPing, 0, wire::Encode(wire::Ping{}));
      (acknowledge_ ? acknowledge_ : ask_) = false;
      aside_offset_ = 0;
      continue;
    } else if (next_ < sent_.size()) {
      bytes = std::string_view(sent_[next_]).substr(offset_);
    } else {
      break;
    }
    const Result<size_t> n = stream_->TryWrite(bytes.data(), bytes.size());
    if (!n.ok()) {
      BreakLocked(stream_, n.status());
      return true;
    }
    if (*n == 0) {
      blocked_ = true;
      attend_.notify_all();
      return false;
    }
    blocked_ = false;
    if (aside_offset_ < aside_.size()) {
      aside_offset_ += *n;
    } else if (offset_ += * n; offset_ == sent_[next_].size()) {
      ++next_;
      offset_ = 0;
    }
  }
  blocked_ = false;
  return true;
}

// When the other side has been away for too long; the end that dials sees to it itself. With the lock.
int64_t Pipe::TimeOverMs() const {
  if (stream_ != nullptr || dial_ != nullptr) return std::numeric_limits<int64_t>::max();
  return broken_since_ms_ + (broken_.ok() ? std::max(options_.first_ms, options_.grace_ms) : options_.grace_ms);
}

// What has to happen whatever the other threads are at: goes on writing when the stream takes bytes again, says that
// this end is there while nobody receives, gives the other side up when it has been away for too long.
void Pipe::Attend() {
  if (const Status status = Contain("a connection", [this] { AttendUntilClosed(); }); !status.ok()) Close(status);
}

void Pipe::AttendUntilClosed() {
  std::unique_lock lock(mutex_);
  int64_t say_ms = NowMs() + options_.keep_alive_ms;
  while (!is_closed_) {
    if (blocked_ && stream_ != nullptr) {
      const std::shared_ptr<Stream> stream = stream_;
      lock.unlock();
      (void)stream->WaitWritable(kWaitMs);
      lock.lock();
      if (PumpLocked()) changed_.notify_all();
      continue;
    }
    const int64_t now = NowMs();
    if (now >= TimeOverMs()) {
      CloseLocked(Unavailable(fmt::format("{}; nobody made the connection again within {} s",
                                          broken_.ok() ? "no connection came" : std::string(broken_.message()),
                                          options_.grace_ms / 1000)));
      return;
    }
    if (now >= say_ms) {
      say_ms = now + options_.keep_alive_ms;
      if (stream_ != nullptr && reading_ == nullptr) {
        acknowledge_ = true;
        (void)PumpLocked();
      }
      continue;
    }
    attend_.wait_for(lock, std::chrono::milliseconds(std::min(say_ms, TimeOverMs()) - now));
  }
}

bool Pipe::SendLocked(Verb verb, uint64_t number, std::string_view message) {
  if (unacknowledged_bytes_ >= options_.window_bytes) return false;
  sent_.push_back(EncodeFrame(verb, number, message));
  unacknowledged_bytes_ += sent_.back().size();
  if (!blocked_) (void)PumpLocked();
  return true;
}

bool Pipe::TrySend(Verb verb, uint64_t number, std::string_view message) {
  std::lock_guard lock(mutex_);
  return !is_closed_ && SendLocked(verb, number, message);
}

Status Pipe::Send(Verb verb, uint64_t number, std::string_view message) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (is_closed_) return closed_;
    if (SendLocked(verb, number, message)) return OkStatus();
    changed_.wait(lock, [this] { return is_closed_ || unacknowledged_bytes_ < options_.window_bytes; });
  }
}

Status Pipe::WaitForRoom() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_closed_ || unacknowledged_bytes_ < options_.window_bytes; });
  return is_closed_ ? closed_ : OkStatus();
}

// Dials until it answers or the grace is over.
Status Pipe::Redial(std::unique_lock<std::mutex>& lock) {
  int pause_ms = kFirstRedialMs;
  while (!is_closed_ && !finishing_ && stream_ == nullptr) {
    lock.unlock();
    Result<Dialed> dialed = dial_(received_.load(std::memory_order_relaxed));
    Status status = dialed.ok() ? Resume(std::move(dialed->stream), dialed->peer_received) : dialed.status();
    lock.lock();
    if (status.ok() || finishing_ || is_closed_) continue;
    const bool again = status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded;
    if (!again || NowMs() + pause_ms > broken_since_ms_ + options_.grace_ms) {
      return Unavailable(fmt::format("{}; it was not made again: {}", broken_.message(), status.message()));
    }
    changed_.wait_for(lock, std::chrono::milliseconds(pause_ms), [this] { return is_closed_ || finishing_; });
    pause_ms = std::min(2 * pause_ms, kLastRedialMs);
  }
  return OkStatus();
}

// The stream to receive from, once there is one.
Result<std::shared_ptr<Stream>> Pipe::StreamToRead() {
  std::unique_lock lock(mutex_);
  while (stream_ == nullptr && !is_closed_) {
    if (finishing_) {
      changed_.wait(lock, [this] { return is_closed_; });
      continue;
    }
    if (dial_ != nullptr) {
      if (const Status status = Redial(lock); !status.ok()) {
        lock.unlock();
        Close(status);
        return status;
      }
      continue;
    }
    changed_.wait(lock);
  }
  if (is_closed_) return closed_;
  reading_ = stream_.get();
  return stream_;
}

// Reads all of `size` bytes; UNAVAILABLE when the stream has broken, or said nothing for too long.
Status Pipe::ReadSome(Stream& stream, char* bytes, size_t size, size_t* have) {
  while (*have < size) {
    TENON_ASSIGN_OR_RETURN(const size_t n, stream.TryRead(bytes + *have, size - *have));
    *have += n;
    if (n != 0) {
      heard_ms_.store(NowMs(), std::memory_order_relaxed);
      continue;
    }
    const int64_t heard = heard_ms_.load(std::memory_order_relaxed);
    if (stream.WaitReadable(std::min(options_.keep_alive_ms, options_.silence_ms))) continue;
    if (NowMs() - heard >= options_.silence_ms)
      return Unavailable(fmt::format("nothing was heard from {} for {} ms", stream.peer(), options_.silence_ms));
    std::lock_guard lock(mutex_);
    ask_ = true;
    if (!blocked_) (void)PumpLocked();
    if (stream_.get() != &stream) return Unavailable("the connection broke");
  }
  return OkStatus();
}

// True: a frame for the caller.
Result<bool> Pipe::ReceiveFrom(const std::shared_ptr<Stream>& stream, Ring::Frame& frame) {
  wire::FrameHeader header;
  size_t have = 0;
  TENON_RETURN_IF_ERROR(ReadSome(*stream, reinterpret_cast<char*>(&header), sizeof(header), &have));
  if (header.size > options_.max_message_bytes) {
    return DataLoss(
        fmt::format("a frame announces {} bytes, at most {} are taken", header.size, options_.max_message_bytes));
  }
  frame.verb = static_cast<Verb>(header.verb);
  frame.number = header.number;
  frame.message.clear();
  for (have = 0; have < header.size;) {
    const size_t step = std::min<size_t>(header.size, have + kStep);
    frame.message.resize(step);
    TENON_RETURN_IF_ERROR(ReadSome(*stream, frame.message.data(), step, &have));
  }
  switch (frame.verb) {
    case Verb::kAck: {
      TENON_ASSIGN_OR_RETURN(const wire::Ack ack, wire::Decode<wire::Ack>(frame.message));
      std::lock_guard lock(mutex_);
      if (ack.received > first_ + next_)
        return DataLoss(fmt::format("{} frames are acknowledged, {} were sent", ack.received, first_ + next_));
      Acknowledge(ack.received);
      return false;
    }
    case Verb::kPing: {
      TENON_RETURN_IF_ERROR(wire::Decode<wire::Ping>(frame.message).status());
      std::lock_guard lock(mutex_);
      acknowledge_ = true;
      if (!blocked_) (void)PumpLocked();
      return false;
    }
    default:
      break;
  }
  received_.fetch_add(1, std::memory_order_relaxed);
  received_since_ += sizeof(header) + header.size;
  if (received_since_ > options_.window_bytes / 4) {
    received_since_ = 0;
    std::lock_guard lock(mutex_);
    acknowledge_ = true;
    if (!blocked_) (void)PumpLocked();
  }
  return true;
}

Status Pipe::Receive(Ring::Frame& frame) {
  for (;;) {
    TENON_ASSIGN_OR_RETURN(const std::shared_ptr<Stream> stream, StreamToRead());
    bool got = false;
    Status broken;  // what the stream says; `thrown` is what happened to this end, and is as final as broken rules
    const Status thrown = Contain("receiving", [&] {
      Result<bool> received = ReceiveFrom(stream, frame);
      broken = received.status();
      got = received.ok() && *received;
    });
    {
      std::lock_guard lock(mutex_);
      reading_ = nullptr;
      changed_.notify_all();
      if (thrown.ok() && !broken.ok() && broken.code() != Code::kDataLoss) BreakLocked(stream, broken);
    }
    if (!thrown.ok() || broken.code() == Code::kDataLoss) {
      Close(thrown.ok() ? broken : thrown);
      return thrown.ok() ? broken : thrown;
    }
    if (got) return OkStatus();
  }
}

Status Pipe::ReceiveAll(const std::function<Status(const Ring::Frame&)>& take) {
  Ring::Frame frame;
  for (;;) {
    TENON_RETURN_IF_ERROR(Receive(frame));
    TENON_RETURN_IF_ERROR(Contain("a message", [&] { return take(frame); }));
  }
}

Status Pipe::state() const {
  std::lock_guard lock(mutex_);
  return is_closed_ ? closed_ : OkStatus();
}

void Pipe::Finish() {
  std::lock_guard lock(mutex_);
  finishing_ = true;
  changed_.notify_all();
}

void Pipe::CloseLocked(const Status& why) {
  if (is_closed_) return;
  is_closed_ = true;
  closed_ = why;
  if (stream_ != nullptr) stream_->Shutdown();
  stream_ = nullptr;
  changed_.notify_all();
  attend_.notify_all();
}

void Pipe::Close(const Status& why, int linger_ms) {
  std::unique_lock lock(mutex_);
  if (is_closed_) return;
  if (linger_ms > 0) {
    changed_.wait_for(lock, std::chrono::milliseconds(linger_ms),
                      [this] { return is_closed_ || stream_ == nullptr || next_ == sent_.size(); });
  }
  CloseLocked(why);
}

}  // namespace tenon::channel
