#include "tenon/vulkan/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tenon/vulkan/pipeline_cache.h"
#include "tenon/vulkan/policy.h"

namespace tenon::vulkan {
namespace {

/// The first type with all flags of `wanted` and none of `unwanted`, or nothing.
bool FindType(const PhysicalDevice& d, VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted, uint32_t& type) {
  for (uint32_t i = 0; i < d.memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = d.memory.memoryTypes[i].propertyFlags;
    if ((flags & wanted) != wanted || (flags & unwanted) != 0) continue;
    type = i;
    return true;
  }
  return false;
}

/// Pieces of a transfer that are under way at a time.
constexpr size_t kSlots = 2;

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kShared = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

}  // namespace

Pipeline::~Pipeline() {
  if (handle_ != VK_NULL_HANDLE && !device_.is_stuck())
    device_.functions().DestroyPipeline(device_.handle(), handle_, nullptr);
}

Commands& Commands::operator=(Commands&& o) noexcept {
  std::swap(device_, o.device_);
  std::swap(queue_, o.queue_);
  std::swap(handle_, o.handle_);
  return *this;
}

Commands::~Commands() {
  if (handle_ == VK_NULL_HANDLE || !device_->is_ours_to_free()) return;
  queue_->Free(handle_);
}

Result<std::shared_ptr<Device>> Device::Open(std::shared_ptr<const Instance> instance, size_t index,
                                             const Setup& setup) {
  if (index >= instance->devices().size()) {
    return NotFound(fmt::format("Vulkan device {}; there are {}", index, instance->devices().size()));
  }
  std::shared_ptr<Device> self(new Device(std::move(instance)));
  const InstanceFunctions& f = self->instance_->functions();
  self->info_ = self->instance_->devices()[index];
  const PhysicalDevice& info = self->info_;
  if (!info.unfit.empty())
    return FailedPrecondition(fmt::format("Vulkan device {} ({}) is unfit: {}", index, info.name, info.unfit));

  // Only what kernels may use: a feature that nobody needs may cost.
  auto f12 = Typed<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto f11 = Typed<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  auto has = Typed<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  VkPhysicalDeviceVulkan12Features h12 = f12;
  VkPhysicalDeviceVulkan11Features h11 = f11;
  has.pNext = &h11;
  h11.pNext = &h12;
  f.GetPhysicalDeviceFeatures2(info.handle, &has);
  auto want = Typed<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  want.pNext = &f11;
  f11.pNext = &f12;
  want.features.shaderInt64 = has.features.shaderInt64;
  want.features.shaderFloat64 = has.features.shaderFloat64;
  f11.storageBuffer16BitAccess = h11.storageBuffer16BitAccess;
  f12.storageBuffer8BitAccess = h12.storageBuffer8BitAccess;
  f12.scalarBlockLayout = h12.scalarBlockLayout;
  f12.bufferDeviceAddress = VK_TRUE;
  f12.timelineSemaphore = VK_TRUE;
  f12.hostQueryReset = h12.hostQueryReset;
  if (info.type == VK_PHYSICAL_DEVICE_TYPE_CPU && !setup.matrix_units_of_software) self->info_.matrix_products.clear();
  MatrixFeatures matrices;
  if (!info.matrix_products.empty()) {
    matrices.products = VK_TRUE;
    f12.pNext = &matrices;
    f12.shaderFloat16 = h12.shaderFloat16;
    f12.shaderInt8 = h12.shaderInt8;
    f12.vulkanMemoryModel = h12.vulkanMemoryModel;
  }

  // Transfers have a queue of their own where there is one: of a family that does nothing else, or a second one.
  const std::array<float, 2> priorities = {1, 1};
  const bool own_family = info.transfer_family != info.queue_family;
  const uint32_t second = !own_family && info.queue_count > 1 ? 1 : 0;
  std::array<VkDeviceQueueCreateInfo, 2> queues;
  for (VkDeviceQueueCreateInfo& q : queues) {
    q = Typed<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
    q.queueCount = 1;
    q.pQueuePriorities = priorities.data();
  }
  queues[0].queueFamilyIndex = info.queue_family;
  queues[0].queueCount = 1 + second;
  queues[1].queueFamilyIndex = info.transfer_family;
  auto create = Typed<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  create.pNext = &want;
  create.queueCreateInfoCount = own_family ? 2 : 1;
  create.pQueueCreateInfos = queues.data();
  create.enabledExtensionCount = info.matrix_products.empty() ? 0 : 1;
  create.ppEnabledExtensionNames = &kMatrixExtension;
  TENON_VK_RETURN_IF_ERROR(f.CreateDevice(info.handle, &create, nullptr, &self->device_),
                           fmt::format("opening Vulkan device {} ({})", index, info.name));
  TENON_ASSIGN_OR_RETURN(self->functions_, LoadDevice(f, self->device_));
  const DeviceFunctions& d = self->functions_;
  const auto open = [&](uint32_t family, uint32_t number, std::shared_ptr<std::mutex> mutex,
                        std::unique_ptr<Queue>& queue) {
    VkQueue handle = VK_NULL_HANDLE;
    d.GetDeviceQueue(self->device_, family, number, &handle);
    queue = std::make_unique<Queue>(self->device_, d, handle, std::move(mutex));
    return ToStatus(queue->Open(family), "making what a queue needs");
  };
  auto mutex = std::make_shared<std::mutex>();
  TENON_RETURN_IF_ERROR(open(info.queue_family, 0, mutex, self->queue_));
  if (own_family || second > 0) mutex = std::make_shared<std::mutex>();
  TENON_RETURN_IF_ERROR(open(info.transfer_family, second, std::move(mutex), self->transfers_));

  VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(PushConstants)};
  auto layout = Typed<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  TENON_VK_RETURN_IF_ERROR(d.CreatePipelineLayout(self->device_, &layout, nullptr, &self->layout_),
                           "making a pipeline layout");
  auto cache = Typed<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  const std::string kept = ReadPipelineCache(PipelineCacheFile(info));
  cache.initialDataSize = kept.size();
  cache.pInitialData = kept.data();
  TENON_VK_RETURN_IF_ERROR(d.CreatePipelineCache(self->device_, &cache, nullptr, &self->cache_),
                           "making a pipeline cache");
  TENON_RETURN_IF_ERROR(self->MakeMemories(setup));
  return self;
}

Status Device::MakeMemories(const Setup& setup) {
  uint32_t arrays = 0, host = 0, frames = 0;
  const bool unified = info_.shares_host_memory() && FindType(info_, kLocal | kShared | kCached, 0, arrays);
  if (!unified && !FindType(info_, kLocal, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, arrays) &&
      !FindType(info_, kLocal, 0, arrays)) {
    return FailedPrecondition(fmt::format("{} has no memory of its own", info_.name));
  }
  if (!FindType(info_, kShared | kCached, kLocal, host) && !FindType(info_, kShared | kCached, 0, host) &&
      !FindType(info_, kShared, 0, host)) {
    return FailedPrecondition(fmt::format("{} has no memory that the host reaches", info_.name));
  }
  if (unified) host = arrays;
  if (!FindType(info_, kLocal | kShared, 0, frames)) frames = host;
  const auto make = [&](uint32_t type, bool mapped) {
    const uint32_t heap = info_.memory.memoryTypes[type].heapIndex;
    Memory::Setup memory;
    memory.device = device_;
    memory.functions = &functions_;
    memory.families = {info_.queue_family};
    if (info_.transfer_family != info_.queue_family) memory.families.push_back(info_.transfer_family);
    memory.type = type;
    memory.mapped = mapped;
    memory.limit_bytes =
        static_cast<int64_t>(static_cast<double>(info_.memory.memoryHeaps[heap].size) * policy::kHeapShare);
    if (type == arrays && setup.memory_limit_bytes > 0)
      memory.limit_bytes = std::min(memory.limit_bytes, setup.memory_limit_bytes);
    memory.max_allocation_bytes = static_cast<int64_t>(std::min<uint64_t>(info_.max_allocation_bytes, INT64_MAX));
    if (info_.shares_host_memory() || (info_.memory.memoryHeaps[heap].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0)
      memory.left_bytes = setup.left_bytes;
    return std::make_shared<Memory>(std::move(memory));
  };
  memory_ = make(arrays, unified && !setup.never_map);
  host_memory_ = memory_->mapped() ? memory_ : make(host, true);
  frame_memory_ = frames == host || memory_->mapped() ? host_memory_ : make(frames, true);
  return OkStatus();
}

Device::~Device() {
  if (device_ == VK_NULL_HANDLE || !is_ours_to_free()) return;
  const DeviceFunctions& f = functions_;
  if (f.DeviceWaitIdle != nullptr) f.DeviceWaitIdle(device_);
  staging_ = {};
  frame_memory_ = host_memory_ = memory_ = nullptr;
  if (f.DestroyDevice == nullptr) return;
  if (made_pipelines_) KeepPipelines();
  for (const auto& queue : {queue_.get(), transfers_.get()}) {
    if (queue != nullptr) queue->Close();
  }
  if (cache_ != VK_NULL_HANDLE) f.DestroyPipelineCache(device_, cache_, nullptr);
  if (layout_ != VK_NULL_HANDLE) f.DestroyPipelineLayout(device_, layout_, nullptr);
  f.DestroyDevice(device_, nullptr);
}

void Device::KeepPipelines() const {
  const std::string file = PipelineCacheFile(info_);
  size_t size = 0;
  if (file.empty() || functions_.GetPipelineCacheData(device_, cache_, &size, nullptr) != VK_SUCCESS) return;
  std::string bytes(size, 0);
  if (functions_.GetPipelineCacheData(device_, cache_, &size, bytes.data()) != VK_SUCCESS) return;
  bytes.resize(size);
  WritePipelineCache(file, bytes);
}

Status Device::Note(VkResult result, std::string_view what) {
  Status status = ToStatus(result, what);
  if (result == VK_ERROR_DEVICE_LOST) {
    const std::lock_guard lock(health_mutex_);
    if (health_.ok()) health_ = status;
  }
  return status;
}

Status Device::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

Result<std::shared_ptr<const Pipeline>> Device::MakePipeline(std::span<const uint32_t> words, const char* entry,
                                                             const std::string& name) {
  auto module_info = Typed<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  module_info.codeSize = words.size_bytes();
  module_info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  TENON_VK_RETURN_IF_ERROR(functions_.CreateShaderModule(device_, &module_info, nullptr, &module),
                           "making a shader module");
  auto info = Typed<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = entry;
  info.layout = layout_;
  std::shared_ptr<Pipeline> pipeline(new Pipeline(*this));
  const VkResult made = functions_.CreateComputePipelines(device_, cache_, 1, &info, nullptr, &pipeline->handle_);
  functions_.DestroyShaderModule(device_, module, nullptr);
  TENON_RETURN_IF_ERROR(Note(made, fmt::format("compiling a kernel of {} words", words.size())));
  made_pipelines_ = true;
  instance_->Name(device_, VK_OBJECT_TYPE_PIPELINE, reinterpret_cast<uint64_t>(pipeline->handle_), name);
  return std::shared_ptr<const Pipeline>(std::move(pipeline));
}

Result<Commands> Device::Record(const std::function<void(VkCommandBuffer)>& record) {
  return RecordFor(*queue_, record);
}

Result<Commands> Device::RecordFor(Queue& queue, const std::function<void(VkCommandBuffer)>& record) {
  Commands commands;
  commands.device_ = this;
  commands.queue_ = &queue;
  TENON_RETURN_IF_ERROR(Note(queue.Record(record, &commands.handle_), "recording commands"));
  return commands;
}

void Device::Barrier(VkCommandBuffer commands) const {
  constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  auto barrier = Typed<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = kWrites;
  barrier.dstAccessMask = kWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                          VK_ACCESS_INDIRECT_COMMAND_READ_BIT | VK_ACCESS_HOST_READ_BIT;
  constexpr VkPipelineStageFlags kWork = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  functions_.CmdPipelineBarrier(commands, kWork,
                                kWork | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                                &barrier, 0, nullptr, 0, nullptr);
}

void Device::CopyBarrier(VkCommandBuffer commands) const {
  auto barrier = Typed<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  functions_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                nullptr, 0, nullptr);
}

void Device::Bind(VkCommandBuffer commands, const Pipeline& pipeline, const PushConstants& push) const {
  functions_.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle());
  functions_.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
}

Result<uint64_t> Device::Submit(std::span<const VkCommandBuffer> commands) {
  TENON_RETURN_IF_ERROR(health());
  uint64_t submission = 0;
  const Queue* const before = has_transferred_.load(std::memory_order_acquire) ? transfers_.get() : nullptr;
  TENON_RETURN_IF_ERROR(Note(queue_->Submit(commands, before, &submission), "submitting work"));
  return submission;
}

Status Device::Wait(uint64_t submission) { return WaitOn(*queue_, submission); }

Status Device::WaitOn(const Queue& queue, uint64_t submission) {
  TENON_RETURN_IF_ERROR(health());
  const VkResult result = queue.Wait(submission, policy::kTimeoutNs);
  if (result == VK_TIMEOUT) {
    Status late =
        DeadlineExceeded(fmt::format("{} did not finish within {} s", info_.name, policy::kTimeoutNs / 1'000'000'000));
    for (const auto& memory : {memory_, host_memory_, frame_memory_}) memory->KeepAll();
    const std::lock_guard lock(health_mutex_);
    if (health_.ok()) health_ = late;
    return late;
  }
  return Note(result, "waiting for the device");
}

uint64_t Device::Completed() const { return queue_->Completed(); }

Status Device::Upload(const Block& to, int64_t offset, const void* from, int64_t size_bytes) {
  if (size_bytes == 0) return OkStatus();
  if (to.host() != nullptr) {
    std::memcpy(to.host() + offset, from, static_cast<size_t>(size_bytes));
    return OkStatus();
  }
  return Staged(to, offset, static_cast<std::byte*>(const_cast<void*>(from)), size_bytes, true);
}

Status Device::Download(const Block& from, int64_t offset, void* to, int64_t size_bytes) {
  if (size_bytes == 0) return OkStatus();
  if (from.host() != nullptr) {
    std::memcpy(to, from.host() + offset, static_cast<size_t>(size_bytes));
    return OkStatus();
  }
  return Staged(from, offset, static_cast<std::byte*>(to), size_bytes, false);
}

Status Device::Staged(const Block& block, int64_t offset, std::byte* host, int64_t size_bytes, bool up) {
  const std::lock_guard lock(staging_mutex_);
  if (!staging_) {
    TENON_ASSIGN_OR_RETURN(staging_, host_memory_->Allocate(kSlots * policy::kStagingBytes));
  }
  // While the device copies one piece, the host does another.
  struct Piece {
    Commands copy;
    uint64_t submission = 0;
    std::byte* host = nullptr;
    size_t bytes = 0;
  };
  std::array<Piece, kSlots> under_way;
  const auto end = [&](Piece& piece, size_t slot) -> Status {
    if (!piece.copy) return OkStatus();
    TENON_RETURN_IF_ERROR(WaitOn(*transfers_, piece.submission));
    if (!up) std::memcpy(piece.host, staging_.host() + slot * policy::kStagingBytes, piece.bytes);
    piece.copy = {};
    return OkStatus();
  };
  Status status;
  size_t slot = 0;
  for (int64_t done = 0; done < size_bytes && status.ok(); done += policy::kStagingBytes, slot = (slot + 1) % kSlots) {
    Piece& piece = under_way[slot];
    status = end(piece, slot);
    if (!status.ok()) break;
    piece.host = host + done;
    piece.bytes = static_cast<size_t>(std::min(size_bytes - done, policy::kStagingBytes));
    const auto at_staging = static_cast<VkDeviceSize>(slot * policy::kStagingBytes);
    if (up) std::memcpy(staging_.host() + at_staging, piece.host, piece.bytes);
    const VkDeviceSize here = staging_.offset() + at_staging;
    const VkDeviceSize there = block.offset() + static_cast<VkDeviceSize>(offset + done);
    VkBufferCopy region = {up ? here : there, up ? there : here, piece.bytes};
    Result<Commands> copy = RecordFor(*transfers_, [&](VkCommandBuffer c) {
      functions_.CmdCopyBuffer(c, up ? staging_.buffer() : block.buffer(), up ? block.buffer() : staging_.buffer(), 1,
                               &region);
      CopyBarrier(c);
    });
    status = copy.status();
    if (!status.ok()) break;
    const VkCommandBuffer handle = copy->handle();
    status = Note(transfers_->Submit({&handle, 1}, queue_.get(), &piece.submission), "submitting a copy");
    if (status.ok()) piece.copy = *std::move(copy);
  }
  has_transferred_.store(true, std::memory_order_release);
  // All that is under way ends here, whatever happened: its commands and the staging are used again.
  for (size_t i = 0; i < kSlots; ++i, slot = (slot + 1) % kSlots) {
    const Status ended = end(under_way[slot], slot);
    if (status.ok()) status = ended;
  }
  return status;
}

Result<Commands> Device::RecordCopy(const Block& to, const Block& from, int64_t size_bytes) {
  VkBufferCopy region = {from.offset(), to.offset(), static_cast<VkDeviceSize>(size_bytes)};
  return Record([&](VkCommandBuffer c) {
    Barrier(c);
    functions_.CmdCopyBuffer(c, from.buffer(), to.buffer(), 1, &region);
    Barrier(c);
  });
}

}  // namespace tenon::vulkan
