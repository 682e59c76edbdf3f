#pragma once

#include <string>
#include <string_view>

#include "tenon/base/status.h"

namespace tenon::dialect {

/// Refuses assembly text that MLIR's parser, which trusts its input, would answer with a stack overflow, an endless
/// loop, an exhausted memory or an abort: brackets nested deeper than kMaxNesting, aliases that nest or multiply beyond
/// the bounds of limits.h, tensors whose size overflows, absurd result numbers, and builtin forms that no program needs
/// (affine maps, vectors, sparse and distinct attributes, resources). INVALID_ARGUMENT with line and column. Text that
/// passes may still be ill-formed.
Status CheckText(std::string_view text);

/// CheckText, then a copy of `text` in which hex literals of i1 with one byte per element (how other MLIR versions
/// print them) are packed to bits, which is what this MLIR reads.
Result<std::string> PrepareText(std::string_view text);

}  // namespace tenon::dialect
