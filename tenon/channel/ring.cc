#include "tenon/channel/ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <new>

namespace tenon::channel {

namespace {

// Shared between processes, unlike those of a thread pool.
void FutexWait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, expected, nullptr, nullptr, 0);
}
void FutexWake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("" ::: "memory");
#endif
}

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Frames longer than this are read piece by piece, so that a false length allocates nothing.
constexpr size_t kStep = size_t{1} << 20;

}  // namespace

struct Ring::Header {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) std::atomic<uint32_t> reader_sleeps;
  alignas(64) std::atomic<uint32_t> writer_sleeps;
};

size_t Ring::SizeBytes(size_t capacity) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  return kHeaderBytes + capacity;
}

Ring::Ring(char* memory, size_t capacity)
    : header_(*reinterpret_cast<Header*>(memory)), data_(memory + kHeaderBytes), capacity_(capacity) {}

Result<size_t> Ring::Readable() const {
  const uint64_t ahead = header_.written.load(std::memory_order_acquire) - Position();
  if (ahead > capacity_) return DataLoss("the writer of a channel gives a position that cannot be");
  return static_cast<size_t>(ahead);
}

Result<size_t> Ring::Writable() const {
  const uint64_t ahead = Position() - header_.read.load(std::memory_order_acquire);
  if (ahead > capacity_) return DataLoss("the reader of a channel gives a position that cannot be");
  return static_cast<size_t>(capacity_ - ahead);
}

void Ring::Put(const char* bytes, size_t size) {
  if (size == 0) return;  // Then there may be no bytes to point to.
  const size_t at = Position() & (capacity_ - 1);
  const size_t first = std::min<size_t>(size, capacity_ - at);
  std::memcpy(data_ + at, bytes, first);
  std::memcpy(data_, bytes + first, size - first);
  Advance(size);
}

void Ring::Take(char* bytes, size_t size) {
  Peek(bytes, size);
  Advance(size);
}

void Ring::Peek(char* bytes, size_t size) const {
  if (size == 0) return;
  const size_t at = Position() & (capacity_ - 1);
  const size_t first = std::min<size_t>(size, capacity_ - at);
  std::memcpy(bytes, data_ + at, first);
  std::memcpy(bytes + first, data_, size - first);
}

// The other side says that it sleeps and looks once more; we publish and look whether it sleeps. Both in one order.
void Ring::PublishWritten() {
  header_.written.store(Position(), std::memory_order_seq_cst);
  if (header_.reader_sleeps.load(std::memory_order_seq_cst) != 0 &&
      header_.reader_sleeps.exchange(0, std::memory_order_seq_cst) != 0) {
    FutexWake(header_.reader_sleeps);
  }
}

void Ring::PublishRead() {
  header_.read.store(Position(), std::memory_order_seq_cst);
  if (header_.writer_sleeps.load(std::memory_order_seq_cst) != 0 &&
      header_.writer_sleeps.exchange(0, std::memory_order_seq_cst) != 0) {
    FutexWake(header_.writer_sleeps);
  }
}

bool Ring::Spin() {
  if (spin_ns_ <= 0 || (spin_credit_ == 0 && ++waits_ % kWaitsPerTry != 0)) return false;
  const int64_t until = NowNs() + spin_ns_;
  do {
    for (int i = 0; i < 16; ++i) {
      if (header_.written.load(std::memory_order_acquire) != Position()) {
        spin_credit_ = std::min(spin_credit_ + 1, kMaxSpinCredit);
        return true;
      }
      CpuRelax();
    }
  } while (NowNs() < until && !closed_.load(std::memory_order_relaxed));
  spin_credit_ = std::max(spin_credit_ - 1, 0);
  return false;
}

void Ring::BeginLooking() { header_.reader_sleeps.store(0, std::memory_order_seq_cst); }

void Ring::EndLooking(bool nudge) {
  if (nudge) nudged_.store(true, std::memory_order_seq_cst);
  header_.reader_sleeps.store(1, std::memory_order_seq_cst);
  if (!nudge && header_.written.load(std::memory_order_seq_cst) == Position() &&
      !closed_.load(std::memory_order_seq_cst))
    return;
  header_.reader_sleeps.store(0, std::memory_order_seq_cst);
  FutexWake(header_.reader_sleeps);
}

Status Ring::WaitReadable() {
  if (Spin()) return OkStatus();
  for (;;) {
    header_.reader_sleeps.store(1, std::memory_order_seq_cst);
    TENON_ASSIGN_OR_RETURN(const size_t readable, Readable());
    if (readable != 0) break;
    if (closed_.load(std::memory_order_seq_cst)) return Cancelled("the channel is closed");
    if (nudged_.exchange(false, std::memory_order_seq_cst)) break;
    FutexWait(header_.reader_sleeps, 1);
  }
  // The word stays as it is: another thread of this side may have begun to sleep.
  return OkStatus();
}

Status Ring::WaitWritable() {
  for (;;) {
    header_.writer_sleeps.store(1, std::memory_order_seq_cst);
    TENON_ASSIGN_OR_RETURN(const size_t writable, Writable());
    if (closed_.load(std::memory_order_seq_cst)) return Cancelled("the channel is closed");
    if (writable != 0) break;
    FutexWait(header_.writer_sleeps, 1);
  }
  header_.writer_sleeps.store(0, std::memory_order_relaxed);
  return OkStatus();
}

bool Ring::TryWrite(wire::Verb verb, uint64_t number, std::string_view message) {
  const wire::FrameHeader header{static_cast<uint32_t>(message.size()), static_cast<uint32_t>(verb), number};
  const Result<size_t> room = Writable();
  if (!room.ok() || *room < sizeof(header) + message.size() || closed_.load(std::memory_order_relaxed)) return false;
  Put(reinterpret_cast<const char*>(&header), sizeof(header));
  Put(message.data(), message.size());
  PublishWritten();
  return true;
}

Status Ring::WriteAll(const char* bytes, size_t size) {
  while (size != 0) {
    TENON_ASSIGN_OR_RETURN(size_t n, Writable());
    if (n == 0) {
      TENON_RETURN_IF_ERROR(WaitWritable());
      continue;
    }
    n = std::min(n, size);
    Put(bytes, n);
    PublishWritten();
    bytes += n;
    size -= n;
  }
  return closed_.load(std::memory_order_relaxed) ? Cancelled("the channel is closed") : OkStatus();
}

Status Ring::Write(wire::Verb verb, uint64_t number, std::string_view message) {
  if (message.size() > wire::kMaxMessageBytes) {
    return ResourceExhausted("a message of " + std::to_string(message.size()) + " bytes; the longest has " +
                             std::to_string(wire::kMaxMessageBytes));
  }
  if (TryWrite(verb, number, message)) return OkStatus();
  const wire::FrameHeader header{static_cast<uint32_t>(message.size()), static_cast<uint32_t>(verb), number};
  TENON_RETURN_IF_ERROR(WriteAll(reinterpret_cast<const char*>(&header), sizeof(header)));
  return WriteAll(message.data(), message.size());
}

Status Ring::ReadExactly(char* bytes, size_t size) {
  while (size != 0) {
    TENON_ASSIGN_OR_RETURN(size_t n, Readable());
    if (n == 0) {
      TENON_RETURN_IF_ERROR(WaitReadable());
      continue;
    }
    n = std::min(n, size);
    Take(bytes, n);
    PublishRead();
    bytes += n;
    size -= n;
  }
  return OkStatus();
}

Status Ring::Read(Frame& frame) {
  wire::FrameHeader header;
  TENON_RETURN_IF_ERROR(ReadExactly(reinterpret_cast<char*>(&header), sizeof(header)));
  if (header.size > wire::kMaxMessageBytes) {
    return DataLoss("a frame announces " + std::to_string(header.size) + " bytes");
  }
  frame.verb = static_cast<wire::Verb>(header.verb);
  frame.number = header.number;
  frame.message.clear();
  for (size_t left = header.size; left != 0;) {
    const size_t step = std::min(left, kStep), at = frame.message.size();
    frame.message.resize(at + step);
    TENON_RETURN_IF_ERROR(ReadExactly(frame.message.data() + at, step));
    left -= step;
  }
  return OkStatus();
}

Result<bool> Ring::TryReadWhole(Frame& frame) {
  TENON_ASSIGN_OR_RETURN(const size_t readable, Readable());
  wire::FrameHeader header;
  if (readable < sizeof(header)) return false;
  // Only looked at: what is read is read again, and checked then.
  Peek(reinterpret_cast<char*>(&header), sizeof(header));
  if (readable - sizeof(header) < header.size) return false;
  return TryRead(frame);
}

Result<bool> Ring::TryRead(Frame& frame) {
  TENON_ASSIGN_OR_RETURN(const size_t readable, Readable());
  if (readable == 0) return false;
  TENON_RETURN_IF_ERROR(Read(frame));
  return true;
}

void Ring::Close() {
  closed_.store(true, std::memory_order_seq_cst);
  header_.reader_sleeps.store(0, std::memory_order_seq_cst);
  header_.writer_sleeps.store(0, std::memory_order_seq_cst);
  FutexWake(header_.reader_sleeps);
  FutexWake(header_.writer_sleeps);
}

}  // namespace tenon::channel
