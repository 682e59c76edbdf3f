#include "tenon/lapack/memory.h"

#include <cstdint>
#include <cstring>
#include <new>

#include "tenon/kernels/scratch/scratch.h"

namespace tenon::lapack {
namespace {

constexpr size_t kLineBytes = 64;
constexpr std::align_val_t kLine{kLineBytes};
/// Smaller blocks come quickly from anywhere, and larger ones are worked on for long.
constexpr size_t kLeast = size_t{1} << 16, kMost = size_t{1} << 23;

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
bool IsRecycled(size_t bytes) { return bytes >= kLeast && bytes <= kMost; }

}  // namespace

void* TakeMemory(size_t bytes) {
  if (IsSmall(bytes)) return TakeSmall(bytes);
  if (!IsRecycled(bytes)) return ::operator new(bytes, kLine);
  if (void* memory = kernels::Scratch::Take(bytes)) return memory;
  throw std::bad_alloc();
}

void GiveMemory(void* memory, size_t bytes) noexcept {
  if (IsSmall(bytes)) return GiveSmall(memory);
  if (IsRecycled(bytes)) return kernels::Scratch::Give(memory, bytes);
  ::operator delete(memory, kLine);
}

}  // namespace tenon::lapack
