#include "tenon/channel/arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace tenon::channel {

namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kPage = 4096;

uint64_t RoundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

}  // namespace

// Four classes per power of two: at most a quarter of a block is lost.
int Arena::ClassOf(uint64_t size_bytes, uint64_t* class_bytes) {
  const uint64_t size = std::max(RoundUp(size_bytes, kAlignment), kAlignment);
  if (size <= 4 * kAlignment) {
    *class_bytes = size;
    return static_cast<int>(size / kAlignment) - 1;
  }
  const int log = std::bit_width(size - 1) - 1;  // size is in (2^log, 2^(log+1)]
  const uint64_t quarter = uint64_t{1} << (log - 2);
  const uint64_t quarters = (size - (uint64_t{1} << log) + quarter - 1) / quarter;  // 1..4
  *class_bytes = (uint64_t{1} << log) + quarters * quarter;
  return 4 + (log - 8) * 4 + static_cast<int>(quarters) - 1;
}

Result<std::shared_ptr<Piece>> Arena::NewPiece(uint64_t size_bytes) {
  TENON_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::Create(size_bytes));
  auto piece = std::make_shared<Piece>();
  piece->number = next_piece_++;
  piece->memory = std::move(memory);
  held_ += size_bytes;
  return piece;
}

// Whether a piece of so many bytes may be made, when what is free and can go back to the system has gone.
bool Arena::MakeRoom(uint64_t size_bytes) {
  if (limit_bytes_ == 0 || limit_bytes_ > UINT64_MAX / 4) return true;
  const uint64_t most = 2 * limit_bytes_ + 2 * kPieceBytes;
  const auto fits = [&] { return held_ <= most && size_bytes <= most - held_; };
  if (!fits()) GiveBackLarge();
  if (!fits()) GiveBackSmall();
  return fits();
}

void Arena::GiveBackLarge() {
  for (const auto& [bytes, old] : free_large_) {
    held_ -= bytes;
    NoteGone(old);
  }
  free_large_.clear();
  free_large_bytes_ = 0;
}

// Pieces of which no block is in use.
void Arena::GiveBackSmall() {
  std::set<uint32_t> unused;
  for (std::vector<Block>& free : free_) {
    std::erase_if(free, [&](const Block& block) {
      if (block.piece == current_ || block.piece->free_bytes != block.piece->cut_bytes) return false;
      if (unused.insert(block.piece->number).second) NoteGone(block);
      return true;
    });
  }
  held_ -= unused.size() * kPieceBytes;
}

// A free block of a larger class that the limit has room for, or none.
Arena::Block Arena::TakeLarger(int size_class) {
  for (auto larger = static_cast<size_t>(size_class) + 1; larger < free_.size(); ++larger) {
    std::vector<Block>& free = free_[larger];
    if (free.empty() || free.back().size_bytes > limit_bytes_ - std::min(limit_bytes_, in_use_)) continue;
    Block block = std::move(free.back());
    free.pop_back();
    block.piece->free_bytes -= block.size_bytes;
    return block;
  }
  return {};
}

Status Arena::TooMuchHeld(uint64_t size_bytes) const {
  return ResourceExhausted(
      fmt::format("out of memory: {} bytes are wanted, {} of {} are in use, and {} are held for them", size_bytes,
                  in_use_, limit_bytes_, held_));
}

Result<Arena::Block> Arena::Allocate(uint64_t size_bytes) {
  if (size_bytes > (uint64_t{1} << 47)) return ResourceExhausted(fmt::format("cannot allocate {} bytes", size_bytes));
  std::lock_guard lock(mutex_);
  const bool large = size_bytes > kLargeBytes;
  uint64_t class_bytes = 0;
  const int size_class = large ? 0 : ClassOf(size_bytes, &class_bytes);
  if (large) class_bytes = RoundUp(size_bytes, kPage);
  if (limit_bytes_ != 0 && class_bytes > limit_bytes_ - std::min(limit_bytes_, in_use_)) {
    return ResourceExhausted(
        fmt::format("out of memory: {} bytes are wanted, {} of {} are in use", size_bytes, in_use_, limit_bytes_));
  }
  Block block;
  if (large) {
    // A block that is a quarter too large will do: its pages are there already.
    if (const auto it = free_large_.lower_bound(class_bytes);
        it != free_large_.end() && it->first <= class_bytes + class_bytes / 4) {
      block = std::move(it->second);
      free_large_.erase(it);
      free_large_bytes_ -= block.size_bytes;
    } else {
      if (!MakeRoom(class_bytes)) return TooMuchHeld(size_bytes);
      Result<std::shared_ptr<Piece>> piece = NewPiece(class_bytes);
      if (!piece.ok() && !free_large_.empty()) {
        GiveBackLarge();
        piece = NewPiece(class_bytes);
      }
      if (!piece.ok()) return piece.status();
      block = {std::move(*piece), 0, class_bytes};
    }
    large_in_use_ += block.size_bytes;
    peak_large_ = std::max(peak_large_, large_in_use_);
  } else if (std::vector<Block>& free = free_[static_cast<size_t>(size_class)]; !free.empty()) {
    block = std::move(free.back());
    free.pop_back();
    block.piece->free_bytes -= block.size_bytes;
  } else {
    const bool full = current_ == nullptr || kPieceBytes - cut_ < class_bytes;
    if (full && !MakeRoom(kPieceBytes)) {
      block = TakeLarger(size_class);
      if (block.piece == nullptr) return TooMuchHeld(size_bytes);
    } else {
      if (full) {
        TENON_ASSIGN_OR_RETURN(current_, NewPiece(kPieceBytes));
        cut_ = kAlignment;  // Nothing lies at offset 0.
      }
      block = {current_, cut_, class_bytes};
      cut_ += class_bytes;
      current_->cut_bytes += class_bytes;
    }
  }
  in_use_ += block.size_bytes;
  return block;
}

void Arena::Free(Block block) {
  if (block.piece == nullptr) return;
  std::lock_guard lock(mutex_);
  in_use_ -= block.size_bytes;
  if (block.size_bytes > kLargeBytes) {
    large_in_use_ -= block.size_bytes;
    free_large_bytes_ += block.size_bytes;
    const uint64_t key = block.size_bytes;
    free_large_.emplace(key, std::move(block));
    TrimLarge();
    return;
  }
  uint64_t class_bytes = 0;
  const int size_class = ClassOf(block.size_bytes, &class_bytes);
  block.piece->free_bytes += block.size_bytes;
  free_[static_cast<size_t>(size_class)].push_back(std::move(block));
}

// Keeps as much as was in use at the peak lately; the peak decays, so that what is not wanted again goes.
void Arena::TrimLarge() {
  peak_large_ -= peak_large_ / 64;
  peak_large_ = std::max(peak_large_, large_in_use_);
  while (!free_large_.empty() && free_large_bytes_ + large_in_use_ > peak_large_ + peak_large_ / 8) {
    const auto last = std::prev(free_large_.end());
    free_large_bytes_ -= last->first;
    held_ -= last->first;
    NoteGone(last->second);
    free_large_.erase(last);
  }
}

void Arena::NoteGone(const Block& block) {
  gone_.push_back(block.piece->number);
  any_gone_.store(true, std::memory_order_relaxed);
}

std::vector<uint32_t> Arena::TakeGone() {
  if (!any_gone_.load(std::memory_order_relaxed)) return {};
  std::lock_guard lock(mutex_);
  any_gone_.store(false, std::memory_order_relaxed);
  return std::exchange(gone_, {});
}

uint64_t Arena::bytes_in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}
uint64_t Arena::bytes_held() const {
  std::lock_guard lock(mutex_);
  return held_;
}

}  // namespace tenon::channel
