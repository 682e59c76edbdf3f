#pragma once

/// Where an element of a value lies, as a function of the dims of a loop nest.

#include <cstdint>
#include <optional>
#include <span>

#include "tenon/base/shape.h"
#include "tenon/base/small_vector.h"
#include "tenon/kir/kir.h"

namespace tenon::compiler {

struct IndexTerm {
  kir::DimId dim = 0;
  int64_t coef = 1;
  friend bool operator==(const IndexTerm&, const IndexTerm&) = default;
};

/// offset + value(start) + sum coef*dim. Terms are sorted by dim, without zero coefficients.
struct Index {
  SmallVector<IndexTerm, 2> terms;
  int64_t offset = 0;
  kir::Val start = kir::kNone;
  bool is_constant() const { return terms.empty() && start == kir::kNone; }
  friend bool operator==(const Index&, const Index&) = default;

  static Index Dim(kir::DimId dim, int64_t coef = 1) {
    Index ix;
    ix.terms.push_back({dim, coef});
    return ix;
  }
};

/// One index per dimension of a value.
using IndexMap = SmallVector<Index, 4>;
size_t HashOf(const IndexMap& map);

/// a + b without starts; a's start is kept.
Index Plus(const Index& a, const Index& b);
/// ix * factor; ix has no start.
Index Times(const Index& ix, int64_t factor);

/// Smallest and largest value of the terms and the offset (not of the start) over dims of these extents.
struct IndexRange {
  int64_t low = 0;
  int64_t high = 0;
};
IndexRange RangeOf(const Index& ix, std::span<const int64_t> extents);

/// A reshape asks for a dim to be cut: extents of the pieces, outermost first.
struct CutDemand {
  kir::DimId dim = 0;
  Dims extents;
};

/// The operand's map below a reshape from `from` to `to`, given the result's map. Nothing when the result's indices
/// cannot be taken apart; `cut` then tells which cut of a dim would help, if one would.
std::optional<IndexMap> ThroughReshape(const IndexMap& result, const Dims& from, const Dims& to,
                                       std::span<const int64_t> extents, std::optional<CutDemand>& cut);

}  // namespace tenon::compiler
