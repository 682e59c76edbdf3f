#pragma once

// The streams of rng_bit_generator, and rng's numbers from them, as arithmetic.

#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {

/// The new state and the bits of Threefry-2x32 (20 rounds) or Philox-4x32 (10 rounds), the default, in the order of
/// XLA's CPU backend. Nothing when the op's state or type has no such stream.
std::optional<llvm::SmallVector<mlir::Value>> RandomBits(stablehlo::RngBitGeneratorOp op);

/// Numbers of rng's distribution: what is left of the op draws the key of a stream. Nothing for the types that a stream
/// does not have, and for a few numbers.
std::optional<mlir::Value> RandomNumbers(stablehlo::RngOp op);

}  // namespace tenon::compiler
