#pragma once

// Where a kernel can reach, proved from its text alone: for plans that come from outside.

#include <cstdint>
#include <optional>
#include <span>

#include "tenon/base/status.h"
#include "tenon/kir/kir.h"

namespace tenon::runtime::internal {

/// Bytes that a buffer's kernel may touch, around the pointer that it is given.
struct Reach {
  int64_t before_bytes = 0;
  int64_t after_bytes = 0;
};

/// The operand whose tiles a hook gets: rows, cols, matrices, and the slot of the first of the plan::kTileParams
/// numbers; what lies between neighbours in a row, in elements, where that is known.
struct TileOf {
  int64_t rows = 0, cols = 0, batch = 0;
  DType type = DType::kInvalid;
  int32_t first_param = 0;
  int64_t col_stride = 0;
};

/// INVALID_ARGUMENT unless every access of the verified `kernel` provably stays inside the `reach` of its buffer (one
/// per buffer; unused for locals and tiles), inside its locals and inside its tile. `params`: the bound ones; `tile`
/// set: the tile's own follow them.
Status CheckBounds(const kir::Kernel& kernel, std::span<const int64_t> params, std::span<const Reach> reach,
                   const std::optional<TileOf>& tile);

}  // namespace tenon::runtime::internal
