#include "tenon/lapack/memory.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace tenon::lapack {
namespace {

constexpr size_t kLineBytes = 64;
constexpr std::align_val_t kLine{kLineBytes};
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

/// Much faster than the system's own aligned memory: where it begins stands before it.
void* TakeSmall(size_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(bytes + kLineBytes));
  // There are 16 bytes before a line at least, as the system aligns what it gives.
  const size_t past = reinterpret_cast<uintptr_t>(memory) % kLineBytes;
  std::byte* line = memory + (kLineBytes - past);
  std::memcpy(line - sizeof(void*), &memory, sizeof(void*));
  return line;
}
void GiveSmall(void* line) noexcept {
  void* memory;
  std::memcpy(&memory, static_cast<std::byte*>(line) - sizeof(void*), sizeof(void*));
  ::operator delete(memory);
}

bool IsSmall(size_t bytes) { return bytes < kLeast; }
bool IsKept(size_t bytes) { return bytes >= kLeast && bytes <= kMost; }

}  // namespace

void* TakeMemory(size_t bytes) {
  if (IsSmall(bytes)) return TakeSmall(bytes);
  if (!IsKept(bytes)) return ::operator new(bytes, kLine);
  const size_t rounded = Rounded(bytes);
  if (void* memory = idle.Take(rounded)) return memory;
  return ::operator new(rounded, kLine);
}

void GiveMemory(void* memory, size_t bytes) noexcept {
  if (IsSmall(bytes)) return GiveSmall(memory);
  if (IsKept(bytes) && idle.Keep(memory, Rounded(bytes))) return;
  ::operator delete(memory, kLine);
}

}  // namespace tenon::lapack
