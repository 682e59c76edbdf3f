#pragma once

/// The meaning of each scalar operation on bit patterns, the slow way.

#include <cstdint>
#include <span>

#include "tenon/kir/kir.h"

namespace tenon::kir::internal {

/// The result of `node`, which is none of the leaves and no kMath. `in`: bits of its operands, zero-extended;
/// `in_type`: the type of the last operand (that of the data operands of a select or compare, the source of a convert).
uint64_t EvaluateScalar(const Node& node, DType in_type, std::span<const uint64_t> in, bool flush);

/// One value of `type` from / to memory, where types narrower than a byte take a whole one (signed integers
/// sign-extended). `from` needs no alignment.
uint64_t LoadBits(DType type, const void* from);
void StoreBits(DType type, uint64_t bits, void* to);

/// The value of an integer as 64 bits: sign-extended or zero-extended by its type.
inline int64_t AsInt64(DType type, uint64_t bits) {
  if (!IsSigned(type)) return static_cast<int64_t>(bits);
  const int shift = 64 - DTypeBits(type);
  return static_cast<int64_t>(bits << shift) >> shift;
}

}  // namespace tenon::kir::internal
