#pragma once

/// Arithmetic of constants, as far as its result is the same whatever computes it.

#include <optional>

#include "tenon/base/small_vector.h"
#include "tenon/kir/kir.h"

namespace tenon::compiler {

struct KnownConstant {
  DType type = DType::kInvalid;
  uint64_t bits = 0;
};

/// The bits of the node when its inputs are `in`, one for each; nothing where that is not decided here: but for a few
/// operations of f32, s32, s64 and pred, and where results are NaN, subnormal or not small.
std::optional<uint64_t> ValueOf(const kir::Node& node, const SmallVector<KnownConstant, 3>& in);

}  // namespace tenon::compiler
