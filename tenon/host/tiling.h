#pragma once

#include <cstddef>

#include "tenon/base/shape.h"
#include "tenon/compiler/compile.h"
#include "tenon/plugin/buffer.h"

namespace tenon::host {

/// Extents of the part of a whole array that each device holds. The leading dim of a stack is not part of it
/// when `part_rank` says so.
Dims PartDims(const Dims& whole, const compiler::Tiling& tiling, size_t part_rank);

/// Whether every device holds the whole array.
bool IsWhole(const compiler::Tiling& tiling);

/// Copies between a whole array, whose strides in elements are given, and the part that a device holds.
void CopyPart(std::byte* whole, const Shape& shape, const Dims& strides_elems, const compiler::Tiling& tiling,
              size_t device, std::byte* part, const plugin::ArraySpec& part_spec, bool to_whole);

}  // namespace tenon::host
