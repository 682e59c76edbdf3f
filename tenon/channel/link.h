#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "tenon/base/status.h"
#include "tenon/channel/arena.h"
#include "tenon/channel/control.h"
#include "tenon/channel/ring.h"
#include "tenon/channel/shared_memory.h"
#include "tenon/wire/messages.h"

namespace tenon::channel {

/// The shared memory of one host process and one device process: a ring each way, and what the device process says of
/// itself for the time when it can no longer speak.
class Link {
 public:
  static constexpr size_t kRingBytes = size_t{256} << 10;

  /// Zero-filled memory of a new link.
  static Result<SharedMemory> Create();
  /// An end: `memory` is of Create.
  explicit Link(SharedMemory memory);

  /// From the host to the device process.
  Ring& requests() { return requests_; }
  /// From the device process to the host.
  Ring& replies() { return replies_; }
  /// The number of the execution that was begun last, written by the device process.
  std::atomic<uint64_t>& begun() { return *begun_; }
  int fd() const { return memory_.fd(); }

 private:
  SharedMemory memory_;
  Ring requests_, replies_;
  std::atomic<uint64_t>* begun_;
};

/// File descriptors with which a device process is started: the control socket and the link's memory.
inline constexpr int kControlFd = 3;
inline constexpr int kLinkFd = 4;

/// The pieces that the other side made known, by number. Thread-safe.
class Pieces {
 public:
  /// How many there may be, and of how many bytes: whoever gets them maps them, and shares its own address space with
  /// all that it does.
  struct Limits {
    size_t pieces = SIZE_MAX;
    uint64_t bytes = UINT64_MAX;
  };
  Pieces() = default;
  explicit Pieces(Limits limits) : limits_(limits) {}

  /// Maps a piece. DATA_LOSS when it is no sealed memory, its number is taken, or there are too many.
  Status Add(PieceNotice notice);
  void Remove(uint32_t number);
  /// The piece, once it is there: waits at most five seconds for its notice, which comes another way than what names
  /// it. DATA_LOSS when it does not come or nobody sends any more.
  Result<std::shared_ptr<Piece>> Find(uint32_t number);
  /// The bytes of a place, or DATA_LOSS when it leaves its piece.
  Result<char*> At(uint32_t number, uint64_t offset, uint64_t size_bytes);
  /// Where in a piece these bytes lie; nothing when they are elsewhere.
  std::optional<wire::Place> Locate(const void* data, uint64_t size_bytes);
  /// No more pieces will come.
  void Close();

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  std::map<uint32_t, std::shared_ptr<Piece>> pieces_;
  const Limits limits_;
  uint64_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace tenon::channel
