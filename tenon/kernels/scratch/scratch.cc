#include "tenon/kernels/scratch/scratch.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace tenon::kernels {
namespace {

constexpr int kMinClass = 14;  // 16 KiB.
constexpr int kNumClasses = 48;
constexpr size_t kHugePage = size_t{2} << 20;

size_t BytesOfClass(int c) { return size_t{1} << c; }

void* Allocate(int c) {
  const size_t bytes = BytesOfClass(c);
  if (bytes < kHugePage) return std::aligned_alloc(4096, bytes);
  void* const data = std::aligned_alloc(kHugePage, bytes);
  if (data != nullptr) madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

// Idle blocks by size class, each holding the pointer to the next.
class IdleBlocks {
 public:
  void* Take(int c) {
    const std::lock_guard<std::mutex> lock(mutex_);
    void* const block = heads_[static_cast<size_t>(c)];
    if (block != nullptr) {
      heads_[static_cast<size_t>(c)] = *static_cast<void**>(block);
      idle_bytes_ -= BytesOfClass(c);
    }
    return block;
  }
  // False when enough is idle already.
  bool Give(int c, void* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_bytes_ + BytesOfClass(c) > Scratch::kMaxIdleBytes) return false;
    *static_cast<void**>(block) = heads_[static_cast<size_t>(c)];
    heads_[static_cast<size_t>(c)] = block;
    idle_bytes_ += BytesOfClass(c);
    return true;
  }

 private:
  std::mutex mutex_;
  std::array<void*, kNumClasses> heads_ = {};
  size_t idle_bytes_ = 0;
};

// Leaked: threads may compute while the process ends.
IdleBlocks& Idle() {
  static auto* const blocks = new IdleBlocks;
  return *blocks;
}

int ClassOf(size_t bytes) { return bytes <= BytesOfClass(kMinClass) ? kMinClass : std::bit_width(bytes - 1); }

}  // namespace

void* Scratch::Take(size_t bytes) {
  const int size_class = ClassOf(bytes);
  if (size_class >= kNumClasses) return nullptr;
  void* const block = Idle().Take(size_class);
  return block != nullptr ? block : Allocate(size_class);
}

void Scratch::Give(void* block, size_t bytes) noexcept {
  if (!Idle().Give(ClassOf(bytes), block)) std::free(block);
}

Scratch::Scratch(size_t bytes) : data_(bytes == 0 ? nullptr : Take(bytes)), bytes_(bytes) {}

Scratch::~Scratch() {
  if (data_ != nullptr) Give(data_, bytes_);
}

Scratch::Scratch(Scratch&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace tenon::kernels
