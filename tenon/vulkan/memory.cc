#include "tenon/vulkan/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tenon/vulkan/policy.h"

namespace tenon::vulkan {
namespace {

constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT;

int64_t Rounded(int64_t bytes) {
  return (std::max<int64_t>(bytes, 1) + policy::kBlockBytes - 1) / policy::kBlockBytes * policy::kBlockBytes;
}

}  // namespace

Block& Block::operator=(Block&& o) noexcept {
  if (this == &o) return *this;
  if (memory_ != nullptr) memory_->Return(*this);
  memory_ = std::exchange(o.memory_, nullptr);
  chunk_ = std::exchange(o.chunk_, nullptr);
  buffer_ = std::exchange(o.buffer_, VK_NULL_HANDLE);
  address_ = std::exchange(o.address_, 0);
  host_ = std::exchange(o.host_, nullptr);
  offset_ = std::exchange(o.offset_, 0);
  size_bytes_ = std::exchange(o.size_bytes_, 0);
  return *this;
}

Block::~Block() {
  if (memory_ != nullptr) memory_->Return(*this);
}

void Memory::Chunk::AddFree(int64_t offset, int64_t length) {
  // With the free neighbours one stretch.
  const auto after = free_by_offset.lower_bound(offset);
  if (after != free_by_offset.end() && after->first == offset + length) {
    length += after->second;
    RemoveFree(after->first, after->second);
  }
  const auto next = free_by_offset.lower_bound(offset);
  if (next != free_by_offset.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      length += before->second;
      RemoveFree(before->first, before->second);
    }
  }
  free_by_offset.emplace(offset, length);
  free_by_length.emplace(length, offset);
}

void Memory::Chunk::RemoveFree(int64_t offset, int64_t length) {
  free_by_offset.erase(offset);
  free_by_length.erase({length, offset});
}

Memory::~Memory() {
  if (ForkGeneration() != generation_ || keeps_all_) return;  // The driver stayed in the parent, or did not answer.
  while (!chunks_.empty()) FreeChunk(chunks_.begin());
}

Status Memory::AddChunk(int64_t size_bytes) {
  if (size_bytes > setup_.max_allocation_bytes) {
    return ResourceExhausted(
        fmt::format("a block of {} bytes; the device allows {} at once", size_bytes, setup_.max_allocation_bytes));
  }
  if (setup_.left_bytes) {
    // Such a device hands out what the system has not got, and the process ends when it is used.
    const int64_t left = setup_.left_bytes();
    if (size_bytes > left)
      return ResourceExhausted(fmt::format("{} bytes; the system has {} to spare", size_bytes, left));
  }
  const DeviceFunctions& f = *setup_.functions;
  Chunk chunk;
  chunk.size_bytes = size_bytes;
  auto buffer = Typed<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  buffer.size = static_cast<VkDeviceSize>(size_bytes);
  buffer.usage = kUsage;
  if (setup_.families.size() > 1) {
    buffer.sharingMode = VK_SHARING_MODE_CONCURRENT;
    buffer.queueFamilyIndexCount = static_cast<uint32_t>(setup_.families.size());
    buffer.pQueueFamilyIndices = setup_.families.data();
  }
  TENON_VK_RETURN_IF_ERROR(f.CreateBuffer(setup_.device, &buffer, nullptr, &chunk.buffer), "making a buffer");
  const auto give_up = [&](VkResult result, std::string_view what) {
    f.DestroyBuffer(setup_.device, chunk.buffer, nullptr);
    if (chunk.memory != VK_NULL_HANDLE) f.FreeMemory(setup_.device, chunk.memory, nullptr);
    return ToStatus(result, what);
  };
  VkMemoryRequirements needs;
  f.GetBufferMemoryRequirements(setup_.device, chunk.buffer, &needs);
  if ((needs.memoryTypeBits & (1u << setup_.type)) == 0)
    return give_up(VK_ERROR_FEATURE_NOT_PRESENT, "buffers in this type of memory");
  auto flags = Typed<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  auto allocate = Typed<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocate.pNext = &flags;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = setup_.type;
  if (const VkResult r = f.AllocateMemory(setup_.device, &allocate, nullptr, &chunk.memory); r != VK_SUCCESS) {
    chunk.memory = VK_NULL_HANDLE;
    return give_up(r, fmt::format("allocating {} bytes", size_bytes));
  }
  if (const VkResult r = f.BindBufferMemory(setup_.device, chunk.buffer, chunk.memory, 0); r != VK_SUCCESS)
    return give_up(r, "binding memory");
  if (setup_.mapped) {
    void* host = nullptr;
    if (const VkResult r = f.MapMemory(setup_.device, chunk.memory, 0, VK_WHOLE_SIZE, 0, &host); r != VK_SUCCESS)
      return give_up(r, fmt::format("mapping {} bytes", size_bytes));
    chunk.host = static_cast<std::byte*>(host);
  }
  auto address = Typed<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
  address.buffer = chunk.buffer;
  chunk.address = f.GetBufferDeviceAddress(setup_.device, &address);
  chunk.AddFree(0, size_bytes);
  chunks_.push_front(std::move(chunk));
  chunks_.front().self = chunks_.begin();
  statistics_.bytes_reserved += size_bytes;
  idle_bytes_ += size_bytes;
  return OkStatus();
}

void Memory::FreeChunk(std::list<Chunk>::iterator chunk) {
  const DeviceFunctions& f = *setup_.functions;
  f.DestroyBuffer(setup_.device, chunk->buffer, nullptr);
  f.FreeMemory(setup_.device, chunk->memory, nullptr);
  statistics_.bytes_reserved -= chunk->size_bytes;
  if (chunk->used_bytes == 0) idle_bytes_ -= chunk->size_bytes;
  chunks_.erase(chunk);
}

void Memory::TrimTo(int64_t idle_bytes) {
  // What was made last goes last: it is what the program at hand needs.
  for (auto it = chunks_.end(); it != chunks_.begin() && idle_bytes_ > idle_bytes;) {
    --it;
    if (it->used_bytes > 0) continue;
    const auto gone = it++;
    FreeChunk(gone);
  }
}

bool Memory::Take(int64_t size_bytes, Block& block) {
  // The shortest stretch that is long enough, over all pieces; large blocks only out of pieces of about their size, so
  // that these are there for the next large one.
  Chunk* best = nullptr;
  std::pair<int64_t, int64_t> stretch;
  for (Chunk& chunk : chunks_) {
    const bool own = chunk.size_bytes > policy::kChunkBytes || size_bytes >= policy::kLargeBytes;
    if (own && (size_bytes < chunk.size_bytes / 2)) continue;
    const auto found = chunk.free_by_length.lower_bound({size_bytes, 0});
    if (found == chunk.free_by_length.end()) continue;
    if (best == nullptr || *found < stretch) {
      best = &chunk;
      stretch = *found;
    }
  }
  if (best == nullptr) return false;
  const auto [length, offset] = stretch;
  best->RemoveFree(offset, length);
  if (length > size_bytes) best->AddFree(offset + size_bytes, length - size_bytes);
  if (best->used_bytes == 0) idle_bytes_ -= best->size_bytes;
  best->used_bytes += size_bytes;
  block.memory_ = this;
  block.chunk_ = best;
  block.buffer_ = best->buffer;
  block.address_ = best->address + static_cast<uint64_t>(offset);
  block.host_ = best->host == nullptr ? nullptr : best->host + offset;
  block.offset_ = offset;
  block.size_bytes_ = size_bytes;
  return true;
}

Result<Block> Memory::Allocate(int64_t wanted_bytes) {
  Block block;
  const std::lock_guard lock(mutex_);
  if (ForkGeneration() != generation_)
    return FailedPrecondition("this process was forked from the one that opened the device");
  if (wanted_bytes > setup_.limit_bytes || statistics_.bytes_in_use > setup_.limit_bytes - Rounded(wanted_bytes)) {
    return ResourceExhausted(fmt::format("out of device memory: {} bytes wanted, {} of {} in use", wanted_bytes,
                                         statistics_.bytes_in_use, setup_.limit_bytes));
  }
  const int64_t size_bytes = Rounded(wanted_bytes);
  if (!Take(size_bytes, block)) {
    const bool large = size_bytes >= policy::kLargeBytes;
    const int64_t piece = large ? size_bytes : std::min(policy::kChunkBytes, setup_.max_allocation_bytes);
    Status added = AddChunk(piece);
    if (!added.ok() && added.code() == Code::kResourceExhausted) {
      TrimTo(0);
      added = AddChunk(piece);
      // A device that has nearly nothing left may still have this much.
      if (!added.ok() && piece > size_bytes) added = AddChunk(size_bytes);
    }
    if (!added.ok()) return added.WithContext(fmt::format("out of device memory: {} bytes wanted", wanted_bytes));
    if (!Take(size_bytes, block)) return Internal("a new piece of memory has no room");
  }
  Statistics& s = statistics_;
  s.bytes_in_use += size_bytes;
  s.peak_bytes_in_use = std::max(s.peak_bytes_in_use, s.bytes_in_use);
  s.largest_alloc_bytes = std::max(s.largest_alloc_bytes, size_bytes);
  ++s.num_allocs;
  return block;
}

void Memory::Return(Block& block) {
  const std::lock_guard lock(mutex_);
  Chunk& chunk = *static_cast<Chunk*>(block.chunk_);
  block.memory_ = nullptr;
  if (keeps_all_) return;
  statistics_.bytes_in_use -= block.size_bytes_;
  chunk.used_bytes -= block.size_bytes_;
  chunk.AddFree(block.offset_, block.size_bytes_);
  if (chunk.used_bytes > 0) return;
  idle_bytes_ += chunk.size_bytes;
  if (ForkGeneration() == generation_) TrimTo(policy::kMaxIdleBytes);
}

void Memory::Trim() {
  const std::lock_guard lock(mutex_);
  if (ForkGeneration() == generation_) TrimTo(0);
}

void Memory::KeepAll() {
  const std::lock_guard lock(mutex_);
  keeps_all_ = true;
}

Memory::Statistics Memory::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics s = statistics_;
  s.limit_bytes = setup_.limit_bytes;
  return s;
}

void Memory::ResetPeak() {
  const std::lock_guard lock(mutex_);
  statistics_.peak_bytes_in_use = statistics_.bytes_in_use;
}

}  // namespace tenon::vulkan
