#pragma once

/// The numbers behind the partitioner's choices, each with its reason.

#include <cstdint>

namespace tenon::compiler::policy {

/// Sums of at most so many bytes are sent whole to everybody, in one exchange instead of two: a message costs as much
/// as 100 KB or more of its bytes.
inline constexpr int64_t kSmallSumBytes = 32 << 10;
/// Floating-point operations that take as long as moving a byte between processes, at 1 GB/s and 64 Gflop/s.
inline constexpr double kFlopsPerMovedByte = 64;
/// Bytes of memory that are read or written in that time.
inline constexpr double kBytesPerMovedByte = 10;
/// Ways to cut an op that are compared: all combinations of so many cuts that its operands have.
inline constexpr size_t kMaxCandidates = 6;
/// How often a loop is made anew when its body leaves carries cut that came whole.
inline constexpr int kLoopTries = 3;
/// How often at a time a loop is looked at to see which of its carries may differ between devices; what is not known by
/// then may differ, which costs a selection per turn.
inline constexpr int kMaxLoopVisits = 4;

}  // namespace tenon::compiler::policy
