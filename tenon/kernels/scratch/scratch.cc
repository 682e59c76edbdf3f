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

}  // namespace

Scratch::Scratch(size_t bytes) {
  if (bytes == 0) return;
  size_class_ = bytes <= BytesOfClass(kMinClass) ? kMinClass : std::bit_width(bytes - 1);
  if (size_class_ >= kNumClasses) return;
  data_ = Idle().Take(size_class_);
  if (data_ == nullptr) data_ = Allocate(size_class_);
}

Scratch::~Scratch() {
  if (data_ != nullptr && !Idle().Give(size_class_, data_)) std::free(data_);
}

Scratch::Scratch(Scratch&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_class_(other.size_class_) {}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_class_, other.size_class_);
  return *this;
}

}  // namespace tenon::kernels
