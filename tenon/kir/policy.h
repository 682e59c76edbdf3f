#pragma once

/// How far proofs about kernels go.

#include <cstddef>
#include <cstdint>

namespace tenon::kir::policy {

/// Boxes of elements that are put together to prove that stores cover a buffer: beyond them the proof, which compares
/// each with each, is given up.
inline constexpr size_t kCoverBoxes = 1024;
/// Runs of neighbouring elements for the same: one store with a stride writes as many as there are rows.
inline constexpr int64_t kCoverRuns = 1 << 14;

}  // namespace tenon::kir::policy
