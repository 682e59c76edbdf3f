#include "tenon/vulkan/timestamps.h"

#include <algorithm>

#include "tenon/vulkan/device.h"
#include "tenon/vulkan/policy.h"

namespace tenon::vulkan {

Result<std::unique_ptr<Timestamps>> Timestamps::Create(const Device& device, uint32_t count) {
  if (device.info().timestamp_bits == 0) return FailedPrecondition(device.info().name + " has no clock");
  std::unique_ptr<Timestamps> self(new Timestamps(device, count));
  auto info = Typed<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = count;
  TENON_VK_RETURN_IF_ERROR(device.functions().CreateQueryPool(device.handle(), &info, nullptr, &self->pool_),
                           "making timestamps");
  return self;
}

Timestamps::~Timestamps() {
  if (pool_ != VK_NULL_HANDLE && device_.is_ours_to_free())
    device_.functions().DestroyQueryPool(device_.handle(), pool_, nullptr);
}

void Timestamps::Reset(VkCommandBuffer commands) const {
  device_.functions().CmdResetQueryPool(commands, pool_, 0, count_);
}

void Timestamps::Write(VkCommandBuffer commands, uint32_t index) const {
  device_.functions().CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, index);
}

Result<std::vector<int64_t>> Timestamps::Read() const {
  std::vector<uint64_t> ticks(count_);
  TENON_VK_RETURN_IF_ERROR(
      device_.functions().GetQueryPoolResults(device_.handle(), pool_, 0, count_, ticks.size() * sizeof(uint64_t),
                                              ticks.data(), sizeof(uint64_t), VK_QUERY_RESULT_64_BIT),
      "reading timestamps");
  const uint32_t bits = device_.info().timestamp_bits;
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const long double period_ns = device_.info().limits.timestampPeriod;
  std::vector<int64_t> times(count_);
  // From the first on, so that a clock that begins anew in between does no harm.
  const auto first = static_cast<int64_t>(static_cast<long double>(ticks[0] & mask) * period_ns);
  for (uint32_t i = 0; i < count_; ++i)
    times[i] = first + static_cast<int64_t>(static_cast<long double>((ticks[i] - ticks[0]) & mask) * period_ns);
  return times;
}

int64_t Clock::Observe(int64_t device_ns, int64_t host_ns) {
  const int64_t seen = host_ns - device_ns;
  const std::lock_guard lock(mutex_);
  // Clocks drift: what was seen long ago says less.
  const int64_t elapsed_ns = std::max<int64_t>(0, host_ns - observed_ns_);
  const int64_t since = offset_ns_ + elapsed_ns / policy::kClockDrift;
  offset_ns_ = known_ ? std::min(seen, since) : seen;
  observed_ns_ = host_ns;
  known_ = true;
  return offset_ns_;
}

}  // namespace tenon::vulkan
