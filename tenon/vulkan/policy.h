#pragma once

/// The numbers behind the device's choices, each with its reason.

#include <cstddef>
#include <cstdint>

namespace tenon::vulkan::policy {

/// Memory comes from the driver in pieces of so many bytes: drivers allow few thousand allocations, and each costs
/// microseconds and fresh pages.
inline constexpr int64_t kChunkBytes = int64_t{64} << 20;
/// From here on a block gets a piece of its own, which is kept for the next block of its size.
inline constexpr int64_t kLargeBytes = int64_t{32} << 20;
/// Blocks begin at multiples of this, more than any driver asks of storage buffers, and are as long: no two share a
/// cache line of any device.
inline constexpr int64_t kBlockBytes = 256;
/// Pieces that hold nothing are kept up to so many bytes.
inline constexpr int64_t kMaxIdleBytes = int64_t{1} << 30;
/// Of the heap so much is for others: the driver, the desktop, other processes.
inline constexpr double kHeapShare = 0.9;

/// Where the host cannot look at the device's memory, bytes go through a piece of the host's of so many bytes: longer
/// ones gain nothing.
inline constexpr int64_t kStagingBytes = int64_t{8} << 20;

/// Runs of one program that may be under way with frames of their own: two keep the device busy, more serve callers
/// that do not wait.
inline constexpr size_t kMostInstances = 4;

/// From so many points on a kernel's params are written into it, which makes it faster and its code that of one shape
/// alone; smaller ones share theirs.
inline constexpr int64_t kBakedPoints = int64_t{1} << 16;

/// A device that does not finish within this is taken for lost: longer than any watchdog.
inline constexpr uint64_t kTimeoutNs = 600'000'000'000;

/// Clocks of a device and its host come apart by at most one part in so many: quartz is a few times as good.
inline constexpr int64_t kClockDrift = 20'000;
/// Kernels of a segment that are timed one by one; of a loop with more, the loop is.
inline constexpr int64_t kMostTimed = 4096;
/// Of a run in which the host decides on loops; what comes later is not timed.
inline constexpr int64_t kMostTimedOfRun = int64_t{1} << 16;

/// Memory of the host's that its own steps used and that is kept for the next ones.
inline constexpr int64_t kMaxHostCacheBytes = int64_t{256} << 20;

/// More devices of one client than this are a typing error: each opens its driver once more.
inline constexpr int64_t kMaxDevices = 64;

}  // namespace tenon::vulkan::policy
