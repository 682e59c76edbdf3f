#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tenon/base/status.h"
#include "tenon/wire/codec.h"

namespace tenon::channel {

/// A stream of frames from one process to another through shared memory: one reader, one writer (who may be several
/// threads behind a lock). Either end may lie: positions that the other side keeps are checked before they are used,
/// and frames are copied out before anybody looks at them.
///
/// The memory holds two positions that only grow, two words on which the sides sleep, and the bytes.
class Ring {
 public:
  /// Bytes of shared memory for a ring of `capacity` bytes, which is a power of two.
  static size_t SizeBytes(size_t capacity);

  /// An end of the ring at `memory`, whose SizeBytes(capacity) bytes were zero when the first end was made. The memory
  /// must outlive it.
  Ring(char* memory, size_t capacity);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // --- The writer.

  /// Writes a frame if there is room for all of it now. Never waits.
  bool TryWrite(wire::Verb verb, uint64_t number, std::string_view message);
  /// Writes a frame of any length, waiting for the reader to make room. CANCELLED once the ring is closed.
  Status Write(wire::Verb verb, uint64_t number, std::string_view message);

  // --- The reader.

  struct Frame {
    wire::Verb verb = wire::Verb::kNone;
    uint64_t number = 0;
    std::string message;
  };
  /// Waits for the next frame; `frame` keeps its capacity. CANCELLED once the ring is closed and empty, DATA_LOSS when
  /// the writer broke the rules.
  Status Read(Frame& frame);
  /// The same, if a frame has begun to arrive; false if not.
  Result<bool> TryRead(Frame& frame);
  /// The same, if all of one is there; never waits for a writer that keeps to the rules.
  Result<bool> TryReadWhole(Frame& frame);
  /// Waits until a frame has begun to arrive, or EndLooking nudges; fails as Read does.
  Status WaitReadable();
  /// While another thread of this side looks for frames by TryReadWhole, the one that sleeps in WaitReadable is not
  /// woken. What has come when it stops looking is for that one, which `nudge` wakes in any case.
  void BeginLooking();
  void EndLooking(bool nudge = false);

  /// Wakes whoever sleeps at this end, for good: of what is in the ring already, whole frames can still be read.
  void Close();

  /// How long the reader looks for frames before it sleeps, in nanoseconds. Being woken costs 5 to 50 us, looking costs
  /// others a core: after some times in vain it is tried only now and then.
  void set_spin_ns(int64_t spin_ns) { spin_ns_ = spin_ns; }

 private:
  struct Header;
  static constexpr size_t kHeaderBytes = 256;
  // So many times in vain the reader spins at every wait, then at every so many.
  static constexpr int kMaxSpinCredit = 8, kWaitsPerTry = 64;

  /// Bytes that can be read, or written. DATA_LOSS when the other side's position cannot be.
  Result<size_t> Readable() const;
  Result<size_t> Writable() const;
  uint64_t Position() const { return position_.load(std::memory_order_relaxed); }
  bool Spin();
  Status WaitWritable();
  void Put(const char* bytes, size_t size);
  void Take(char* bytes, size_t size);
  void Peek(char* bytes, size_t size) const;
  void Advance(size_t size) { position_.store(Position() + size, std::memory_order_relaxed); }
  void PublishWritten();
  void PublishRead();
  Status ReadExactly(char* bytes, size_t size);
  Status WriteAll(const char* bytes, size_t size);

  Header& header_;
  char* const data_;
  const uint64_t capacity_;
  // Our own: the shared one is for the other side to read. Changed by one thread at a time.
  std::atomic<uint64_t> position_{0};
  std::atomic<bool> closed_{false}, nudged_{false};
  int64_t spin_ns_ = 0;
  int spin_credit_ = kMaxSpinCredit, waits_ = 0;
};

}  // namespace tenon::channel
