#pragma once

/// Values of KIR as bit patterns.

#include <cstdint>

#include "tenon/kir/kir.h"

namespace tenon::kir::internal {

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
