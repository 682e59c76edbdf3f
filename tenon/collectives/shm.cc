#include "tenon/collectives/shm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <random>
#include <vector>

namespace tenon::collectives {
namespace {

/// Bytes under way between two members: enough that both copy at once, few enough to stay in a shared cache.
constexpr size_t kRingBytes = size_t{1} << 20;
/// A piece that is copied before the other end hears of it.
constexpr size_t kPieceBytes = size_t{128} << 10;
/// How long a member looks before it sleeps: a few times what being woken takes. Between so many looks whoever else is
/// to run on its core may: that may be who is waited for.
constexpr std::chrono::microseconds kLook{100};
constexpr int kLooks = 32;
/// How often a sleeper looks whether the others live.
constexpr Milliseconds kWatch{50};

/// A word that is raised with every change which a member may wait for.
struct alignas(64) Bell {
  std::atomic<uint32_t> rung;
  std::atomic<uint32_t> sleepers;
  std::atomic<uint32_t> gone;
};

struct alignas(64) Ring {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) std::byte bytes[kRingBytes];
};

size_t SegmentBytes(size_t members) { return members * sizeof(Bell) + members * members * sizeof(Ring); }

struct Cursor {
  size_t part = 0;  ///< Next part in the list.
  size_t at = 0;    ///< Bytes of it that are done.
};

class ShmChannel final : public Channel {
 public:
  ShmChannel(int fd, std::byte* memory, int members, int self)
      : fd_(fd), memory_(memory), members_(static_cast<size_t>(members)), self_(self) {}
  ~ShmChannel() override {
    Abort();
    munmap(memory_, SegmentBytes(members_));
    close(fd_);
  }

  Status Exchange(std::span<const SendPart> sends, std::span<const ReceivePart> receives,
                  Milliseconds timeout) override {
    std::vector<std::vector<const SendPart*>> out(members_);
    std::vector<std::vector<const ReceivePart*>> in(members_);
    size_t left = 0;
    for (const SendPart& s : sends) {
      if (s.bytes > 0) out[static_cast<size_t>(s.peer)].push_back(&s), ++left;
    }
    for (const ReceivePart& r : receives) {
      if (r.bytes > 0) in[static_cast<size_t>(r.peer)].push_back(&r), ++left;
    }
    std::vector<Cursor> sent(members_), received(members_);
    auto deadline = std::chrono::steady_clock::now() + timeout;
    while (left > 0) {
      const uint32_t heard = BellOf(self_).rung.load(std::memory_order_acquire);
      bool moved = false;
      for (size_t peer = 0; peer < members_; ++peer) {
        if (sent[peer].part < out[peer].size()) moved |= Push(peer, out[peer], sent[peer], left);
        if (received[peer].part < in[peer].size()) moved |= Pull(peer, in[peer], received[peer], left);
      }
      if (moved) deadline = std::chrono::steady_clock::now() + timeout;
      if (moved || left == 0) continue;
      int silent = -1;
      for (size_t peer = 0; peer < members_ && !moved; ++peer) {
        const bool receives_from = received[peer].part < in[peer].size();
        if (!receives_from && sent[peer].part == out[peer].size()) continue;
        silent = static_cast<int>(peer);
        if (Lives(silent)) continue;
        // Who has nothing more to say may leave; what it said last may be unread.
        moved = receives_from && Pull(peer, in[peer], received[peer], left);
        if (!moved) return Unavailable(fmt::format("member {} is gone", silent));
      }
      if (moved) continue;
      if (aborted_.load(std::memory_order_acquire)) return Unavailable("the connections were given up");
      if (std::chrono::steady_clock::now() >= deadline)
        return DeadlineExceeded(fmt::format("member {} sent nothing for {} ms", silent, timeout.count()));
      Sleep(heard);
    }
    return OkStatus();
  }

  void Abort() override {
    if (aborted_.exchange(true)) return;
    BellOf(self_).gone.store(1, std::memory_order_release);
    for (size_t peer = 0; peer < members_; ++peer) Ring_(static_cast<int>(peer));
  }

  /// Marks this member as one that lives; the mark goes with the process.
  bool Lock() const {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = self_;
    lock.l_len = 1;
    return fcntl(fd_, F_SETLK, &lock) == 0;
  }

 private:
  Bell& BellOf(int member) const { return reinterpret_cast<Bell*>(memory_)[member]; }
  Ring& RingOf(size_t from, size_t to) const {
    return reinterpret_cast<Ring*>(memory_ + members_ * sizeof(Bell))[from * members_ + to];
  }

  void Ring_(int member) const {
    Bell& bell = BellOf(member);
    bell.rung.fetch_add(1, std::memory_order_seq_cst);
    if (bell.sleepers.load(std::memory_order_seq_cst) != 0)
      syscall(SYS_futex, &bell.rung, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  void Sleep(uint32_t heard) const {
    Bell& bell = BellOf(self_);
    const auto until = std::chrono::steady_clock::now() + kLook;
    do {
      for (int i = 0; i < kLooks; ++i) {
        if (bell.rung.load(std::memory_order_acquire) != heard) return;
        __builtin_ia32_pause();
      }
      sched_yield();
    } while (std::chrono::steady_clock::now() < until);
    bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const timespec most{0, std::chrono::nanoseconds(kWatch).count()};
    syscall(SYS_futex, &bell.rung, FUTEX_WAIT, heard, &most, nullptr, 0);
    bell.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

  bool Lives(int member) const {
    if (BellOf(member).gone.load(std::memory_order_acquire) != 0) return false;
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = member;
    lock.l_len = 1;
    // Members that are threads of one process do not see each other's locks.
    if (fcntl(fd_, F_GETLK, &lock) != 0) return true;
    return lock.l_type != F_UNLCK || in_one_process_;
  }

  bool Push(size_t peer, const std::vector<const SendPart*>& parts, Cursor& c, size_t& left) {
    Ring& ring = RingOf(static_cast<size_t>(self_), peer);
    uint64_t written = ring.written.load(std::memory_order_relaxed);
    bool moved = false;
    while (c.part < parts.size()) {
      const size_t room = kRingBytes - static_cast<size_t>(written - ring.read.load(std::memory_order_acquire));
      if (room == 0) break;
      const SendPart& part = *parts[c.part];
      const size_t at = static_cast<size_t>(written % kRingBytes);
      const size_t n = std::min({room, part.bytes - c.at, kRingBytes - at, kPieceBytes});
      std::memcpy(ring.bytes + at, part.data + c.at, n);
      written += n;
      ring.written.store(written, std::memory_order_release);
      Ring_(static_cast<int>(peer));
      moved = true;
      if ((c.at += n) == part.bytes) c = {c.part + 1, 0}, --left;
    }
    return moved;
  }

  bool Pull(size_t peer, const std::vector<const ReceivePart*>& parts, Cursor& c, size_t& left) {
    Ring& ring = RingOf(peer, static_cast<size_t>(self_));
    uint64_t read = ring.read.load(std::memory_order_relaxed);
    bool moved = false;
    while (c.part < parts.size()) {
      const size_t there = static_cast<size_t>(ring.written.load(std::memory_order_acquire) - read);
      if (there == 0) break;
      const ReceivePart& part = *parts[c.part];
      const size_t at = static_cast<size_t>(read % kRingBytes);
      const size_t n = std::min({there, part.bytes - c.at, kRingBytes - at, kPieceBytes});
      std::memcpy(part.data + c.at, ring.bytes + at, n);
      read += n;
      ring.read.store(read, std::memory_order_release);
      Ring_(static_cast<int>(peer));
      moved = true;
      if ((c.at += n) == part.bytes) c = {c.part + 1, 0}, --left;
    }
    return moved;
  }

 public:
  void SetInOneProcess(bool value) { in_one_process_ = value; }

 private:
  int fd_;
  std::byte* memory_;
  size_t members_;
  int self_;
  bool in_one_process_ = false;
  std::atomic<bool> aborted_{false};
};

/// A segment that this process has open and mapped.
struct Segment {
  int fd = -1;
  std::byte* memory = nullptr;

  Status Map(size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return Unavailable(fmt::format("mapping shared memory: {}", std::strerror(errno)));
    memory = static_cast<std::byte*>(at);
    return OkStatus();
  }
  void Drop(size_t bytes) {
    if (memory != nullptr) munmap(memory, bytes);
    if (fd >= 0) close(fd);
  }
};

Status MakeSegment(const std::string& name, size_t bytes, Segment& segment) {
  segment.fd = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (segment.fd < 0) return Unavailable(fmt::format("making shared memory: {}", std::strerror(errno)));
  // All of it now: a full file system is an error here and a signal later.
  if (const int error = posix_fallocate(segment.fd, 0, static_cast<off_t>(bytes)); error != 0) {
    shm_unlink(name.c_str());
    return Unavailable(fmt::format("{} bytes of shared memory: {}", bytes, std::strerror(error)));
  }
  return segment.Map(bytes);
}

Status OpenSegment(const std::string& name, size_t bytes, Segment& segment) {
  segment.fd = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600);
  if (segment.fd < 0) return Unavailable(fmt::format("opening shared memory: {}", std::strerror(errno)));
  struct stat about = {};
  if (fstat(segment.fd, &about) != 0 || static_cast<size_t>(about.st_size) != bytes)
    return Unavailable("shared memory of another size");
  return segment.Map(bytes);
}

class ShmEngine final : public Engine {
 public:
  std::string_view name() const override { return "shm"; }

  Result<std::unique_ptr<Channel>> Connect(const Meeting& meeting) override {
    const size_t members = meeting.nodes.size();
    const size_t bytes = SegmentBytes(members);
    Segment segment;
    std::string name;
    Status own;
    if (meeting.self == 0) {
      std::random_device random;
      name = fmt::format("/tenon-{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
      own = MakeSegment(name, bytes, segment);
      if (Status put = meeting.store->Put(meeting.key + "/shm/name", own.ok() ? name : std::string("-")); !put.ok()) {
        shm_unlink(name.c_str());
        segment.Drop(bytes);
        return put;
      }
    } else {
      TENON_ASSIGN_OR_RETURN(name, meeting.store->Get(meeting.key + "/shm/name", meeting.timeout));
      own = name == "-" ? Unavailable("the first process has no shared memory") : OpenSegment(name, bytes, segment);
    }
    std::unique_ptr<ShmChannel> channel;
    if (own.ok()) {
      channel = std::make_unique<ShmChannel>(segment.fd, segment.memory, static_cast<int>(members), meeting.self);
      if (!channel->Lock()) own = Unavailable("locking shared memory");
    } else {
      segment.Drop(bytes);
    }
    // Everybody hears from everybody, so that all take shared memory or none.
    const std::string key = fmt::format("{}/shm/member/", meeting.key);
    const std::string mine = fmt::format("{}:{}", own.ok() ? "yes" : own.message(), getpid());
    Status all = meeting.store->Put(key + std::to_string(meeting.self), mine);
    bool same_process = true;
    for (size_t i = 0; i < members && all.ok(); ++i) {
      const Result<std::string> said = meeting.store->Get(key + std::to_string(i), meeting.timeout);
      if (!said.ok()) {
        all = said.status();
      } else if (!said->starts_with("yes:")) {
        all = Unavailable(fmt::format("process {}: {}", meeting.nodes[i], *said));
      } else {
        same_process &= *said == fmt::format("yes:{}", getpid());
      }
    }
    if (meeting.self == 0) shm_unlink(name.c_str());
    TENON_RETURN_IF_ERROR(all);
    channel->SetInOneProcess(same_process);
    return std::unique_ptr<Channel>(std::move(channel));
  }
};

}  // namespace

std::unique_ptr<Engine> MakeShmEngine() { return std::make_unique<ShmEngine>(); }

}  // namespace tenon::collectives
