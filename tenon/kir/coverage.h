#pragma once

/// What a kernel surely writes.

#include <cstdint>
#include <span>

#include "tenon/kir/kir.h"

namespace tenon::kir {

/// Whether every run of the verified `kernel` with these params provably writes each element of its kOut buffer `buf`,
/// both parts of complex ones, whatever its operands hold. True of a buffer without elements. False says nothing:
/// places that come from data, guards over several dims and loops with a condition are not looked through.
bool WritesAll(const Kernel& kernel, Buf buf, std::span<const int64_t> params);

/// Whether a run may read elements of the kOut buffer `buf` that it has not written before: false only where each read
/// comes after steps that write all of the buffer.
bool ReadsOld(const Kernel& kernel, Buf buf, std::span<const int64_t> params);

}  // namespace tenon::kir
