#include "tenon/lapack/memory.h"

#include <bit>
#include <new>
#include <utility>

namespace tenon::lapack {
namespace {

constexpr std::align_val_t kLine{64};
/// Smaller blocks come quickly from anywhere, and larger ones are worked on for long.
constexpr size_t kLeast = size_t{1} << 16, kMost = size_t{1} << 23;

/// Sizes are powers of two, or one and a half of them, so that blocks fit again.
size_t Rounded(size_t bytes) {
  const size_t power = std::bit_ceil(bytes);
  return bytes <= power / 4 * 3 ? power / 4 * 3 : power;
}

class Idle {
 public:
  ~Idle() {
    for (const Block& block : blocks_) ::operator delete(block.memory, kLine);
  }
  void* Take(size_t bytes) {
    for (Block& block : blocks_) {
      if (block.bytes != bytes) continue;
      block.bytes = 0;
      return std::exchange(block.memory, nullptr);
    }
    return nullptr;
  }
  /// Whether there was room.
  bool Keep(void* memory, size_t bytes) {
    size_t kept = bytes;
    for (const Block& block : blocks_) kept += block.bytes;
    if (kept > kAtMost) return false;
    for (Block& block : blocks_) {
      if (block.memory != nullptr) continue;
      block = {memory, bytes};
      return true;
    }
    return false;
  }

 private:
  static constexpr size_t kAtMost = size_t{1} << 24;
  struct Block {
    void* memory = nullptr;
    size_t bytes = 0;
  };
  Block blocks_[16];
};

thread_local Idle idle;

bool IsKept(size_t bytes) { return bytes >= kLeast && bytes <= kMost; }

}  // namespace

void* TakeMemory(size_t bytes) {
  if (!IsKept(bytes)) return ::operator new(bytes, kLine);
  const size_t rounded = Rounded(bytes);
  if (void* memory = idle.Take(rounded)) return memory;
  return ::operator new(rounded, kLine);
}

void GiveMemory(void* memory, size_t bytes) noexcept {
  if (IsKept(bytes) && idle.Keep(memory, Rounded(bytes))) return;
  ::operator delete(memory, kLine);
}

}  // namespace tenon::lapack
