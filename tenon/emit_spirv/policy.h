#pragma once

/// What the emitter chooses where the kernel leaves it a choice.

#include <cstdint>

namespace tenon::emit_spirv::policy {

/// Words of all functions of a module at most: drivers' compilers take more than linear time.
inline constexpr int64_t kMostWords = 24000;

/// Invocations of a workgroup whose invocations do not meet; twice as many, up to the device's most, as long as there
/// are so many workgroups for each of its cores: to begin one costs what tens of elements do.
inline constexpr int64_t kFreeGroup = 256;
inline constexpr int64_t kGroupsPerCore = 64;
/// Invocations for each core that are left when one of them takes neighbours that move at once: fewer would leave
/// lanes idle.
inline constexpr int64_t kWidePerCore = 256;
/// Points that one of them takes at most, written out, where there are enough to fill a machine besides, and nodes of
/// all these together.
inline constexpr int64_t kPointsTogether = 16;
inline constexpr int64_t kNodesTogether = 128;
inline constexpr int64_t kPointsForTogether = 1 << 18;

/// Invocations of a workgroup that works on one point; more where a reduction has more accumulators.
inline constexpr int64_t kTeam = 64;
/// Subgroups of a workgroup that sums by matrix units.
inline constexpr int64_t kMatrixSubgroups = 4;
/// From so many points of a reduction on, a workgroup shares it; with fewer results than kFewResults earlier.
inline constexpr int64_t kSharedReduce = 128;
inline constexpr int64_t kFewResults = 256;
inline constexpr int64_t kSharedReduceOfFew = 32;
/// Chains of stages whose every stage has at most so many points are one invocation's work, if there are enough of
/// them.
inline constexpr int64_t kShortChain = 32;
inline constexpr int64_t kManyChains = 1024;

/// Stages without outer dims that all have at most so many points run in one workgroup, with barriers instead of
/// launches between them.
inline constexpr int64_t kSmallStages = 4096;

/// Workgroups of a launch at most; they take several shares beyond.
inline constexpr int64_t kMostGroups = 1 << 30;
/// The same where each has scratch memory.
inline constexpr int64_t kMostGroupsWithScratch = 1024;

/// A function of more nodes than this that a module uses more than once is a function there.
inline constexpr int64_t kInlineNodes = 8;

}  // namespace tenon::emit_spirv::policy
