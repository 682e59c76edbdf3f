#include "tenon/channel/link.h"

#include <fmt/format.h>

#include <chrono>

namespace tenon::channel {

namespace {
constexpr size_t kStatusBytes = 64;
}

Result<SharedMemory> Link::Create() { return SharedMemory::Create(2 * Ring::SizeBytes(kRingBytes) + kStatusBytes); }

Link::Link(SharedMemory memory)
    : memory_(std::move(memory)),
      requests_(memory_.data(), kRingBytes),
      replies_(memory_.data() + Ring::SizeBytes(kRingBytes), kRingBytes),
      begun_(reinterpret_cast<std::atomic<uint64_t>*>(memory_.data() + 2 * Ring::SizeBytes(kRingBytes))) {}

Status Pieces::Add(PieceNotice notice) {
  auto piece = std::make_shared<Piece>();
  piece->number = notice.piece;
  {
    std::lock_guard lock(mutex_);
    if (pieces_.size() >= limits_.pieces || notice.size_bytes > limits_.bytes - bytes_) {
      return DataLoss(fmt::format(
          "{} bytes of shared memory are announced beside {} pieces of {} bytes; at most {} of {} are taken",
          notice.size_bytes, pieces_.size(), bytes_, limits_.pieces, limits_.bytes));
    }
  }
  TENON_ASSIGN_OR_RETURN(piece->memory, SharedMemory::Map(std::move(notice.fd), notice.size_bytes));
  piece->memory.CloseFd();
  std::lock_guard lock(mutex_);
  if (!pieces_.emplace(piece->number, piece).second)
    return DataLoss(fmt::format("piece {} of shared memory is announced twice", piece->number));
  bytes_ += piece->memory.size();
  added_.notify_all();
  return OkStatus();
}

void Pieces::Remove(uint32_t number) {
  std::lock_guard lock(mutex_);
  if (const auto it = pieces_.find(number); it != pieces_.end()) {
    bytes_ -= it->second->memory.size();
    pieces_.erase(it);
  }
}

Result<std::shared_ptr<Piece>> Pieces::Find(uint32_t number) {
  std::unique_lock lock(mutex_);
  const auto there = [&] { return closed_ || pieces_.contains(number); };
  if (!there()) added_.wait_for(lock, std::chrono::seconds(5), there);
  const auto it = pieces_.find(number);
  if (it == pieces_.end()) return DataLoss(fmt::format("there is no piece {} of shared memory", number));
  return it->second;
}

Result<char*> Pieces::At(uint32_t number, uint64_t offset, uint64_t size_bytes) {
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<Piece> piece, Find(number));
  const uint64_t total = piece->memory.size();
  if (offset > total || size_bytes > total - offset) {
    return DataLoss(fmt::format("{} bytes at offset {} leave piece {} of {} bytes", size_bytes, offset, number, total));
  }
  return piece->memory.data() + offset;
}

std::optional<wire::Place> Pieces::Locate(const void* data, uint64_t size_bytes) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  std::lock_guard lock(mutex_);
  for (const auto& [number, piece] : pieces_) {
    const auto begin = reinterpret_cast<uintptr_t>(piece->memory.data());
    if (address < begin || address - begin > piece->memory.size()) continue;
    const uint64_t offset = address - begin;
    if (size_bytes <= piece->memory.size() - offset) return wire::Place{number, offset};
  }
  return std::nullopt;
}

void Pieces::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  added_.notify_all();
}

}  // namespace tenon::channel
