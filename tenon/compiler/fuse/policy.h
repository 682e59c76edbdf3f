#pragma once

/// The numbers behind fusion's choices, each with its reason.

#include <cstddef>
#include <cstdint>

namespace tenon::compiler::policy {

/// Members of one kernel: code generation is superlinear in them, and registers run out long before.
inline constexpr size_t kMaxClusterNodes = 200;
/// Sum of CostOf over one kernel's members: four fused transcendentals cost 6 ms of code generation.
inline constexpr int64_t kMaxClusterCost = 600;
/// KIR nodes of one kernel, members written out at several places counted each time.
inline constexpr size_t kMaxKernelNodes = 1500;
/// Memory operands of one kernel.
inline constexpr size_t kMaxClusterBuffers = 24;
/// A producer this cheap (cycles per 16 elements) is computed again in every kernel that uses it: reading it back would
/// cost as much.
inline constexpr int kDuplicateCost = 6;
/// Producers of so few elements are computed again whatever they cost up to this sum, where they are hoisted out of the
/// loop.
inline constexpr int kDuplicateScalarCost = 80;
/// Reductions of at most so many elements are written out as plain operations.
inline constexpr int64_t kUnrolledReduce = 16;
/// A value of an earlier stage is kept in a row rather than computed again when it costs at least this.
inline constexpr int kKeepRowCost = 8;
/// Rows longer than this are not kept: they leave the L2 cache.
inline constexpr int64_t kMaxRowBytes = 256 << 10;
/// Bytes of output or input per piece of a split kernel.
inline constexpr int64_t kPieceBytes = 32 << 10;
/// A piece of a transpose covers at least so many rows of what it reads: a page of each column, and whole vectors.
inline constexpr int64_t kTileRows = 64;
/// A piece of a sum of columns covers at least so many neighbours: runs that are worth prefetching.
inline constexpr int64_t kColumns = 512;
/// Fewer rows than this, when together large, are not worth one kernel per chain: it would run on one thread.
inline constexpr int64_t kMinRows = 8;
inline constexpr int64_t kSmallElements = 64 << 10;
/// A rearranging copy of at least so many bytes is worth a kernel: vectors, tiles and threads.
inline constexpr int64_t kMinCopyKernelBytes = 128 << 10;
/// Memory bandwidth of one core for estimates, bytes per ns, and its clock in GHz.
inline constexpr double kBytesPerNs = 10.0;
inline constexpr double kCyclesPerNs = 3.5;

}  // namespace tenon::compiler::policy
