#include "tenon/vulkan/device.h"

#include <fmt/format.h>

#include <algorithm>
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
  std::swap(handle_, o.handle_);
  return *this;
}

Commands::~Commands() {
  if (handle_ == VK_NULL_HANDLE || !device_->is_ours_to_free()) return;
  const std::lock_guard lock(device_->commands_mutex_);
  device_->functions_.FreeCommandBuffers(device_->device_, device_->commands_, 1, &handle_);
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

  const float priority = 1;
  auto queue = Typed<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = info.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto create = Typed<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  create.pNext = &want;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  TENON_VK_RETURN_IF_ERROR(f.CreateDevice(info.handle, &create, nullptr, &self->device_),
                           fmt::format("opening Vulkan device {} ({})", index, info.name));
  TENON_ASSIGN_OR_RETURN(self->functions_, LoadDevice(f, self->device_));
  const DeviceFunctions& d = self->functions_;
  d.GetDeviceQueue(self->device_, info.queue_family, 0, &self->queue_);

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
  auto pool = Typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.queueFamilyIndex = info.queue_family;
  TENON_VK_RETURN_IF_ERROR(d.CreateCommandPool(self->device_, &pool, nullptr, &self->commands_),
                           "making a command pool");
  auto type = Typed<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto semaphore = Typed<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  semaphore.pNext = &type;
  TENON_VK_RETURN_IF_ERROR(d.CreateSemaphore(self->device_, &semaphore, nullptr, &self->timeline_),
                           "making a semaphore");
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
  if (timeline_ != VK_NULL_HANDLE) f.DestroySemaphore(device_, timeline_, nullptr);
  if (commands_ != VK_NULL_HANDLE) f.DestroyCommandPool(device_, commands_, nullptr);
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
  const std::lock_guard lock(commands_mutex_);
  auto allocate = Typed<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  allocate.commandPool = commands_;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  VkCommandBuffer handle = VK_NULL_HANDLE;
  TENON_VK_RETURN_IF_ERROR(functions_.AllocateCommandBuffers(device_, &allocate, &handle), "making commands");
  auto begin = Typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  VkResult result = functions_.BeginCommandBuffer(handle, &begin);
  if (result == VK_SUCCESS) {
    record(handle);
    result = functions_.EndCommandBuffer(handle);
  }
  if (result != VK_SUCCESS) {
    functions_.FreeCommandBuffers(device_, commands_, 1, &handle);
    return Note(result, "recording commands");
  }
  Commands commands;
  commands.device_ = this;
  commands.handle_ = handle;
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

void Device::Bind(VkCommandBuffer commands, const Pipeline& pipeline, const PushConstants& push) const {
  functions_.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle());
  functions_.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
}

Result<uint64_t> Device::Submit(std::span<const VkCommandBuffer> commands) {
  TENON_RETURN_IF_ERROR(health());
  const std::lock_guard lock(queue_mutex_);
  const uint64_t value = submitted_ + 1;
  auto timeline = Typed<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  auto submit = Typed<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  submit.pNext = &timeline;
  submit.commandBufferCount = static_cast<uint32_t>(commands.size());
  submit.pCommandBuffers = commands.data();
  submit.signalSemaphoreCount = 1;
  submit.pSignalSemaphores = &timeline_;
  TENON_RETURN_IF_ERROR(Note(functions_.QueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE), "submitting work"));
  submitted_ = value;
  return value;
}

Status Device::Wait(uint64_t submission) {
  TENON_RETURN_IF_ERROR(health());
  auto wait = Typed<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  wait.semaphoreCount = 1;
  wait.pSemaphores = &timeline_;
  wait.pValues = &submission;
  const VkResult result = functions_.WaitSemaphores(device_, &wait, policy::kTimeoutNs);
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

uint64_t Device::Completed() const {
  uint64_t value = 0;
  if (functions_.GetSemaphoreCounterValue(device_, timeline_, &value) != VK_SUCCESS) return 0;
  return value;
}

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
    TENON_ASSIGN_OR_RETURN(staging_, host_memory_->Allocate(policy::kStagingBytes));
  }
  for (int64_t done = 0; done < size_bytes;) {
    const int64_t piece = std::min(size_bytes - done, policy::kStagingBytes);
    if (up) std::memcpy(staging_.host(), host + done, static_cast<size_t>(piece));
    const VkDeviceSize at = block.offset() + static_cast<VkDeviceSize>(offset + done);
    VkBufferCopy region = {up ? staging_.offset() : at, up ? at : staging_.offset(), static_cast<VkDeviceSize>(piece)};
    TENON_ASSIGN_OR_RETURN(const Commands copy, Record([&](VkCommandBuffer c) {
                             Barrier(c);
                             functions_.CmdCopyBuffer(c, up ? staging_.buffer() : block.buffer(),
                                                      up ? block.buffer() : staging_.buffer(), 1, &region);
                             Barrier(c);
                           }));
    const VkCommandBuffer handle = copy.handle();
    TENON_ASSIGN_OR_RETURN(const uint64_t submission, Submit({&handle, 1}));
    TENON_RETURN_IF_ERROR(Wait(submission));
    if (!up) std::memcpy(host + done, staging_.host(), static_cast<size_t>(piece));
    done += piece;
  }
  return OkStatus();
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
