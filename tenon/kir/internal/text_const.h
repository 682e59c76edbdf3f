#pragma once

#include <string>
#include <string_view>

#include "tenon/base/dtype.h"
#include "tenon/base/status.h"

namespace tenon::kir::internal {

/// A literal as text: true, -5, 0.1, inf; the shortest digits that give the same bits, and 0x... for NaNs and whatever
/// else has no other form.
std::string ConstText(DType type, uint64_t bits);
/// The other way; 0x... gives the bits themselves.
Result<uint64_t> ParseConst(DType type, std::string_view text);

}  // namespace tenon::kir::internal
