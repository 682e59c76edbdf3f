#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/channel/shared_memory.h"

namespace tenon::channel {

/// A piece of shared memory and its number. Whoever holds one may use its bytes.
struct Piece {
  uint32_t number = 0;
  SharedMemory memory;
  // The arena's that has it: what small blocks were cut from it, and those of them that are free.
  uint64_t cut_bytes = 0, free_bytes = 0;
};

/// Allocates blocks of shared memory out of pieces: the bookkeeping lies in this process alone. Blocks are recycled by
/// size class, since touching fresh pages costs several times a copy. Thread-safe.
class Arena {
 public:
  struct Block {
    std::shared_ptr<Piece> piece;  // null: no bytes
    uint64_t offset = 0;
    uint64_t size_bytes = 0;  // of the class
    char* data() const { return piece->memory.data() + offset; }
  };
  /// Numbers of pieces begin at `first_piece`; `limit_bytes` bounds what blocks in use take (0: nothing does). Of the
  /// system's memory no more is held than twice that and two pieces.
  Arena(uint32_t first_piece, uint64_t limit_bytes) : next_piece_(first_piece), limit_bytes_(limit_bytes) {}

  /// A block of at least `size_bytes`, aligned to 64. RESOURCE_EXHAUSTED beyond the limit or the system's memory.
  Result<Block> Allocate(uint64_t size_bytes);
  void Free(Block block);

  /// Numbers of pieces that were given back to the system since the last call: nobody needs to keep them mapped.
  std::vector<uint32_t> TakeGone();

  uint64_t bytes_in_use() const;
  uint64_t bytes_held() const;

  /// Blocks above this have a piece of their own.
  static constexpr uint64_t kLargeBytes = uint64_t{8} << 20;
  static constexpr uint64_t kPieceBytes = uint64_t{32} << 20;

 private:
  static constexpr int kClasses = 80;
  static int ClassOf(uint64_t size_bytes, uint64_t* class_bytes);
  Result<std::shared_ptr<Piece>> NewPiece(uint64_t size_bytes);
  void TrimLarge();
  bool MakeRoom(uint64_t size_bytes);
  void GiveBackLarge();
  void GiveBackSmall();
  Block TakeLarger(int size_class);
  Status TooMuchHeld(uint64_t size_bytes) const;
  void NoteGone(const Block& block);

  mutable std::mutex mutex_;
  uint32_t next_piece_;
  const uint64_t limit_bytes_;
  uint64_t in_use_ = 0, held_ = 0;
  std::array<std::vector<Block>, kClasses> free_;
  std::multimap<uint64_t, Block> free_large_;  // by size
  uint64_t free_large_bytes_ = 0, peak_large_ = 0, large_in_use_ = 0;
  std::vector<uint32_t> gone_;
  std::atomic<bool> any_gone_{false};
  std::shared_ptr<Piece> current_;  // what small blocks are cut from
  uint64_t cut_ = 0;
};

}  // namespace tenon::channel
