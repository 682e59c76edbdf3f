#pragma once

#include <cstdint>
#include <optional>

#include "tenon/emit_llvm/internal/analysis.h"
#include "tenon/isa/isa.h"

namespace tenon::emit_llvm {

/// A row of elements that registers hold, of which each lane takes one by its own key: permutations do in one
/// instruction what would be a load for every lane.
struct Table {
  size_t axis = 0;         ///< Of Read::at: the one along which lanes differ.
  kir::Val key = 0;        ///< From 0 on, in every lane that exists.
  int64_t entries = 0;     ///< Keys are below it; the row may have fewer.
  unsigned key_bits = 0;   ///< As wide as what is permuted: elements, those of a byte as two.
  unsigned lanes = 0;      ///< Of one permutation, and elements of one register.
  unsigned registers = 0;  ///< A power of two.
};

/// The table that the read takes its lanes along `v` from, `lanes` at a time; nothing where it does not.
std::optional<Table> TableOf(const Analysis& an, size_t read, kir::DimId v, unsigned lanes, isa::IsaLevel isa);

/// Cycles of it for one vector of `lanes`.
double TableCost(const Table& table, unsigned lanes);

}  // namespace tenon::emit_llvm
